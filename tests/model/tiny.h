/* tiny.h: a model and batches small enough for finite differences. */
#pragma once

#include "model/model.h"
#include "param/store.h"

#include <math.h>
#include <string.h>

typedef struct Shape {
    bool gated, tied;
    int64_t width, heads, head_dim, ffn, vocab;
} Shape;

static const Shape tiny_gated = { true, false, 8, 4, 3, 16, 23 };
static const Shape tiny_relu = { false, true, 8, 4, 3, 16, 23 };

static inline ModelConfig tiny_config(const Shape *shape)
{
    return (ModelConfig){ .n_enc = 2,
                          .n_dec = 2,
                          .width = shape->width,
                          .ffn = shape->ffn,
                          .heads = shape->heads,
                          .head_dim = shape->head_dim,
                          .vocab = shape->vocab,
                          .activation = shape->gated ? ACT_GELU_TANH : ACT_RELU,
                          .gated = shape->gated,
                          .tie_embeddings = shape->tied,
                          .scale_logits = shape->tied,
                          .first_norm = true,
                          .final_norm = true,
                          .inner_dropout = true,
                          .dropout = 0.2,
                          .attention_dropout = -1,
                          .activation_dropout = -1,
                          .norm_eps = 1e-6,
                          .rel_buckets = 8,
                          .rel_max_distance = 16 };
}

static inline Model *tiny_open(Device *dev, const Shape *shape)
{
    GError *error = NULL;
    ModelConfig config = tiny_config(shape);
    Model *model = model_open(dev, &config, true, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    return model;
}

static inline ModelLoss tiny_loss(double n_targets)
{
    return (ModelLoss){
        .label_smoothing = 0.1f, .z_loss = 0.01f, .n_targets = { n_targets }, .seed = 3, .train = true, .grad = true
    };
}

static inline void tiny_reserve(Model *model, const Batch *batch, const ModelLoss *loss)
{
    GError *error = NULL;
    model_reserve(model, batch_loss_stream(batch)->max_seq, batch->enc.max_len, batch->dec.max_len, loss, NULL, &error);
    g_assert_no_error(error);
}

#define TINY_SAMPLES 4
#define TINY_TARGETS 17

/* Sample i of the same four, whatever batch it is put in: 9 and 6 tokens at most. */
static inline void tiny_add(Batch *batch, int64_t i, int64_t vocab)
{
    static const int64_t n_inputs[TINY_SAMPLES] = { 5, 9, 1, 7 }, n_targets[TINY_SAMPLES] = { 6, 3, 4, 4 };
    int32_t inputs[9], targets[6];
    Philox rng = philox_open(philox_key(1, PHILOX_OBJECTIVE, 0), (uint64_t)i);

    for (int64_t j = 0; j < n_inputs[i]; j++)
        inputs[j] = (int32_t)philox_below(&rng, (uint64_t)vocab);
    for (int64_t j = 0; j < n_targets[i]; j++)
        targets[j] = (int32_t)philox_below(&rng, (uint64_t)vocab);
    batch_add(batch, 1000 + i, inputs, n_inputs[i], targets, n_targets[i], 0);
}

/* The four samples in a batch with room for more. */
static inline Batch *tiny_batch(int64_t vocab, int32_t max_samples, int32_t enc_len, int32_t dec_len)
{
    Batch *batch = batch_new(max_samples, enc_len, dec_len);
    for (int64_t i = 0; i < TINY_SAMPLES; i++)
        tiny_add(batch, i, vocab);
    return batch;
}

static inline double tensor_value(Tensor t, int64_t i)
{
    return t.dtype == DT_F64 ? ((double *)t.p)[i] : (double)((float *)t.p)[i];
}

static inline double tiny_norm(Tensor t)
{
    double sum = 0;
    for (int64_t i = 0; i < tensor_count(t); i++)
        sum += tensor_value(t, i) * tensor_value(t, i);
    return sqrt(sum);
}

/* Every gradient of a is that of b within `tolerance` of its norm. */
static inline void assert_gradients_equal(Model *a, Model *b, double tolerance)
{
    for (int p = 0; p < params_count(model_params(a)); p++) {
        const Param *x = params_get(model_params(a), p), *y = params_get(model_params(b), p);
        double distance = 0, norm = tiny_norm(y->g);
        for (int64_t i = 0; i < tensor_count(x->g); i++) {
            double d = tensor_value(x->g, i) - tensor_value(y->g, i);
            distance += d * d;
        }
        g_assert_cmpfloat(norm, >, 0);
        if (!(sqrt(distance) <= tolerance * norm))
            g_error("gradient of %s: distance %.3g of its norm", x->spec.name, sqrt(distance) / norm);
    }
}

/* The distance of all gradients of a from those of b, as a share of the norm of b's. */
static inline double gradient_distance(Model *a, Model *b)
{
    double distance = 0, norm = 0;
    for (int p = 0; p < params_count(model_params(a)); p++) {
        const Param *x = params_get(model_params(a), p), *y = params_get(model_params(b), p);
        for (int64_t i = 0; i < tensor_count(x->g); i++) {
            double delta = tensor_value(x->g, i) - tensor_value(y->g, i);
            distance += delta * delta;
            norm += tensor_value(y->g, i) * tensor_value(y->g, i);
        }
    }
    return sqrt(distance / norm);
}
