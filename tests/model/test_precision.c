/* Dtypes are what the precision says, in every part: memory of bf16 models, and training with masters apart. */
#include "difference.h"
#include "kind_model.h"
#include "param/optim.h"
#include "reference/reference.h"

static const Precision f64_masters = {
    .compute = DT_F32, .residual = DT_F32, .grad = DT_F32, .master = DT_F64, .state = DT_F64
};
static const Precision bf16_f32 = {
    .compute = DT_BF16, .residual = DT_BF16, .grad = DT_F32, .master = DT_F32, .state = DT_F32
};
static const Precision bf16_residual_f32 = {
    .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32
};
static const Precision bf16_all_but_masters = {
    .compute = DT_BF16, .residual = DT_BF16, .grad = DT_BF16, .master = DT_F32, .state = DT_F32
};

static const OptimConfig adamw = { .name = OPTIM_ADAMW, .lr = 1e-2, .beta1 = -1, .beta2 = -1, .eps = -1 };

/* Rounding to f32 between operations moves a gradient by some 1e-7 of its size. */
static void mixed_equals_reference(const void *data)
{
    Device *devices[] = { device_open_mixed(f64_masters), device_open_reference() };
    Model *models[2];
    double losses[2];
    for (int m = 0; m < 2; m++) {
        models[m] = kind_open(devices[m], data);
        Batch *batch = kind_batch(model_config(models[m]), 5, true);
        ModelLoss loss = kind_loss(batch);
        tiny_reserve(models[m], batch, &loss);
        losses[m] = loss_and_gradients(models[m], batch, &loss);
        g_assert_true(isfinite(losses[m]));
        batch_free(batch);
    }
    g_assert_cmpfloat_with_epsilon(losses[0], losses[1], 1e-5);
    assert_close(models[0], models[1], 2e-5);
    for (int m = 0; m < 2; m++) {
        model_close(models[m]);
        device_close(devices[m]);
    }
}

/* What layers compute with is the master, rounded; of a vector, such as the gain of a norm, the master itself. */
static void assert_rounded(ParamStore *params)
{
    for (int i = 0; i < params_count(params); i++) {
        const Param *param = params_get(params, i);
        g_assert_cmpint(param->master.dtype, ==, DT_F64);
        if (param->spec.cols == 0) {
            g_assert_true(param->w.p == param->master.p && param->w.dtype == DT_F64);
            continue;
        }
        g_assert_cmpint(param->w.dtype, ==, DT_F32);
        for (int64_t j = 0; j < tensor_count(param->w); j++)
            g_assert_cmpfloat(((float *)param->w.p)[j], ==, (float)((double *)param->master.p)[j]);
    }
}

