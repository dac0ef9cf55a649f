#include "tiny.h"

/* Teacher-forced steps give the rows of model_logits. */
static void cached_equals_uncached(Device *dev, double tolerance)
{
    const int64_t vocab = tiny_relu.vocab;
    Model *model = tiny_open(dev, &tiny_relu);
    Batch *batch = tiny_batch(vocab, 4, 9, 6);
    g_autofree float *logits = g_new(float, (gsize)(batch->dec.n_rows * vocab));
    ModelLoss loss = { 0 };
    GError *error = NULL;

    tiny_reserve(model, batch, &loss);
    model_logits(model, batch, logits);
    for (int32_t s = 0; s < TINY_SAMPLES; s++) {
        int32_t first = batch->enc.cu[s], n = batch->enc.cu[s + 1] - first;
        Decoder *decoder = decoder_open(model, batch->enc.ids + first, n, 6, &error);
        g_assert_no_error(error);
        for (int32_t row = batch->dec.cu[s]; row < batch->dec.cu[s + 1]; row++) {
            const float *step = decoder_step(decoder, batch->dec.ids[row]);
            for (int64_t v = 0; v < vocab; v++)
                g_assert_cmpfloat_with_epsilon((double)step[v], (double)logits[row * vocab + v], tolerance);
        }
        decoder_close(decoder);
    }
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

static void cached_equals_uncached_in_f32(void)
{
    cached_equals_uncached(device_open_cpu(2), 1e-5);
}

/* Both are rounded to f32 at the end: one unit in the last place of logits around 1. */
static void cached_equals_uncached_in_f64(void)
{
    cached_equals_uncached(device_open_reference(), 2.5e-7);
}

static void refuses_inputs_it_cannot_encode(void)
{
    static const struct {
        int32_t ids[2];
        int64_t n_inputs, max_tokens;
        const char *says;
    } wrong[] = {
        { { 0 }, 0, 6, "from 1 to" },
        { { 1 }, 1, 0, "from 1 to" },
        { { 1 }, 1, INT64_MAX, "from 1 to" },
        { { 1, 23 }, 2, 6, "input token 1 has id 23; the model's ids are 0 to 22" },
        { { -1 }, 1, 6, "id -1" },
    };
    Device *dev = device_open_reference();
    Model *model = tiny_open(dev, &tiny_relu);

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(decoder_open(model, wrong[i].ids, wrong[i].n_inputs, wrong[i].max_tokens, &error));
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
    g_test_add_func("/decoder/cached_equals_uncached_in_f64", cached_equals_uncached_in_f64);
    g_test_add_func("/decoder/refuses_inputs_it_cannot_encode", refuses_inputs_it_cannot_encode);
    return g_test_run();
}
