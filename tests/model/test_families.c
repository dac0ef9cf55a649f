/* Shapes other than T5's: what every model must fulfil, on one small model of each kind. */
#include "difference.h"
#include "kind_model.h"
#include "model/decoder.h"
#include "model/params/params.h"

static void gradient_matches_finite_difference(const void *data)
{
    Device *dev = device_open_reference();
    Model *model = kind_open(dev, data);
    Batch *batch = kind_batch(model_config(model), 5, true);
    ModelLoss loss = kind_loss(batch);
    Difference d = { .model = model, .batch = batch, .loss = loss };
    Philox rng = philox_open(philox_key(2, PHILOX_INIT, 0), 0);

    d.loss.grad = false;
    tiny_reserve(model, batch, &loss);
    for (int p = 0; p < params_count(model_params(model)); p++)
        op_fill(dev, params_get(model_params(model), p)->g, 9); /* what no gradient may read */
    loss_and_gradients(model, batch, &loss);
    for (int p = 0; p < params_count(model_params(model)); p++)
        check_parameter(&d, params_get(model_params(model), p), &rng);
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

static void cpu_equals_reference(const void *data)
{
    Device *devices[] = { device_open_cpu(2, precision_uniform(DT_F32)), device_open_reference() };
    Model *models[2];
    double losses[2];
    for (int m = 0; m < 2; m++) {
        models[m] = kind_open(devices[m], data);
        Batch *batch = kind_batch(model_config(models[m]), 5, true);
        ModelLoss loss = kind_loss(batch);
        tiny_reserve(models[m], batch, &loss);
        for (int p = 0; m == 1 && p < params_count(model_params(models[0])); p++)
            op_copy(devices[1], params_get(model_params(models[1]), p)->w, params_get(model_params(models[0]), p)->w);
        losses[m] = loss_and_gradients(models[m], batch, &loss);
        batch_free(batch);
    }
    g_assert_cmpfloat_with_epsilon(losses[0], losses[1], 1e-5);
    assert_close(models[0], models[1], 5e-5); /* up to 2.6e-5 was seen, in umT5 */
    for (int m = 0; m < 2; m++) {
        model_close(models[m]);
        device_close(devices[m]);
    }
}

/* One batch of four with room to spare, and four batches of one whose gradients accumulate. */
static void packed_equals_unpacked(const void *data)
{
    Device *dev = device_open_reference();
    Model *packed = kind_open(dev, data), *unpacked = kind_open(dev, data);
    const ModelConfig *config = model_config(packed);
    Batch *batch = kind_batch(config, 6, true), *one = kind_batch(config, 1, false);
    ModelLoss loss = kind_loss(batch);
    LossSums sums = { 0 };

    tiny_reserve(packed, batch, &loss);
    tiny_reserve(unpacked, one, &loss);
    double expected = loss_and_gradients(packed, batch, &loss);
    grads_begin(model_params(unpacked), TINY_SAMPLES);
    for (int64_t i = 0; i < TINY_SAMPLES; i++) {
        batch_clear(one);
        kind_add(one, config, i);
        model_loss(unpacked, one, &loss, &sums);
    }
    g_assert_cmpfloat(sums.head[HEAD_LABELS].weight, ==, config->sentence_head ? 3 : 0);
    double found = 0;
    for (int h = 0; h < HEAD_COUNT; h++)
        found += sums.head[h].loss / fmax(1, loss.n_targets[h]);
    g_assert_cmpfloat_with_epsilon(found, expected, 1e-12);
    assert_close(unpacked, packed, 1e-11);
    batch_free(batch);
    batch_free(one);
    model_close(packed);
    model_close(unpacked);
    device_close(dev);
}

/* What an earlier step left in the gradients of the head does not stay there. */
static void without_targets_the_head_has_no_gradient(void)
{
    static const Kind kind = { "bert", bert };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = kind_open(dev, &kind);
    Batch *batch = kind_batch(model_config(model), 4, true), *none = kind_batch(model_config(model), 4, false);
    ModelLoss loss = kind_loss(batch);
    const int32_t ids[] = { 3, 1, 2 };
    const float weights[] = { 0, 0, 0 };
    LossSums sums = { 0 };

    tiny_reserve(model, batch, &loss);
    loss_and_gradients(model, batch, &loss);
    const Param *bias = params_get(model_params(model), 0);
    for (int p = 1; strcmp(bias->spec.name, "lm_head.bias") != 0; p++)
        bias = params_get(model_params(model), p);
    g_assert_cmpfloat(tiny_norm(bias->g), >, 0);
    batch_add_sequence(none, &(BatchSequence){ .n = 3, .ids = ids, .targets = ids, .weights = weights, .label = 1 });
    grads_begin(model_params(model), 1);
    model_loss(model, none, &loss, &sums);
    g_assert_cmpfloat(sums.head[HEAD_TOKENS].weight, ==, 0);
    g_assert_cmpfloat(tiny_norm(bias->g), ==, 0);
    batch_free(batch);
    batch_free(none);
    model_close(model);
    device_close(dev);
}

static void recompute_changes_no_bit(const void *data)
{
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    Model *kept = kind_open(dev, data), *again = kind_open(dev, data);
    Batch *batch = kind_batch(model_config(kept), 4, true);
    ModelLoss loss = kind_loss(batch);

    tiny_reserve(kept, batch, &loss);
    double expected = loss_and_gradients(kept, batch, &loss);
    loss.recompute = true;
    tiny_reserve(again, batch, &loss);
    g_assert_cmpfloat(loss_and_gradients(again, batch, &loss), ==, expected);
    assert_close(again, kept, 0);
    batch_free(batch);
    model_close(kept);
    model_close(again);
    device_close(dev);
}

/* The distance of two rows of logits is a small part of their norm. */
static void assert_row_near(const float *a, const float *b, int64_t n, double tolerance)
{
    double distance = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        distance += pow((double)a[i] - (double)b[i], 2);
        norm += pow((double)b[i], 2);
    }
    g_assert_cmpfloat(sqrt(distance), <=, tolerance * sqrt(norm));
}