/* Updates too small for f32 add up in the masters. */
static void masters_keep_small_updates(void)
{
    enum { UPDATES = 5 };
    Device *dev = device_open_mixed(f64_masters);
    Model *model = tiny_open(dev, &tiny_gated);
    ParamStore *params = model_params(model);
    Batch *batch = tiny_batch(tiny_gated.vocab, 4, 9, 6);
    ModelLoss loss = tiny_loss(TINY_TARGETS);
    Optimizer *opt = optimizer_open(params, &adamw, NULL);
    int index = params_index(params, "decoder.0.mlp.wo");
    double before = 1, after;
    float rounded;

    params_write(params, index, &(Box){ { 0, 0 }, { 1, 1 } }, DT_F64, &before);
    assert_rounded(params);
    tiny_reserve(model, batch, &loss);
    params_read(params, index, &(Box){ { 0, 0 }, { 1, 1 } }, DT_F64, &before);
    for (int update = 1; update <= UPDATES; update++) {
        loss_and_gradients(model, batch, &loss);
        optimizer_step(opt, update, 1e-10, grads_norm(params), 1);
        assert_rounded(params);
    }
    params_read(params, index, &(Box){ { 0, 0 }, { 1, 1 } }, DT_F64, &after);
    params_read(params, index, &(Box){ { 0, 0 }, { 1, 1 } }, DT_F32, &rounded);
    g_assert_cmpfloat(before, ==, 1);
    g_assert_cmpfloat(rounded, ==, 1);
    g_assert_cmpfloat_with_epsilon(fabs(after - before), UPDATES * 1e-10, 1e-11);
    optimizer_close(opt);
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

/* Training in bf16 with f32 masters follows training in f64. */
static void bf16_learns(const void *data)
{
    enum { UPDATES = 8 };
    const Precision *precision = data;
    double losses[2][2];
    for (int m = 0; m < 2; m++) {
        Device *dev = m ? device_open_reference() : device_open_mixed(*precision);
        Model *model = tiny_open(dev, &tiny_relu);
        Batch *batch = tiny_batch(tiny_relu.vocab, 4, 9, 6);
        ModelLoss loss = tiny_loss(TINY_TARGETS);
        Optimizer *opt = optimizer_open(model_params(model), &adamw, NULL);
        loss.train = false;
        tiny_reserve(model, batch, &loss);
        for (int update = 1; update <= UPDATES; update++) {
            double found = loss_and_gradients(model, batch, &loss);
            losses[m][update > 1] = found;
            optimizer_step(opt, update, 1e-2, grads_norm(model_params(model)), 1);
        }
        optimizer_close(opt);
        batch_free(batch);
        model_close(model);
        device_close(dev);
    }
    g_assert_cmpfloat_with_epsilon(losses[0][0] / losses[1][0], 1, 0.02);
    g_assert_cmpfloat_with_epsilon(losses[0][1] / losses[1][1], 1, 0.05);
    g_assert_cmpfloat(losses[0][1], <, 0.8 * losses[0][0]);
}

enum { LONG = 130 };

/* Sequences that end two tokens behind tiles of attention on GPUs, of 32, 64 or 128 queries and keys. */
static Batch *long_batch(const ModelConfig *config)
{
    static const int32_t lengths[] = { LONG, 66 }, n_targets[] = { 34, LONG };
    int32_t ids[LONG], targets[LONG], segments[LONG];
    float weights[LONG];
    Batch *batch = batch_new(2, config->n_enc ? LONG : 0, config->n_dec ? LONG : 0);
    Philox rng = philox_open(philox_key(1, PHILOX_OBJECTIVE, 1), 0);
    for (int s = 0; s < 2; s++) {
        for (int j = 0; j < LONG; j++) {
            ids[j] = (int32_t)philox_below(&rng, (uint64_t)config->vocab);
            targets[j] = (int32_t)philox_below(&rng, (uint64_t)config->vocab);
            segments[j] = j > 60;
            weights[j] = j % 3 != 1;
        }
        if (config->family == FAMILY_T5)
            batch_add(batch, s, ids, lengths[s], targets, n_targets[s], 0);
        else
            batch_add_sequence(batch, &(BatchSequence){ .sample = s,
                                                        .n = lengths[s],
                                                        .ids = ids,
                                                        .targets = targets,
                                                        .weights = weights,
                                                        .token_types = segments,
                                                        .prefix_length = s == 0 ? 67 : 0,
                                                        .label = s });
    }
    return batch;
}

/* A model with the gradients of its loss, which is returned. */
static double step_on(Device *dev, const Kind *kind, int32_t length, Model **model)
{
    *model = kind_open_for(dev, kind, length);
    const ModelConfig *config = model_config(*model);
    Batch *batch = length == LONG ? long_batch(config) : kind_batch(config, 5, true);
    ModelLoss loss = kind_loss(batch);
    tiny_reserve(*model, batch, &loss);
    double found = loss_and_gradients(*model, batch, &loss);
    batch_free(batch);
    return found;
}

static void close_with_device(Model *model)
{
    Device *dev = model_params(model)->dev;
    model_close(model);
    device_close(dev);
}

/* The device is about as close to f64 as the reference with each operand rounded to its dtype. Random roundings of bf16
 * are amplified by the small norms of some kinds, so the two differ by up to a factor of 3; in f16 too on GPUs, which
 * round attention's probabilities for a product. */
static void as_close_as_rounding(const Kind *kind, int32_t length, Precision precision)
{
    Device *devices[] = { device_open_cpu(2, precision), device_open_mixed(precision), device_open_reference() };
    Model *models[3];
    double losses[3];
    for (int m = 0; m < 3; m++)
        losses[m] = step_on(devices[m], kind, length, &models[m]);
    bool bf16 = precision.compute == DT_BF16, gpu = strcmp(devices[0]->name, "cuda") == 0;
    double own = gradient_distance(models[0], models[2]), rounding = gradient_distance(models[1], models[2]);
    g_test_message("%s: %.3g of the gradients' norm, rounding %.3g", kind->name, own, rounding);
    g_assert_cmpfloat(rounding, >, 0);
    /* The outputs of a classifier are f32 in every precision: less is rounded there, and the same in between. */
    const double f16_most = strcmp(kind->name, "classifier") == 0 ? 1.3 : 1.2;
    g_assert_cmpfloat(own, <, (bf16 || gpu ? 3 : f16_most) * rounding);
    g_assert_cmpfloat(fabs(losses[0] / losses[2] - 1), <, bf16 ? 1e-2 : 1e-3);
    for (int m = 0; m < 3; m++)
        close_with_device(models[m]);
}

static const Precision narrow[] = {
    { .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 },
    { .compute = DT_F16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 },
    { .compute = DT_BF16, .residual = DT_BF16, .grad = DT_F32, .master = DT_F32, .state = DT_F32 },
    { .compute = DT_F16, .residual = DT_F16, .grad = DT_F32, .master = DT_F32, .state = DT_F32 }
};

/* Kernels of GPUs take their time on the host (tests/shim): there the kinds take turns in the precisions. */
#ifdef RIG_SHIM
enum { TURNS = G_N_ELEMENTS(narrow) };
#else
enum { TURNS = 1 };
#endif

static void device_is_as_close_as_rounding(const void *data)
{
    const Kind *kind = data;
    for (size_t i = (size_t)(kind - kinds) % TURNS; i < G_N_ELEMENTS(narrow); i += TURNS)
        as_close_as_rounding(kind, LENGTH, narrow[i]);
}

/* Rotary positions and relative biases; causal, with a prefix, with a window, and across two streams. */
static bool has_long_sequences(const char *kind)
{
    static const char *const names[] = { "llama", "prefix_lm", "modernbert", "umt5" };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_equal(names[i], kind))
            return true;
    return false;
}

