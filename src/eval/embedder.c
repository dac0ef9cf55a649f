#include "eval/embedder.h"

#include "base/check.h"

#include <inttypes.h>
#include <string.h>

#define PACKED_TEXTS 64 /* limit on the texts of a batch, per text of full length */
#define MOST_TOKENS  (1 << 20)

const char *const pooling_names[] = { "mean", "first", "pooler", "none", "last", "max", "sqrt", "weighted", NULL };

struct Embedder {
    Model *model;
    Pooling pooling;
    Batch *batch;
    float *hidden; /* (tokens of the batch, C) */
    float *pooled; /* (texts of the batch, C) */
};

static bool check(const Model *model, Pooling pooling, int64_t max_tokens, int64_t texts_per_batch, GError **error)
{
    const ModelConfig *config = model_config(model);
    if (config->n_enc == 0)
        return fail_user(error, "the model has no encoder: its tokens attend only to the tokens before them");
    if (pooling == POOLING_POOLER && !config->pooler)
        return fail_user(error, "the model has no pooler: give another --pooling");
    if (max_tokens < 1 || texts_per_batch < 1 || max_tokens > MOST_TOKENS / texts_per_batch)
        return fail_user(error, "%" PRId64 " texts of %" PRId64 " tokens side by side: at most %d tokens in all",
                         texts_per_batch, max_tokens, MOST_TOKENS);
    return model_config_fits(config, max_tokens, error);
}

Embedder *embedder_open(Model *model, Pooling pooling, int64_t max_tokens, int64_t texts_per_batch, GError **error)
{
    if (!check(model, pooling, max_tokens, texts_per_batch, error))
        return NULL;
    g_autoptr(Batch) batch = batch_new_packed((int32_t)texts_per_batch, PACKED_TEXTS, (int32_t)max_tokens, 0);
    if (!model_reserve_encoder(model, batch, error))
        return NULL;
    Embedder *embedder = g_new0(Embedder, 1);
    gsize width = (gsize)model_config(model)->width;
    *embedder = (Embedder){ .model = model,
                            .pooling = pooling,
                            .hidden = g_new(float, width *(gsize)batch->enc.max_tokens),
                            .pooled = g_new(float, width *(gsize)batch->enc.max_seq) };
    embedder->batch = g_steal_pointer(&batch);
    return embedder;
}

void embedder_close(Embedder *embedder)
{
    if (embedder == NULL)
        return;
    batch_free(embedder->batch);
    g_free(embedder->hidden);
    g_free(embedder->pooled);
    g_free(embedder);
}

bool embedder_add(Embedder *embedder, const int32_t *ids, int64_t n)
{
    const TokenStream *stream = &embedder->batch->enc;
    CHECK(n >= 1 && n <= stream->max_len, "a text of %" PRId64 " tokens", n);
    if (stream->n_seq == stream->max_seq || n > stream->max_tokens - stream->n_tokens)
        return false;
    g_autofree float *weights = g_new0(float, (gsize)n);
    batch_add_sequence(embedder->batch,
                       &(BatchSequence){ .n = n, .ids = ids, .targets = ids, .weights = weights, .label = -1 });
    return true;
}

/* A sum over the tokens of a text, in double, so that a mean does not depend on the length of the text. */
static void sum_rows(float *out, const float *rows, int32_t n, int64_t width, Pooling pooling)
{
    const double divisor = pooling == POOLING_MEAN ? n : pooling == POOLING_SQRT ? sqrt(n) : 0.5 * n * (n + 1.0);
    for (int64_t c = 0; c < width; c++) {
        double sum = 0;
        for (int32_t i = 0; i < n; i++)
            sum += (pooling == POOLING_WEIGHTED ? i + 1.0 : 1.0) * (double)rows[i * width + c];
        out[c] = (float)(sum / divisor);
    }
}

static void max_rows(float *out, const float *rows, int32_t n, int64_t width)
{
    memcpy(out, rows, sizeof *out * (size_t)width);
    for (int64_t i = width; i < n * width; i++)
        out[i % width] = MAX(out[i % width], rows[i]);
}

/* out (C) from rows (n, C), for every kind that needs only the hidden states. */
static void pool(float *out, const float *rows, int32_t n, int64_t width, Pooling pooling)
{
    if (pooling == POOLING_MEAN || pooling == POOLING_SQRT || pooling == POOLING_WEIGHTED)
        sum_rows(out, rows, n, width, pooling);
    else if (pooling == POOLING_MAX)
        max_rows(out, rows, n, width);
    else if (pooling == POOLING_FIRST || pooling == POOLING_LAST)
        memcpy(out, rows + (pooling == POOLING_LAST ? n - 1 : 0) * width, sizeof *out * (size_t)width);
}

const float *embedder_run(Embedder *embedder)
{
    const TokenStream *stream = &embedder->batch->enc;
    int64_t width = model_config(embedder->model)->width;
    bool pooler = embedder->pooling == POOLING_POOLER;

    model_encode(embedder->model, embedder->batch, embedder->hidden, pooler ? embedder->pooled : NULL);
    for (int32_t s = 0; s < stream->n_seq; s++) {
        const float *first = embedder->hidden + stream->cu[s] * width;
        pool(embedder->pooled + s * width, first, stream->cu[s + 1] - stream->cu[s], width, embedder->pooling);
    }
    batch_clear(embedder->batch);
    return embedder->pooling == POOLING_NONE ? embedder->hidden : embedder->pooled;
}
