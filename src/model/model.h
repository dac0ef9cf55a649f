/* model.h: the one transformer over a ParamStore: loss and gradients of packed batches, and cached decoding. */
#pragma once

#include "data/batch.h"
#include "model/loss.h"
#include "model/model_config.h"
#include "model/stage.h"
#include "model/token_roles.h"
#include "param/param.h"

typedef struct Model Model;

Model *model_open(Device *dev, const ModelConfig *config, bool gradients,
                  GError **error); /* parameters are zero: init or load */
/* A stage of it, with the parameters that the stage uses, for slot.h. The other functions, unless they say otherwise,
 * take a whole model. frozen: parameters whose names match one of these patterns (* and ?; the list ends with NULL) are
 * never updated and have no gradients; NULL means none. Parameters that are stored as one matrix, such as self.q,
 * self.k and self.v, are frozen together or not at all. */
Model *model_open_stage(Device *dev, const ModelConfig *config, Stage stage, bool gradients, const char *const *frozen,
                        GError **error);
void model_close(Model *model);
const ModelConfig *model_config(const Model *model);
ParamStore *model_params(Model *model);
/* Not known (token_roles_none) until whoever opened the model sets them. */
TokenRoles *model_roles(Model *model);
/* tokenizer_hash of the tokenizer that the model was trained with; NULL: not known. */
const char *model_tokenizer_hash(const Model *model);
void model_set_tokenizer_hash(Model *model, const char *hash);
/* How many microbatches may be in flight (slot.h), 1 unless this is called. Comes before model_reserve. */
void model_set_slots(Model *model, int n_slots);
/* Sizes the arenas for batches of up to this capacity by a dry run on the null device, and allocates them; to be called
 * again when the capacity grows. Fails where memory is short. bytes may be NULL. */
bool model_reserve(Model *model, int32_t max_samples, int32_t enc_len, int32_t dec_len, const ModelLoss *loss,
                   size_t *bytes, GError **error);
/* Forward, and with loss->grad backward: parameter gradients accumulate since grads_begin, the sums since they were
 * taken. Waits for nothing. */
void model_pass(Model *model, const Batch *batch, const ModelLoss *loss);
/* Adds to *sums what the passes added up to since they were last taken. Waits for them. */
void model_take_sums(Model *model, LossSums *sums);
/* A pass, and its sums. */
void model_loss(Model *model, const Batch *batch, const ModelLoss *loss, LossSums *sums);
/* Logits (rows of batch_loss_stream, V) of a batch, no dropout, into `logits` (host f32 memory): tests, scoring of
 * short inputs. */
void model_logits(Model *model, const Batch *batch, float *logits);
/* Sizes the arenas for model_encode of batches of the capacity of this one, which is left empty. */
bool model_reserve_encoder(Model *model, Batch *batch, GError **error);
/* Output of the encoder (rows of batch->enc, C), no dropout; pooled (sequences, C), what the pooler makes of it, or
 * NULL. Host f32 memory. */
void model_encode(Model *model, const Batch *batch, float *hidden, float *pooled);
/* FLOPs of one training step on a batch of this capacity (counted on the null device). target_share: of the rows of a
 * model with a single stream, how many carry a loss. */
double model_step_flops(const ModelConfig *config, int32_t samples, int32_t enc_len, int32_t dec_len,
                        double target_share);

/* Cached decoding of several prompts side by side, each with as many sequences (beams, samples) as the others: encode
 * once, then one token a sequence and call. Sequence r belongs to prompt r / n_each. Without an encoder the prompts are
 * what the sequences begin with: they run through the decoder at once, all but the last token of each. */
typedef struct Decoder Decoder;
typedef struct Prompts {
    const int32_t *ids; /* back to back */
    const int32_t *cu;  /* (n + 1) cumulative lengths */
    int32_t n;
} Prompts;

Decoder *decoder_open(Model *model, const Prompts *prompts, int32_t n_each, int64_t max_tokens, GError **error);
void decoder_close(Decoder *decoder);
/* What sequence r is to be fed first: `start`, or without an encoder the last token of its prompt. */
int32_t decoder_first_token(const Decoder *decoder, int32_t sequence, int32_t start);
/* Feeds each sequence's previous token (first the decoder start, or without an encoder the last of the prompt); returns
 * (sequences, V) f32 logits, the caller's until the next call. */
float *decoder_step(Decoder *decoder, const int32_t *tokens);
/* Sequence r goes on from what sequence from[r] is, of the same prompt. */
void decoder_reorder(Decoder *decoder, const int32_t *from);
