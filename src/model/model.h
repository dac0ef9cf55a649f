/* model.h: a transformer over a ParamStore: losses and gradients of batches, logits, encodings. */
#pragma once

#include "data/batch.h"
#include "model/config/config.h"
#include "model/loss.h"
#include "model/special_tokens/special_tokens.h"
#include "model/stage.h"
#include "param/fp8.h"
#include "param/param.h"

typedef struct Model Model;

/* A whole model, its parameters zeros: params_init or an import sets them. gradients: whether it may be trained. */
Model *model_open(Device *dev, const ModelConfig *config, bool gradients, GError **error);
/* Opens one stage of a model, with only the parameters that the stage uses. slot.h has its forward and backward; of
 * the functions below that compute, model_reserve and model_take_sums alone accept a stage. frozen: patterns (* and ?;
 * ends with NULL) for the names of parameters that are never updated and have no gradients; NULL means none. Parameters
 * that are stored as one matrix, such as self.q, self.k and self.v, are frozen together or not at all. */
Model *model_open_stage(Device *dev, const ModelConfig *config, Stage stage, bool gradients, const char *const *frozen,
                        GError **error);
void model_close(Model *model);
const ModelConfig *model_config(const Model *model);
ParamStore *model_params(Model *model);
/* The scales of a model that is trained in FP8; NULL means that it is not. model_pass with gradients updates them. */
Fp8Scales *model_fp8(Model *model);
const Device *model_device(const Model *model);
/* Gives the classes of a classifier other names, as many, separated by commas. An error where they do not fit. */
bool model_name_classes(Model *model, const char *labels, GError **error);
/* token_roles_none until the caller of model_open sets them. */
TokenRoles *model_roles(Model *model);

/* Microbatches that may be in flight at once (slot.h), 1 unless set. Comes before model_reserve. */
void model_set_slots(Model *model, int n_slots);
/* What evaluations between steps decode at once: answers of up to max_tokens to n prompts of up to `length` tokens, for
 * which model_reserve takes memory, too, where it comes afterwards. */
void model_set_answers(Model *model, int32_t n, int32_t length, int32_t max_tokens);
/* Finds out by a dry run on the null device how much memory batches of up to this capacity need, and allocates it:
 * enc_len and dec_len tokens for each of max_samples samples. May be called again for another capacity. *bytes (NULL:
 * not wanted) becomes the size of the activations. A classifier with loss->grad also gets the memory that
 * model_classify needs for a model_classifier_batch of the samples' length, so its evaluations between steps take no
 * more. Fails where memory is short or the model takes no such lengths. */
bool model_reserve(Model *model, int32_t max_samples, int32_t enc_len, int32_t dec_len, const ModelLoss *loss,
                   size_t *bytes, GError **error);
/* Forward over a microbatch; with loss->grad backward too, which adds to the gradients of the parameters. Adds to the
 * sums that model_take_sums takes. Does not wait for the device. */
void model_pass(Model *model, const Batch *batch, const ModelLoss *loss);
/* Adds to *sums the sums of all passes since the last call. Waits for the device. */
void model_take_sums(Model *model, LossSums *sums);
/* Calls model_pass, then model_take_sums. */
void model_loss(Model *model, const Batch *batch, const ModelLoss *loss, LossSums *sums);
/* logits (tokens of batch_loss_stream, V) f32 on the host, without dropout: for tests and short inputs. */
void model_logits(Model *model, const Batch *batch, float *logits);

/* Allocates the memory that model_encode needs for batches of the capacity of this one, which is empty afterwards. */
bool model_reserve_encoder(Model *model, Batch *batch, GError **error);
/* hidden (tokens of batch->enc, C): the encoder's output, without dropout and without memory tokens. pooled (sequences,
 * C): BERT's pooler, or NULL. Both f32 on the host. */
void model_encode(Model *model, const Batch *batch, float *hidden, float *pooled);

/* An empty batch of texts of up to `length` tokens, for model_classify: 4,096 tokens in all, or one text. */
Batch *model_classifier_batch(int64_t length);
/* Allocates the memory that model_classify needs for batches of the capacity of this one, which is empty afterwards. */
bool model_reserve_classifier(Model *model, Batch *batch, GError **error);
/* logits f32 on the host of a model with a classifier, K = model_config_outputs: (sequences, K), or for classes of
 * tokens and spans (tokens, K). */
void model_classify(Model *model, const Batch *batch, float *logits);

/* FLOPs of forward and backward over a batch of this capacity, counted on the null device. target_share: the share of
 * tokens with a loss, in a model with an encoder or a decoder alone. */
double model_step_flops(const ModelConfig *config, int32_t samples, int32_t enc_len, int32_t dec_len,
                        double target_share);