static void long_sequences_are_as_close_as_rounding(const void *data)
{
    const Kind *kind = data;
    as_close_as_rounding(kind, LONG, narrow[(kind - kinds) % 2]);
}

static void long_sequences_equal_the_reference(const void *data)
{
    Model *models[2];
    double losses[2];
    for (int m = 0; m < 2; m++)
        losses[m] = step_on(m ? device_open_reference() : device_open_cpu(2, precision_uniform(DT_F32)), data, LONG,
                            &models[m]);
    g_assert_cmpfloat_with_epsilon(losses[0], losses[1], 1e-5);
    g_assert_cmpfloat(gradient_distance(models[0], models[1]), <, 5e-6);
    for (int m = 0; m < 2; m++)
        close_with_device(models[m]);
}

/* Gradients are multiplied by the loss scale, a power of two, and the optimizer divides by it: the same update. */
static void a_loss_scale_changes_no_update(const void *data)
{
    enum { SCALE = 1 << 20 };
    const Kind *kind = data;
    Model *models[2];
    for (int m = 0; m < 2; m++) {
        Device *dev = device_open_reference();
        models[m] = kind_open(dev, kind);
        Batch *batch = kind_batch(model_config(models[m]), 5, true);
        ModelLoss loss = kind_loss(batch);
        double scale = loss.loss_scale = m ? SCALE : 0;
        tiny_reserve(models[m], batch, &loss);
        Optimizer *opt = optimizer_open(model_params(models[m]), &adamw, NULL);
        loss_and_gradients(models[m], batch, &loss);
        double norm = grads_norm(model_params(models[m])) / fmax(1, scale);
        g_assert_cmpfloat(norm, <, 1e3);
        optimizer_step(opt, 1, 1e-2, norm, fmax(1, scale));
        optimizer_close(opt);
        batch_free(batch);
    }
    for (int p = 0; p < params_count(model_params(models[0])); p++) {
        const Param *a = params_get(model_params(models[0]), p), *b = params_get(model_params(models[1]), p);
        for (int64_t i = 0; i < tensor_count(a->w); i++) {
            g_assert_cmpfloat(tensor_value(a->w, i), ==, tensor_value(b->w, i));
            g_assert_cmpfloat(SCALE * tensor_value(a->g, i), ==, tensor_value(b->g, i));
        }
    }
    for (int m = 0; m < 2; m++)
        close_with_device(models[m]);
}

/* t5-large has 737,668,096 parameters: a table of 32,128 · 1,024; 24 encoder blocks of 4 · 1,024² in attention, 2 ·
 * 1,024 · 4,096 in the feed-forward layer and 2 norms of 1,024; 24 decoder blocks with 4 · 1,024² and a norm more; 2
 * final norms, and 2 tables of relative positions of 32 · 16. */
