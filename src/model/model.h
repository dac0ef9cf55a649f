/* model.h: a transformer and its parameters: losses and gradients of batches, logits, encodings. */
#pragma once

#include "model/loss.h"
#include "model/special_tokens/special_tokens.h"
#include "model/stage.h"
#include "param/fp8.h"
#include "param/shard.h"

typedef struct Model Model;
typedef struct Pipeline Pipeline;

/* Opens a whole model. Its parameters are zeros until params_init or an import sets them. gradients: allocate memory
 * for gradients, which training needs. */
Model *model_open(Device *dev, const ModelConfig *config, bool gradients, GError **error);
/* Opens some stages of a model, with only the parameters that they use. slot.h has their forward and backward pass. The
 * functions below that run a model are only for a model with all stages. In a pipeline some of them also work on
 * stages, if all its ranks call them with the same arguments: model_pass, model_loss, model_classify and those of
 * decoder.h. frozen: patterns with * and ?, ending with NULL, for the names of parameters that are never updated and
 * have no gradients; NULL means none. Parameters that are stored as one matrix, such as self.q, self.k and self.v, must
 * be frozen together. shards: the ranks that hold the parameters together; NULL means one rank. pipeline: the ranks
 * that exchange messages with this one (model/pipeline/pipeline.h); NULL means that the caller moves messages. */
Model *model_open_stages(Device *dev, const ModelConfig *config, Stages stages, bool gradients,
                         const char *const *frozen, const Sharding *shards, const Pipeline *pipeline, GError **error);
void model_close(Model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Model, model_close)
const ModelConfig *model_config(const Model *model);
ParamStore *model_params(Model *model);
Stages model_stages(const Model *model); /* the blocks that the model was opened with */
/* The FP8 scales of a model that is trained in FP8, else NULL. model_pass with loss->grad updates them. */
Fp8Scales *model_fp8(Model *model);
const Device *model_device(const Model *model);
/* Sets the option model.architecture, by which the model is exported. */
void model_set_architecture(Model *model, Architecture architecture);
/* Renames the classes of a classifier. labels: as many names as there are classes, separated by commas. */
bool model_name_classes(Model *model, const char *labels, GError **error);
/* The model's token roles, for the caller to read or set; after model_open all of them are unknown. */
TokenRoles *model_roles(Model *model);

/* Sets the number of microbatches that may be between forward and backward at once in each stage (slot.h); the default
 * is 1. To be called before model_reserve. */
void model_set_slots(Model *model, int n_slots);
/* In a pipeline, sets them for steps of these numbers of microbatches (Pipeline.counts). */
void model_set_counts(Model *model, const int *counts, int n_counts);
/* Makes later calls of model_reserve also allocate the memory for decoding between steps: answers of up to max_tokens
 * tokens to n prompts of up to `length` tokens at once. */
void model_set_answers(Model *model, int32_t n, int32_t length, int32_t max_tokens);
/* Allocates memory for the activations of batches of up to max_samples samples with enc_len encoder and dec_len decoder
 * tokens each; a dry run on the null device measures its size. May be called again for another capacity. Unless NULL,
 * *bytes becomes the size of the activations. For a classifier, with loss->grad, this includes the memory that
 * model_classify needs for a model_classifier_batch of the same length, so that evaluation between steps allocates
 * nothing. Fails if out of memory or if the model does not accept such lengths. */
bool model_reserve(Model *model, int32_t max_samples, int32_t enc_len, int32_t dec_len, const ModelLoss *loss,
                   size_t *bytes, GError **error);
/* Forward pass over a microbatch; with loss->grad also the backward pass, which adds to the gradients of the
 * parameters. Adds the losses to the sums that model_take_sums returns. Does not wait for the device. */
void model_pass(Model *model, const Batch *batch, const ModelLoss *loss);
/* Adds the losses of all passes since the last call to *sums. Waits for the device. */
void model_take_sums(Model *model, LossSums *sums);
/* model_pass followed by model_take_sums. */
void model_loss(Model *model, const Batch *batch, const ModelLoss *loss, LossSums *sums);
/* Computes logits (tokens of batch_loss_stream, V) f32 into host memory, without dropout: for tests, short inputs. */
void model_logits(Model *model, const Batch *batch, float *logits);

/* Allocates what model_encode needs for batches of the same capacity as `batch`, which is empty afterwards. */
bool model_reserve_encoder(Model *model, Batch *batch, GError **error);
/* Computes the encoder's output without dropout: hidden (tokens of batch->enc, C), memory tokens left out, and unless
 * NULL pooled (sequences, C), the output of BERT's pooler. hidden and pooled are f32, in host memory. */
void model_encode(Model *model, const Batch *batch, float *hidden, float *pooled);

/* An empty batch for model_classify with texts of up to `length` tokens: it has room for as many of that length as
 * 4,096 tokens hold, at least one. */
Batch *model_classifier_batch(int64_t length);
/* Allocates what model_classify needs for batches of the same capacity as `batch`, which is empty afterwards. */
bool model_reserve_classifier(Model *model, Batch *batch, GError **error);
/* Computes the classifier's logits f32 into host memory: (sequences, O), or for classes of tokens and for spans
 * (tokens, O), where O = model_config_outputs. */
void model_classify(Model *model, const Batch *batch, float *logits);

/* A batch filled to this capacity, with which a null device's model counts operations, bytes, FLOPs. batch_free. */
Batch *model_full_batch(int32_t samples, int32_t enc_len, int32_t dec_len);

/* FLOPs of forward and backward over a full batch of this capacity, counted on the null device. target_share: share of
 * tokens with a target, in an encoder-only or decoder-only model. */
double model_step_flops(const ModelConfig *config, int32_t samples, int32_t enc_len, int32_t dec_len,
                        double target_share);
