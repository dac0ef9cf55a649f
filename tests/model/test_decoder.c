#include "model/decoder.h"
#include "tiny.h"

static void assert_rows_equal(const float *a, const float *b, int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; i++)
        g_assert_cmpfloat_with_epsilon((double)a[i], (double)b[i], tolerance);
}

/* Teacher-forced steps give the rows of model_logits. */
static void cached_equals_uncached(Device *dev, double tolerance)
{
    const int64_t vocab = tiny_relu.vocab;
    Model *model = tiny_open(dev, &tiny_relu);
    Batch *batch = tiny_batch(vocab, 4, 9, 6);
    g_autofree float *logits = g_new(float, (gsize)(batch->dec.max_tokens * vocab));
    ModelLoss loss = { 0 };
    GError *error = NULL;

    tiny_reserve(model, batch, &loss);
    model_logits(model, batch, logits);
    for (int32_t s = 0; s < TINY_SAMPLES; s++) {
        const int32_t cu[] = { 0, batch->enc.cu[s + 1] - batch->enc.cu[s] };
        const Prompts prompt = { batch->enc.ids + batch->enc.cu[s], cu, 1 };
        Decoder *decoder = decoder_open(model, &prompt, 1, 6, &error);
        g_assert_no_error(error);
        for (int32_t row = batch->dec.cu[s]; row < batch->dec.cu[s + 1]; row++)
            assert_rows_equal(decoder_step(decoder, batch->dec.ids + row), logits + row * vocab, vocab, tolerance);
        decoder_close(decoder);
    }
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

enum { EACH = 3, STEPS = 5 };

/* The most likely tokens are those of the logits. */
static void the_top_tokens_are_those_of_the_logits(void)
{
    static const int32_t ids[] = { 9, 4, 1, 7, 1 }, cu[] = { 0, 3, 5 }, tokens[] = { 0, 3, 5, 2 };
    const Prompts prompts = { ids, cu, 2 };
    const int64_t vocab = tiny_relu.vocab;
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    Model *model = tiny_open(dev, &tiny_relu), *other = tiny_open(dev, &tiny_relu); /* the same weights */
    Decoder *all = decoder_open(model, &prompts, 2, STEPS, NULL), *best = decoder_open(other, &prompts, 2, STEPS, NULL);
    for (int32_t k = 1; k <= 3; k++) {
        const float *logits = decoder_step(all, tokens);
        TopTokens top = decoder_step_top(best, tokens, k);
        g_assert_cmpint(top.k, ==, k);
        for (int32_t r = 0; r < 4; r++, logits += vocab) {
            double sum = 0;
            for (int64_t v = 0; v < vocab; v++)
                sum += exp((double)logits[v]);
            g_assert_cmpfloat_with_epsilon(top.log_sums[r], log(sum), 1e-6);
            for (int32_t i = 0; i < k; i++) {
                int32_t id = top.ids[r * k + i], above = 0;
                g_assert_cmpfloat((double)top.logits[r * k + i], ==, (double)logits[id]);
                for (int64_t v = 0; v < vocab; v++)
                    above += logits[v] > logits[id] || (v < id && logits[v] >= logits[id]);
                g_assert_cmpint(above, ==, i);
            }
        }
    }
    decoder_close(all);
    decoder_close(best);
    model_close(other);
    model_close(model);
    device_close(dev);
}

/* The token that sequence r is fed at a step, r counted within its prompt. */
static int32_t fed(int32_t prompt, int32_t r, int step)
{
    return step == 0 ? 0 : (prompt * 7 + r * 5 + step * 3) % (int32_t)tiny_relu.vocab;
}

/* The logits after the first `steps` tokens of a sequence alone. */
static void alone(Model *model, const Prompts *prompt, const int32_t *tokens, int steps, float *logits)
{
    Decoder *decoder = decoder_open(model, prompt, 1, STEPS, NULL);
    const float *last = NULL;
    for (int i = 0; i < steps; i++)
        last = decoder_step(decoder, tokens + i);
    memcpy(logits, last, (size_t)tiny_relu.vocab * sizeof *logits);
    decoder_close(decoder);
}

/* Four prompts of three sequences; after the third step each sequence goes on from one that `from` names. */
static void sequences_side_by_side_do_not_see_each_other(void)
{
    static const int32_t within[EACH] = { 2, 2, 0 };
    const int64_t vocab = tiny_relu.vocab;
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    Model *model = tiny_open(dev, &tiny_relu), *other = tiny_open(dev, &tiny_relu); /* the same weights */
    Batch *batch = tiny_batch(vocab, 4, 9, 6);
    const Prompts prompts = { batch->enc.ids, batch->enc.cu, TINY_SAMPLES };
    Decoder *decoder = decoder_open(model, &prompts, EACH, STEPS, NULL);
    int32_t tokens[TINY_SAMPLES * EACH], from[TINY_SAMPLES * EACH], history[TINY_SAMPLES * EACH][STEPS];
    g_autofree float *want = g_new(float, vocab);

    for (int step = 0; step < STEPS; step++) {
        for (int32_t r = 0; r < TINY_SAMPLES * EACH; r++)
            tokens[r] = fed(r / EACH, r % EACH, step);
        const float *logits = decoder_step(decoder, tokens);
        for (int32_t r = 0; r < TINY_SAMPLES * EACH; r++) {
            int32_t p = r / EACH, origin = step > 2 ? within[r % EACH] : r % EACH;
            const int32_t cu[] = { 0, batch->enc.cu[p + 1] - batch->enc.cu[p] };
            for (int i = 0; i <= step; i++)
                history[r][i] = fed(p, i > 2 ? r % EACH : origin, i);
            alone(other, &(Prompts){ batch->enc.ids + batch->enc.cu[p], cu, 1 }, history[r], step + 1, want);
            assert_rows_equal(logits + r * vocab, want, vocab, 1e-5);
            from[r] = p * EACH + within[r % EACH];
        }
        if (step == 2)
            decoder_reorder(decoder, from);
    }
    decoder_close(decoder);
    batch_free(batch);
    model_close(other);
    model_close(model);
    device_close(dev);
}

/* A prefix LM whose prompts are one token: nothing is cached before the first step. */
static void prompts_of_one_token_are_a_prefix(void)
{
    static const int32_t ids[] = { 3, 7 }, cu[] = { 0, 1, 2 };
    ModelConfig config = tiny_config(&tiny_gated);
    config.family = FAMILY_GPT;
    config.n_enc = 0;
    config.prefix_lm = true;
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    Model *model = model_open(dev, &config, false, NULL);
    Batch *batch = batch_new(1, 0, 1);
    const ModelLoss loss = { 0 };
    g_autofree float *want = g_new(float, config.vocab);

    params_init(model_params(model), 7);
    tiny_reserve(model, batch, &loss);
    for (int p = 0; p < 2; p++) {
        batch_clear(batch);
        batch_add_sequence(
            batch, &(BatchSequence){
                       .n = 1, .ids = ids + p, .targets = ids + p, .weights = (float[]){ 0 }, .prefix_length = 1 });
        model_logits(model, batch, want);
        Decoder *decoder = decoder_open(model, &(Prompts){ ids, cu, 2 }, 1, STEPS, NULL);
        assert_rows_equal(decoder_step(decoder, ids) + p * config.vocab, want, config.vocab, 1e-5);
        decoder_close(decoder);
    }
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

static void cached_equals_uncached_in_f32(void)
{
    cached_equals_uncached(device_open_cpu(2, precision_uniform(DT_F32)), 1e-5);
}

/* Keys and values are rounded alike with and without a cache; sums of other lengths round otherwise. */
static void cached_equals_uncached_in_bf16(void)
{
    cached_equals_uncached(
        device_open_cpu(
            2,
            (Precision){ .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 }),
        0.02);
}

/* Both are rounded to f32 at the end: one unit in the last place of logits around 1. */
static void cached_equals_uncached_in_f64(void)
{
    cached_equals_uncached(device_open_reference(), 2.5e-7);
}

static void refuses_what_it_cannot_decode(void)
{
    static const struct {
        int32_t ids[2];
        int32_t n_inputs, n_each;
        int64_t max_tokens;
        const char *says;
    } wrong[] = {
        { { 0 }, 0, 1, 6, "from 1 to" },
        { { 1 }, 1, 1, 0, "from 1 to" },
        { { 1 }, 1, 1, INT64_MAX, "from 1 to" },
        { { 1, 23 }, 2, 1, 6, "input token 1 has id 23; the model's ids are 0 to 22" },
        { { -1 }, 1, 1, 6, "id -1" },
        { { 1 }, 1, 1 << 21, 6, "2097152 sequences each at once: at most 1048576" },
        { { 1 }, 1, 1 << 12, 1 << 20, "4096 sequences of up to 1048576 tokens each at once: at most 2147483647" },
    };
    Device *dev = device_open_reference();
    Model *model = tiny_open(dev, &tiny_relu);

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        const int32_t cu[] = { 0, wrong[i].n_inputs };
        g_assert_null(
            decoder_open(model, &(Prompts){ wrong[i].ids, cu, 1 }, wrong[i].n_each, wrong[i].max_tokens, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, wrong[i].says));
    }
    model_close(model);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/decoder/cached_equals_uncached_in_f32", cached_equals_uncached_in_f32);
    g_test_add_func("/decoder/cached_equals_uncached_in_bf16", cached_equals_uncached_in_bf16);
    g_test_add_func("/decoder/cached_equals_uncached_in_f64", cached_equals_uncached_in_f64);
    g_test_add_func("/decoder/sequences_side_by_side_do_not_see_each_other",
                    sequences_side_by_side_do_not_see_each_other);
    g_test_add_func("/decoder/prompts_of_one_token_are_a_prefix", prompts_of_one_token_are_a_prefix);
    g_test_add_func("/decoder/the_top_tokens_are_those_of_the_logits", the_top_tokens_are_those_of_the_logits);
    g_test_add_func("/decoder/refuses_what_it_cannot_decode", refuses_what_it_cannot_decode);
    return g_test_run();
}