/* Prompts of 5 and 1 tokens with two sequences each, which go on differently, exchange, and give the rows of
 * model_logits. */
static void cached_prompts(Device *dev, const Kind *kind, double tolerance)
{
    enum { PROMPTS = 2, EACH = 2, STEPS = 4, ROWS = PROMPTS * EACH };
    static const int32_t cu[] = { 0, 5, 6 }, ids[] = { 3, 7, 1, 9, 4, 11 }, exchanged[] = { 1, 0, 2, 2 };
    static const int32_t fed[STEPS - 1][ROWS] = { { 5, 2, 8, 1 }, { 6, 6, 0, 3 }, { 4, 10, 12, 13 } };
    Model *model = kind_open(dev, kind), *other = kind_open(dev, kind); /* the same weights */
    int64_t vocab = model_config(model)->vocab;
    int32_t text[ROWS][LENGTH], length[ROWS], kept[ROWS][LENGTH];
    Batch *batch = kind_batch(model_config(model), ROWS, false);
    g_autofree float *all = g_new(float, (gsize)(batch->dec.max_tokens * vocab));
    const float none[LENGTH] = { 0 };
    const ModelLoss plain = { 0 };

    tiny_reserve(model, batch, &plain);
    Decoder *decoder = decoder_open(other, &(Prompts){ ids, cu, PROMPTS }, EACH, STEPS, NULL);
    g_assert_nonnull(decoder);
    for (int r = 0; r < ROWS; r++) {
        length[r] = cu[r / EACH + 1] - cu[r / EACH];
        memcpy(text[r], ids + cu[r / EACH], (size_t)length[r] * sizeof *ids);
    }
    for (int step = 0; step < STEPS; step++) {
        int32_t tokens[ROWS];
        batch_clear(batch);
        for (int r = 0; r < ROWS; r++) {
            if (step > 0)
                text[r][length[r]++] = fed[step - 1][r];
            tokens[r] = text[r][length[r] - 1];
            int32_t prefix = model_config(model)->prefix_lm ? cu[r / EACH + 1] - cu[r / EACH] : 0;
            batch_add_sequence(
                batch,
                &(BatchSequence){
                    .n = length[r], .ids = text[r], .targets = text[r], .weights = none, .prefix_length = prefix });
        }
        model_logits(model, batch, all);
        const float *logits = decoder_step(decoder, tokens);
        for (int r = 0; r < ROWS; r++)
            assert_row_near(logits + r * vocab, all + (batch->dec.cu[r + 1] - 1) * vocab, vocab, tolerance);
        decoder_reorder(decoder, exchanged);
        memcpy(kept, text, sizeof kept);
        for (int r = 0; r < ROWS; r++)
            memcpy(text[r], kept[exchanged[r]], sizeof text[r]);
    }
    decoder_close(decoder);
    batch_free(batch);
    model_close(other);
    model_close(model);
    device_close(dev);
}

