/* Rows of memory before each of the encoder's sequences. */
#include "tiny.h"

enum { MEMORY = 3, LENGTH = 9 };

static Model *memory_open(Device *dev, int64_t n_memory)
{
    ModelConfig config = tiny_config(&tiny_gated);
    config.memory_tokens = n_memory;
    Model *model = model_open(dev, &config, false, NULL);
    params_init(model_params(model), 7);
    return model;
}

/* Packed, with room to spare, as alone: and only text comes out. */
static void vectors_of_text_do_not_depend_on_its_batch(void)
{
    Device *dev = device_open_reference();
    Model *model = memory_open(dev, MEMORY);
    int64_t width = model_config(model)->width;
    Batch *batch = tiny_batch(tiny_gated.vocab, 6, LENGTH, 6), *one = batch_new(1, LENGTH, 6);
    g_autofree float *all = g_new(float, (gsize)(batch->enc.max_tokens * width));
    g_autofree float *alone = g_new(float, (gsize)(one->enc.max_tokens * width));
    const ModelLoss plain = { 0 };

    tiny_reserve(model, batch, &plain);
    model_encode(model, batch, all, NULL);
    for (int64_t s = 0; s < TINY_SAMPLES; s++) {
        batch_clear(one);
        tiny_add(one, s, tiny_gated.vocab);
        model_encode(model, one, alone, NULL);
        for (int64_t i = 0; i < one->enc.n_tokens * width; i++)
            g_assert_cmpfloat_with_epsilon((double)all[batch->enc.cu[s] * width + i], (double)alone[i], 1e-6);
    }
    batch_free(batch);
    batch_free(one);
    model_close(model);
    device_close(dev);
}

/* Memory that equals the embeddings of some tokens is those tokens, written before the text. */
static void memory_stands_where_tokens_would(void)
{
    static const int32_t first[MEMORY] = { 5, 2, 9 }, text[] = { 7, 7, 1, 4 };
    int32_t whole[MEMORY + 4];
    Device *dev = device_open_reference();
    Model *with = memory_open(dev, MEMORY), *without = memory_open(dev, 0);
    int64_t width = model_config(with)->width, vocab = tiny_gated.vocab;
    Batch *batch = batch_new(1, 4, 6), *longer = batch_new(1, MEMORY + 4, 6);
    g_autofree float *logits = g_new(float, (gsize)(6 * vocab)), *expected = g_new(float, (gsize)(6 * vocab));
    const ModelLoss plain = { 0 };

    for (int p = 0; p < params_count(model_params(without)); p++) {
        const Param *param = params_get(model_params(without), p);
        op_copy(dev, params_find(model_params(with), param->spec.name)->w, param->w);
    }
    Tensor memory = params_find(model_params(with), "encoder.memory")->w;
    Tensor table = params_find(model_params(with), "shared")->w;
    for (int64_t i = 0; i < MEMORY; i++)
        memcpy((double *)memory.p + i * width, (double *)table.p + first[i] * width, (size_t)width * sizeof(double));
    memcpy(whole, first, sizeof first);
    memcpy(whole + MEMORY, text, sizeof text);
    batch_add(batch, 0, text, 4, text, 4, 0);
    batch_add(longer, 0, whole, MEMORY + 4, text, 4, 0);
    tiny_reserve(with, batch, &plain);
    tiny_reserve(without, longer, &plain);
    model_logits(with, batch, logits);
    model_logits(without, longer, expected);
    for (int64_t i = 0; i < 4 * vocab; i++)
        g_assert_cmpfloat_with_epsilon((double)logits[i], (double)expected[i], 1e-6);
    batch_free(batch);
    batch_free(longer);
    model_close(with);
    model_close(without);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/memory/vectors_of_text_do_not_depend_on_its_batch", vectors_of_text_do_not_depend_on_its_batch);
    g_test_add_func("/memory/stands_where_tokens_would", memory_stands_where_tokens_would);
    return g_test_run();
}
