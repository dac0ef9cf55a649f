/* kind_model.h: models and batches of the kinds. */
#pragma once

#include "kinds.h"

enum { LENGTH = 9 };

/* Norms and biases start at ones and zeros: moved away from them. */
static inline void disturb(Model *model)
{
    Philox rng = philox_open(philox_key(9, PHILOX_INIT, 0), 0);
    for (int p = 0; p < params_count(model_params(model)); p++) {
        const ParamSpec *spec = params_spec(model_params(model), p);
        g_autofree double *values = g_new0(double, (gsize)spec->rows);
        if (spec->cols > 0)
            continue;
        params_read(model_params(model), p, NULL, DT_F64, values);
        for (int64_t i = 0; i < spec->rows; i++)
            values[i] += 0.3 * philox_normal(&rng);
        params_write(model_params(model), p, NULL, DT_F64, values);
    }
}

/* Weights of bf16 or f16, everything else in f32. */
static inline Precision kind_precision(DType compute)
{
    return (Precision){ .compute = compute, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 };
}

static inline ModelConfig kind_config(const Kind *kind)
{
    ModelConfig config = tiny_config(&tiny_gated);
    config.max_positions = LENGTH;
    config.rotary_base = 100;
    kind->shape(&config);
    return config;
}

/* A model for sequences of up to `length` tokens. */
static inline Model *kind_open_for(Device *dev, const Kind *kind, int32_t length)
{
    GError *error = NULL;
    ModelConfig config = kind_config(kind);
    config.max_positions += length - LENGTH;
    Model *model = model_open(dev, &config, true, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    disturb(model);
    return model;
}

static inline Model *kind_open(Device *dev, const Kind *kind)
{
    return kind_open_for(dev, kind, LENGTH);
}

/* Sequence i of four; a decoder alone sees some first tokens whole, and one sequence's places start again. */
static inline void kind_add(Batch *batch, const ModelConfig *config, int64_t i)
{
    static const int32_t lengths[] = { 5, 9, 1, 7 }, labels[] = { 0, 1, -1, 1 }, prefixes[] = { 2, 0, 1, 0 };
    static const int32_t places[] = { 0, 1, 2, 0, 1, 2, 3, 0, 1 };
    int32_t ids[LENGTH], targets[LENGTH], segments[LENGTH];
    float weights[LENGTH];
    Philox rng = philox_open(philox_key(1, PHILOX_OBJECTIVE, 0), (uint64_t)i);

    if (config->family == FAMILY_T5) {
        tiny_add(batch, i, config->vocab);
        return;
    }
    for (int j = 0; j < LENGTH; j++) {
        ids[j] = (int32_t)philox_below(&rng, (uint64_t)config->vocab);
        targets[j] = (int32_t)philox_below(&rng, (uint64_t)config->vocab);
        segments[j] = (int32_t)philox_below(&rng, 2);
        weights[j] = j % 3 != 1;
    }
    batch_add_sequence(batch, &(BatchSequence){ .sample = 1000 + i,
                                                .n = lengths[i],
                                                .ids = ids,
                                                .targets = targets,
                                                .weights = weights,
                                                .token_types = segments,
                                                .position_ids = i == 1 ? places : NULL,
                                                .prefix_length = prefixes[i],
                                                .label = labels[i] });
}

static inline Batch *kind_batch(const ModelConfig *config, int32_t max_samples, bool filled)
{
    int32_t enc = config->n_enc ? LENGTH : 0, dec = config->n_dec ? LENGTH : 0;
    Batch *batch = batch_new(max_samples, enc, dec);
    for (int64_t i = 0; filled && i < TINY_SAMPLES; i++)
        kind_add(batch, config, i);
    return batch;
}

static inline ModelLoss kind_loss(const Batch *batch)
{
    ModelLoss loss = tiny_loss((double)batch->n_targets);
    loss.n_targets[HEAD_LABELS] = loss.n_targets[HEAD_CLASSES] = 3;
    return loss;
}

/* As assert_gradients_equal, but for the biases of keys: they move all scores of a query alike, so their gradient is
 * zero in exact arithmetic, and is held against that of the parameter before, the bias of queries. */
static inline void assert_close(Model *a, Model *b, double tolerance)
{
    double norm = 0;
    for (int p = 0; p < params_count(model_params(a)); p++) {
        const Param *x = params_get(model_params(a), p), *y = params_get(model_params(b), p);
        double distance = 0;
        if (!g_str_has_suffix(y->spec.name, ".k.bias"))
            norm = fmax(tiny_norm(y->g), 0.01);
        for (int64_t i = 0; i < tensor_count(x->g); i++) {
            double delta = tensor_value(x->g, i) - tensor_value(y->g, i);
            distance += delta * delta;
        }
        if (!(sqrt(distance) <= tolerance * norm))
            g_error("gradient of %s: distance %.3g of its norm", x->spec.name, sqrt(distance) / norm);
    }
}