/* Teacher-forced steps of all samples side by side give the rows of model_logits. */
static void cached_answers(Device *dev, const Kind *kind, double tolerance)
{
    Model *model = kind_open(dev, kind);
    int64_t vocab = model_config(model)->vocab;
    Batch *batch = kind_batch(model_config(model), TINY_SAMPLES, true);
    const TokenStream *rows = &batch->dec;
    g_autofree float *all = g_new(float, (gsize)(rows->max_tokens * vocab));
    const Prompts prompts = { batch->enc.ids, batch->enc.cu, TINY_SAMPLES };
    const ModelLoss plain = { 0 };

    tiny_reserve(model, batch, &plain);
    model_logits(model, batch, all);
    Decoder *decoder = decoder_open(model, &prompts, 1, LENGTH, NULL);
    for (int32_t step = 0; step < rows->max_len; step++) {
        int32_t tokens[TINY_SAMPLES] = { 0 };
        for (int32_t s = 0; s < TINY_SAMPLES; s++)
            if (rows->cu[s] + step < rows->cu[s + 1])
                tokens[s] = rows->ids[rows->cu[s] + step];
        const float *logits = decoder_step(decoder, tokens);
        for (int32_t s = 0; s < TINY_SAMPLES; s++)
            if (rows->cu[s] + step < rows->cu[s + 1])
                assert_row_near(logits + s * vocab, all + (rows->cu[s] + step) * vocab, vocab, tolerance);
    }
    decoder_close(decoder);
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

/* Keys and values are rounded alike with and without a cache; sums of other lengths round otherwise, by a few unit
 * roundoffs: 2^-9 in bf16, 2^-12 in f16. The kinds take turns in them. */
static void cached_equals_uncached(const void *data)
{
    const Kind *kind = data;
    const ModelConfig config = kind_config(kind);
    void (*const check)(Device *, const Kind *, double) = config.family == FAMILY_T5 ? cached_answers : cached_prompts;
    check(device_open_reference(), kind, 2e-7);
    check(device_open_cpu(2, precision_uniform(DT_F32)), kind, 3e-6);
    if ((kind - kinds) % 2 == 0)
        check(device_open_cpu(2, kind_precision(DT_BF16)), kind, 0.03);
    else
        check(device_open_cpu(2, kind_precision(DT_F16)), kind, 0.004);
}

static void positions_end(void)
{
    Device *dev = device_open_reference();
    Model *model = kind_open(dev, &kinds[0]);
    const ModelLoss plain = { 0 };
    const int32_t id = 1, cu[] = { 0, 1 };
    g_autoptr(GError) error = NULL, decoding = NULL;

    g_assert_false(model_reserve(model, 2, 0, LENGTH + 1, &plain, NULL, &error));
    g_assert_nonnull(strstr(error->message, "sequences of 10 tokens, but model.max_positions is 9"));
    g_assert_null(decoder_open(model, &(Prompts){ &id, cu, 1 }, 1, LENGTH + 1, &decoding));
    g_assert_nonnull(strstr(decoding->message, "model.max_positions is 9"));
    model_close(model);
    device_close(dev);
}

static void encoders_do_not_generate(void)
{
    Device *dev = device_open_reference();
    Model *model = kind_open(dev, &(Kind){ "bert", bert });
    const int32_t id = 1, cu[] = { 0, 1 };
    g_autoptr(GError) error = NULL;

    g_assert_null(decoder_open(model, &(Prompts){ &id, cu, 1 }, 1, 4, &error));
    g_assert_nonnull(strstr(error->message, "no decoder"));
    model_close(model);
    device_close(dev);
}

/* Megatron's: what is added to the residual stream starts smaller by the square root of twice the blocks. */
static void outputs_start_smaller(void)
{
    void (*const shapes[])(ModelConfig *) = { gpt2, bert };
    for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
        ModelConfig config = tiny_config(&tiny_gated);
        int n_specs, seen = 0;
        shapes[s](&config);
        config.max_positions = LENGTH;
        config.init = INIT_SCHEME_NORMAL;
        config.init_std = 0.02;
        config.init_scale_outputs = true;
        g_autofree ParamSpec *specs = model_param_specs(&config, stage_whole(&config), &n_specs);
        for (int i = 0; i < n_specs; i++) {
            bool output = g_str_has_suffix(specs[i].name, "self.o") || g_str_has_suffix(specs[i].name, "mlp.wo");
            if (specs[i].cols > 0)
                g_assert_cmpfloat_with_epsilon(specs[i].std, output ? 0.01 : 0.02, 1e-15);
            seen += output;
        }
        g_assert_cmpint(seen, ==, 4);
    }
}