static void t5_large_is_planned(void)
{
    const struct {
        Precision precision;
        size_t gradient_bytes;
    } cases[] = { { bf16_f32, 4 }, { bf16_residual_f32, 4 }, { bf16_all_but_masters, 2 } };
    const size_t block = 4 * 1024 * 1024 + 2 * 1024 * 4096 + 2 * 1024, cross = 4 * 1024 * 1024 + 1024;
    const size_t n = 32128 * 1024 + 24 * (block + block + cross) + 2 * 1024 + 2 * 32 * 16;
    ModelConfig config = tiny_config(&tiny_relu);
    size_t activations[3];

    g_assert_cmpuint(n, ==, 737668096);
    config.n_enc = config.n_dec = 24;
    config.width = 1024;
    config.ffn = 4096;
    config.heads = 16;
    config.head_dim = 64;
    config.vocab = 32128;
    config.rel_buckets = 32;
    config.rel_max_distance = 128;
    const size_t gains = 1024 * (2 * 24 + 1 + 3 * 24 + 1); /* of norms, in f32 */
    for (int i = 0; i < 3; i++) {
        GError *error = NULL;
        const ModelLoss loss = { .n_targets = { 1 }, .train = true, .grad = true };
        Device *dev = device_open_null_of(cases[i].precision);
        Model *model = model_open(dev, &config, true, &error);
        g_assert_no_error(error);
        Optimizer *opt = optimizer_open(model_params(model), &adamw, NULL);
        ParamBytes bytes = params_bytes(model_params(model));
        g_assert_cmpuint(bytes.weights, ==, 2 * n + 2 * gains);
        g_assert_cmpuint(bytes.masters, ==, 4 * (n - gains));
        g_assert_cmpuint(bytes.gradients, ==, cases[i].gradient_bytes * n);
        g_assert_cmpuint(optimizer_bytes(opt), ==, 8 * n);
        model_reserve(model, 8, 512, 114, &loss, &activations[i], &error);
        g_assert_no_error(error);
        optimizer_close(opt);
        model_close(model);
        device_close(dev);
    }
    /* A residual stream in f32 instead of bf16: 2 bytes more for each of the (8 · 512, 1,024) and (8 · 114, 1,024)
     * inputs of sublayers, 2 and 3 a block, and of the final norms. */
    g_assert_cmpuint(activations[1], >=, activations[0] + 2 * 1024 * (8 * 512 * (2 * 24 + 1) + 8 * 114 * (3 * 24 + 1)));
    g_assert_cmpuint(activations[1], <, activations[0] * 3 / 2);
}

static void assert_bf16_activations_are_half(const void *data)
{
    const Kind *kind = data;
    const Precision precisions[] = { precision_uniform(DT_F32), bf16_f32, bf16_residual_f32 };
    size_t bytes[3];
    ModelConfig config = kind_config(kind);
    for (int i = 0; i < 3; i++) {
        GError *error = NULL;
        Device *dev = device_open_null_of(precisions[i]);
        Model *model = model_open(dev, &config, true, &error);
        g_assert_no_error(error);
        const ModelLoss loss = { .n_targets = { 1, 1 }, .train = true, .grad = true };
        model_reserve(model, 64, config.n_enc ? LENGTH : 0, config.n_dec ? LENGTH : 0, &loss, &bytes[i], &error);
        g_assert_no_error(error);
        model_close(model);
        device_close(dev);
    }
    g_assert_cmpuint(bytes[1], <, bytes[0] * 3 / 4);
    g_assert_cmpuint(bytes[2], <, bytes[0]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *mixed =
            g_strdup_printf("/precision/f64_masters_over_f32_equal_the_reference/%s", kinds[i].name);
        g_autofree char *half = g_strdup_printf("/precision/bf16_is_planned/%s", kinds[i].name);
        g_test_add_data_func(mixed, &kinds[i], mixed_equals_reference);
        g_test_add_data_func(half, &kinds[i], assert_bf16_activations_are_half);
        g_autofree char *close = g_strdup_printf("/precision/device_is_as_close_as_rounding/%s", kinds[i].name);
        g_test_add_data_func(close, &kinds[i], device_is_as_close_as_rounding);
        g_autofree char *scaled = g_strdup_printf("/precision/a_loss_scale_changes_no_update/%s", kinds[i].name);
        g_test_add_data_func(scaled, &kinds[i], a_loss_scale_changes_no_update);
        if (!has_long_sequences(kinds[i].name))
            continue;
        g_autofree char *far = g_strdup_printf("/precision/long_sequences_are_as_close_as_rounding/%s", kinds[i].name);
        g_test_add_data_func(far, &kinds[i], long_sequences_are_as_close_as_rounding);
        g_autofree char *equal = g_strdup_printf("/precision/long_sequences_equal_the_reference/%s", kinds[i].name);
        g_test_add_data_func(equal, &kinds[i], long_sequences_equal_the_reference);
    }
    g_test_add_func("/precision/masters_keep_small_updates", masters_keep_small_updates);
    g_test_add_data_func("/precision/bf16_learns", &bf16_f32, bf16_learns);
    g_test_add_data_func("/precision/bf16_learns_with_an_f32_residual_stream", &bf16_residual_f32, bf16_learns);
    g_test_add_data_func("/precision/bf16_learns_with_bf16_gradients", &bf16_all_but_masters, bf16_learns);
    g_test_add_func("/precision/t5_large_is_planned", t5_large_is_planned);
    return g_test_run();
}
