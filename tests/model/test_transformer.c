#include "difference.h"
#include "nn/ctx.h"

static void gradient_matches_finite_difference(const void *data)
{
    const Shape *shape = data;
    Device *dev = device_open_reference();
    Model *model = tiny_open(dev, shape);
    Batch *batch = tiny_batch(shape->vocab, 5, 9, 6);
    ModelLoss loss = tiny_loss(TINY_TARGETS);
    Difference d = { .model = model, .batch = batch, .loss = loss };
    Philox rng = philox_open(philox_key(2, PHILOX_INIT, 0), 0);

    d.loss.grad = false;
    tiny_reserve(model, batch, &loss);
    loss_and_gradients(model, batch, &loss);
    for (int p = 0; p < params_count(model_params(model)); p++)
        check_parameter(&d, params_get(model_params(model), p), &rng);
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

static const Shape gated_tied = { true, true, 8, 4, 3, 16, 23 };
static const Shape relu_untied = { false, false, 8, 4, 3, 16, 23 };

/* A device's gradients and loss on weights that both devices hold exactly. */
static void cpu_equals_reference(const void *data)
{
    const Shape *tiny = data;
    Shape shape = { tiny->gated, tiny->tied, 48, 3, 16, 80, 131 };
    Device *devices[] = { device_open_cpu(2, precision_uniform(DT_F32)), device_open_reference() };
    Model *models[2];
    double losses[2];
    Batch *batch = tiny_batch(shape.vocab, 5, 9, 6);
    ModelLoss loss = tiny_loss(TINY_TARGETS);

    for (int m = 0; m < 2; m++) {
        models[m] = tiny_open(devices[m], &shape);
        tiny_reserve(models[m], batch, &loss);
        for (int p = 0; m == 1 && p < params_count(model_params(models[0])); p++)
            op_copy(devices[1], params_get(model_params(models[1]), p)->w, params_get(model_params(models[0]), p)->w);
        losses[m] = loss_and_gradients(models[m], batch, &loss);
    }
    g_assert_cmpfloat_with_epsilon(losses[0], losses[1], 1e-5);
    assert_gradients_equal(models[0], models[1], 1e-5);
    batch_free(batch);
    for (int m = 0; m < 2; m++) {
        model_close(models[m]);
        device_close(devices[m]);
    }
}

/* One batch of four in two rows, and four batches of one whose gradients accumulate; dropout is on. */
static void packed_equals_unpacked(Device *dev, double tolerance)
{
    Model *packed = tiny_open(dev, &tiny_gated), *unpacked = tiny_open(dev, &tiny_gated);
    Batch *batch = batch_new_packed(2, 3, 11, 9), *one = batch_new(1, 9, 6);
    ModelLoss loss = tiny_loss(TINY_TARGETS);
    LossSums sums = { 0 };

    for (int64_t i = 0; i < TINY_SAMPLES; i++)
        tiny_add(batch, i, tiny_gated.vocab);
    tiny_reserve(packed, batch, &loss);
    tiny_reserve(unpacked, one, &loss);
    double expected = loss_and_gradients(packed, batch, &loss);
    grads_begin(model_params(unpacked), TINY_SAMPLES);
    for (int64_t i = 0; i < TINY_SAMPLES; i++) {
        batch_clear(one);
        tiny_add(one, i, tiny_gated.vocab);
        model_loss(unpacked, one, &loss, &sums);
    }
    g_assert_cmpfloat(sums.head[HEAD_TOKENS].weight, ==, TINY_TARGETS);
    g_assert_cmpfloat_with_epsilon(sums.head[HEAD_TOKENS].loss / TINY_TARGETS, expected, tolerance);
    assert_gradients_equal(unpacked, packed, tolerance);
    batch_free(batch);
    batch_free(one);
    model_close(packed);
    model_close(unpacked);
    device_close(dev);
}

static void packed_equals_unpacked_in_f64(void)
{
    packed_equals_unpacked(device_open_reference(), 1e-12);
}

static void packed_equals_unpacked_in_f32(void)
{
    packed_equals_unpacked(device_open_cpu(1, precision_uniform(DT_F32)), 1e-5);
}

static void spare_capacity_changes_nothing(void)
{
    Device *dev = device_open_reference();
    Model *tight = tiny_open(dev, &tiny_relu), *roomy = tiny_open(dev, &tiny_relu);
    Batch *small = tiny_batch(tiny_relu.vocab, 4, 9, 6), *large = tiny_batch(tiny_relu.vocab, 7, 13, 11);
    ModelLoss loss = tiny_loss(TINY_TARGETS);

    tiny_reserve(tight, small, &loss);
    tiny_reserve(roomy, large, &loss);
    g_assert_cmpfloat_with_epsilon(loss_and_gradients(tight, small, &loss), loss_and_gradients(roomy, large, &loss),
                                   1e-13);
    assert_gradients_equal(roomy, tight, 1e-12);
    batch_free(small);
    batch_free(large);
    model_close(tight);
    model_close(roomy);
    device_close(dev);
}

static void recompute_changes_no_bit(void)
{
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    Model *plain = tiny_open(dev, &tiny_gated), *again = tiny_open(dev, &tiny_gated);
    Batch *batch = tiny_batch(tiny_gated.vocab, 5, 9, 6);
    ModelLoss loss = tiny_loss(TINY_TARGETS), recompute = loss;

    recompute.recompute = true;
    tiny_reserve(plain, batch, &loss);
    tiny_reserve(again, batch, &recompute);
    g_assert_cmpfloat(loss_and_gradients(plain, batch, &loss), ==, loss_and_gradients(again, batch, &recompute));
    for (int p = 0; p < params_count(model_params(plain)); p++) {
        Tensor a = params_get(model_params(plain), p)->g, b = params_get(model_params(again), p)->g;
        g_assert_true(memcmp(a.p, b.p, (size_t)tensor_count(a) * sizeof(float)) == 0);
    }
    batch_free(batch);
    model_close(plain);
    model_close(again);
    device_close(dev);
}

/* What a step leaves in the gradients is not read by the next. */
static void second_step_repeats_the_first(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *once = tiny_open(dev, &tiny_gated), *twice = tiny_open(dev, &tiny_gated);
    Batch *batch = tiny_batch(tiny_gated.vocab, 4, 9, 6);
    ModelLoss loss = tiny_loss(TINY_TARGETS);

    tiny_reserve(once, batch, &loss);
    tiny_reserve(twice, batch, &loss);
    loss_and_gradients(once, batch, &loss);
    loss_and_gradients(twice, batch, &loss);
    loss_and_gradients(twice, batch, &loss);
    assert_gradients_equal(once, twice, 0);
    batch_free(batch);
    model_close(once);
    model_close(twice);
    device_close(dev);
}

/* Reserved for training with and without recompute, a model also takes batches without gradients. */
static void held_out_loss_fits_what_training_reserved(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Batch *batch = tiny_batch(tiny_gated.vocab, 4, 9, 6);
    g_autofree float *logits = g_new(float, (gsize)(batch->dec.max_tokens * tiny_gated.vocab));
    double losses[2];

    for (int recompute = 0; recompute < 2; recompute++) {
        Model *model = tiny_open(dev, &tiny_gated);
        ModelLoss loss = tiny_loss(TINY_TARGETS), held_out = { .n_targets = { TINY_TARGETS } };
        loss.recompute = recompute;
        tiny_reserve(model, batch, &loss);
        losses[recompute] = loss_and_gradients(model, batch, &held_out);
        model_logits(model, batch, logits);
        model_close(model);
    }
    g_assert_cmpfloat(losses[0], ==, losses[1]);
    batch_free(batch);
    device_close(dev);
}

/* The loss and its statistics, from logits that model_logits gives. */
static void sums_match_logits(void)
{
    Device *dev = device_open_reference();
    Model *model = tiny_open(dev, &tiny_relu);
    Batch *batch = tiny_batch(tiny_relu.vocab, 5, 9, 6);
    g_autofree float *logits = g_new(float, (gsize)(batch->dec.max_tokens * tiny_relu.vocab));
    ModelLoss loss = { .n_targets = { TINY_TARGETS } };
    LossSums sums = { 0 };
    double nll = 0, correct = 0;

    tiny_reserve(model, batch, &loss);
    model_loss(model, batch, &loss, &sums);
    model_logits(model, batch, logits);
    for (int64_t row = 0; row < batch->dec.n_tokens; row++) {
        const float *z = logits + row * tiny_relu.vocab;
        double total = 0;
        int64_t best = 0;
        for (int64_t v = 0; v < tiny_relu.vocab; v++) {
            total += exp((double)z[v]);
            best = z[v] > z[best] ? v : best;
        }
        nll += log(total) - (double)z[batch->targets[row]];
        correct += best == batch->targets[row];
    }
    g_assert_cmpfloat_with_epsilon(sums.head[HEAD_TOKENS].nll, nll, 1e-5);
    g_assert_cmpfloat_with_epsilon(sums.head[HEAD_TOKENS].loss, nll, 1e-5);
    g_assert_cmpfloat(sums.head[HEAD_TOKENS].correct, ==, correct);
    g_assert_cmpfloat(sums.head[HEAD_TOKENS].weight, ==, TINY_TARGETS);
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

/* The loss of random tokens before the first update. */
static double first_loss(const ModelConfig *config)
{
    enum { SAMPLES = 32, INPUTS = 4, TARGETS = 32 };
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    Model *model = model_open(dev, config, true, NULL);
    Batch *batch = batch_new(SAMPLES, INPUTS, TARGETS);
    Philox rng = philox_open(philox_key(9, PHILOX_OBJECTIVE, 0), 0);
    const ModelLoss loss = { 0 };
    LossSums sums = { 0 };

    params_init(model_params(model), 7);
    for (int i = 0; i < SAMPLES; i++) {
        int32_t ids[INPUTS + TARGETS];
        for (int j = 0; j < INPUTS + TARGETS; j++)
            ids[j] = (int32_t)philox_below(&rng, (uint64_t)config->vocab);
        batch_add(batch, i, ids, INPUTS, ids + INPUTS, TARGETS, 0);
    }
    tiny_reserve(model, batch, &loss);
    model_loss(model, batch, &loss, &sums);
    batch_free(batch);
    model_close(model);
    device_close(dev);
    return sums.head[HEAD_TOKENS].loss / sums.head[HEAD_TOKENS].weight;
}

/* Logits of unit variance. A wrong init of the head starts at 100. */
static void first_loss_is_ln_v_and_a_half(void)
{
    Shape shape = { true, false, 32, 4, 8, 64, 32128 };
    ModelConfig config = tiny_config(&shape);
    g_assert_cmpfloat_with_epsilon(first_loss(&config), 10.88, 0.05);
}

/* AST-T5 as its code draws it: 16.63 bits, log2 V; as it is meant to be, logits of variance 1/2 add 0.36. */
static void first_loss_of_ast_t5_is_ln_v(void)
{
    static const struct {
        int init;
        double bits;
    } cases[] = { { INIT_SCHEME_FAN_OUT, 16.63 }, { INIT_SCHEME_FAN_IN, 16.99 } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Shape shape = { false, true, 8, 4, 3, 16, 101289 };
        ModelConfig config = tiny_config(&shape);
        config.init = cases[i].init;
        config.norm = NORM_LAYER;
        config.norm_bias = config.post_norm = config.embed_norm = config.bias = config.scale_scores = true;
        config.scale_logits = config.final_norm = false;
        config.position = POSITION_LEARNED_AND_BIAS;
        config.max_positions = 40;
        g_assert_cmpfloat_with_epsilon(first_loss(&config) / log(2), cases[i].bits, 0.05);
    }
}

/* Forward and backward of a sample of 512 inputs and 114 targets, by the formula of the papers (causal not halved). */
static void step_flops_match_the_formula(void)
{
    static const struct {
        int64_t blocks, width, ffn, heads;
        double gflops;
    } shapes[] = { { 8, 512, 1024, 6, 106.3 }, { 12, 768, 2048, 12, 425.9 }, { 24, 4096, 10240, 64, 20900 } };
    for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++) {
        Shape shape = { true, false, shapes[i].width, shapes[i].heads, 64, shapes[i].ffn, 32128 };
        ModelConfig config = tiny_config(&shape);
        config.n_enc = config.n_dec = shapes[i].blocks;
        double gflops = model_step_flops(&config, 3, 512, 114, 1) / 3e9;
        g_assert_cmpfloat_with_epsilon(gflops / shapes[i].gflops, 1, 0.005);
    }
}

static void recompute_needs_less_memory(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = tiny_open(dev, &tiny_gated);
    ModelLoss loss = tiny_loss(1);
    size_t plain, again;

    g_assert_true(model_reserve(model, 16, 64, 64, &loss, &plain, NULL));
    loss.recompute = true;
    g_assert_true(model_reserve(model, 16, 64, 64, &loss, &again, NULL));
    g_assert_cmpuint(again, <, plain * 3 / 4);
    model_close(model);
    device_close(dev);
}

/* A token within the prefix changes what is said of the first one; a token behind it does not. */
static void a_prefix_sees_forward(void)
{
    enum { LENGTH = 9, PREFIX = 4 };
    Device *dev = device_open_reference();
    ModelConfig config = tiny_config(&tiny_gated);
    config.family = FAMILY_GPT;
    config.n_enc = 0;
    Model *model = model_open(dev, &config, false, NULL);
    Batch *batch = batch_new(1, 0, LENGTH);
    float logits[LENGTH * 23], first[23];
    const size_t bytes = sizeof first;
    const float none[LENGTH] = { 0 };
    const ModelLoss plain = { 0 };

    g_assert_cmpint(config.vocab, ==, 23);
    params_init(model_params(model), 7);
    tiny_reserve(model, batch, &plain);
    for (int changed = LENGTH; changed > 0; changed--) { /* LENGTH: none */
        int32_t ids[LENGTH] = { 3, 7, 1, 9, 4, 11, 5, 2, 8 };
        if (changed < LENGTH)
            ids[changed] = 6;
        batch_clear(batch);
        batch_add_sequence(
            batch,
            &(BatchSequence){ .n = LENGTH, .ids = ids, .targets = ids, .weights = none, .prefix_length = PREFIX });
        model_logits(model, batch, logits);
        if (changed == LENGTH)
            memcpy(first, logits, bytes);
        g_assert_true((memcmp(first, logits, bytes) == 0) == (changed >= PREFIX));
    }
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/transformer/gated_gradient_matches_finite_difference", &tiny_gated,
                         gradient_matches_finite_difference);
    g_test_add_data_func("/transformer/relu_tied_gradient_matches_finite_difference", &tiny_relu,
                         gradient_matches_finite_difference);
    g_test_add_data_func("/transformer/gated_tied_gradient_matches_finite_difference", &gated_tied,
                         gradient_matches_finite_difference);
    g_test_add_data_func("/transformer/relu_gradient_matches_finite_difference", &relu_untied,
                         gradient_matches_finite_difference);
    g_test_add_data_func("/transformer/gated_on_cpu_equals_reference", &tiny_gated, cpu_equals_reference);
    g_test_add_data_func("/transformer/relu_tied_on_cpu_equals_reference", &tiny_relu, cpu_equals_reference);
    g_test_add_func("/transformer/packed_equals_unpacked_in_f64", packed_equals_unpacked_in_f64);
    g_test_add_func("/transformer/packed_equals_unpacked_in_f32", packed_equals_unpacked_in_f32);
    g_test_add_func("/transformer/spare_capacity_changes_nothing", spare_capacity_changes_nothing);
    g_test_add_func("/transformer/recompute_changes_no_bit", recompute_changes_no_bit);
    g_test_add_func("/transformer/recompute_needs_less_memory", recompute_needs_less_memory);
    g_test_add_func("/transformer/second_step_repeats_the_first", second_step_repeats_the_first);
    g_test_add_func("/transformer/held_out_loss_fits_what_training_reserved",
                    held_out_loss_fits_what_training_reserved);
    g_test_add_func("/transformer/sums_match_logits", sums_match_logits);
    g_test_add_func("/transformer/first_loss_is_ln_v_and_a_half", first_loss_is_ln_v_and_a_half);
    g_test_add_func("/transformer/first_loss_of_ast_t5_is_ln_v", first_loss_of_ast_t5_is_ln_v);
    g_test_add_func("/transformer/step_flops_match_the_formula", step_flops_match_the_formula);
    g_test_add_func("/transformer/a_prefix_sees_forward", a_prefix_sees_forward);
    return g_test_run();
}