/* With zero outputs each block begins as the identity, and all tokens begin as equally likely. */
static void outputs_start_as_zeros(void)
{
    void (*const shapes[])(ModelConfig *) = { gpt2, bert, post_norm_t5 };
    for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
        ModelConfig config = tiny_config(&tiny_gated);
        int n_specs, seen = 0;
        shapes[s](&config);
        config.max_positions = LENGTH;
        config.tie_embeddings = false;
        config.init_zero_outputs = true;
        g_autofree ParamSpec *specs = model_param_specs(&config, stage_whole(&config), &n_specs);
        for (int i = 0; i < n_specs; i++) {
            bool output = g_str_has_suffix(specs[i].name, ".o") || g_str_has_suffix(specs[i].name, "mlp.wo") ||
                          g_str_equal(specs[i].name, "lm_head");
            if (specs[i].cols > 0)
                g_assert_cmpint(specs[i].init == INIT_ZEROS, ==, output);
            seen += output;
        }
        g_assert_cmpint(seen, >=, 5);
    }
}

/* fairseq's: Glorot's half-widths, smaller by the square root of two for queries, keys and values. */
static void fairseq_starts_as_fairseq_does(void)
{
    static const struct {
        const char *name;
        int init;
        double std;
    } expected[] = {
        { "shared", INIT_NORMAL, 0.35355339 },
        { "lm_head", INIT_NORMAL, 0.35355339 },
        { "decoder.0.self.q", INIT_UNIFORM, 0.38729833 },
        { "decoder.0.self.v", INIT_UNIFORM, 0.38729833 },
        { "decoder.1.self.o", INIT_UNIFORM, 0.54772256 },
        { "decoder.1.mlp.wi", INIT_UNIFORM, 0.35355339 },
        { "decoder.0.mlp.wo", INIT_UNIFORM, 0.25 },
    };
    ModelConfig config = tiny_config(&tiny_gated);
    int n_specs;
    size_t seen = 0;
    fairseq(&config);
    config.init = INIT_SCHEME_FAIRSEQ;
    g_autofree ParamSpec *specs = model_param_specs(&config, stage_whole(&config), &n_specs);
    for (int i = 0; i < n_specs; i++)
        for (size_t e = 0; e < G_N_ELEMENTS(expected); e++)
            if (g_str_equal(specs[i].name, expected[e].name)) {
                g_assert_cmpint((int)specs[i].init, ==, expected[e].init);
                g_assert_cmpfloat_with_epsilon(specs[i].std, expected[e].std, 1e-8);
                seen++;
            }
    g_assert_cmpint((int)seen, ==, (int)G_N_ELEMENTS(expected));
}

typedef struct Test {
    const char *what;
    void (*run)(const void *kind);
    int family; /* of the kinds it is for */
} Test;

#define ANY_FAMILY (-1)

static const Test tests[] = {
    { "gradient_matches_finite_difference", gradient_matches_finite_difference, ANY_FAMILY },
    { "on_cpu_equals_reference", cpu_equals_reference, ANY_FAMILY },
    { "packed_equals_unpacked", packed_equals_unpacked, ANY_FAMILY },
    { "recompute_changes_no_bit", recompute_changes_no_bit, ANY_FAMILY },
    { "cached_equals_uncached", cached_equals_uncached, FAMILY_GPT },
    { "cached_equals_uncached", cached_equals_uncached, FAMILY_T5 },
};

static int family_of(const Kind *kind)
{
    ModelConfig config = tiny_config(&tiny_gated);
    kind->shape(&config);
    return config.family;
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t t = 0; t < G_N_ELEMENTS(tests); t++)
        for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
            g_autofree char *path = g_strdup_printf("/families/%s/%s", tests[t].what, kinds[k].name);
            if (tests[t].family == ANY_FAMILY || tests[t].family == family_of(&kinds[k]))
                g_test_add_data_func(path, &kinds[k], tests[t].run);
        }
    g_test_add_func("/families/learned_positions_end", positions_end);
    g_test_add_func("/families/encoders_do_not_generate", encoders_do_not_generate);
    g_test_add_func("/families/without_targets_the_head_has_no_gradient", without_targets_the_head_has_no_gradient);
    g_test_add_func("/families/outputs_start_smaller", outputs_start_smaller);
    g_test_add_func("/families/outputs_start_as_zeros", outputs_start_as_zeros);
    g_test_add_func("/families/fairseq_starts_as_fairseq_does", fairseq_starts_as_fairseq_does);
    return g_test_run();
}
