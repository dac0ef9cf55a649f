#include "eval/heldout.h"

#include "base/log.h"

#include <math.h>
#include <string.h>

static int64_t sample_count(const Loader *loader, int64_t n)
{
    int64_t all = loader_epoch_samples(loader);
    return n > 0 ? MIN(n, all) : all;
}

static bool fail_stopped(GError **error)
{
    g_set_error(error, LOAM_ERROR, LOAM_ERROR_STOPPED, "stopped on request while evaluating");
    return false;
}

/* Calls `each` for the first n samples, in batches of at most `micro` samples. */
static bool for_batches(Loader *loader, int64_t n, int64_t micro, HeldoutStopFn stop,
                        void (*each)(void *, const Batch *), void *context, GError **error)
{
    Batch *batch = loader_batch(loader, (int32_t)micro);
    bool done = true;
    n = sample_count(loader, n);
    for (int64_t first = 0; done && first < n; first += micro) {
        done = stop && stop() ? fail_stopped(error) : loader_get(loader, first, MIN(micro, n - first), batch, error);
        if (done)
            each(context, batch);
    }
    batch_free(batch);
    return done;
}

typedef struct LossContext {
    Model *model;
    LossSums *sums;
    int64_t done; /* samples */
} LossContext;

static void add_loss(void *context, const Batch *batch)
{
    LossContext *loss = context;
    const ModelLoss plain = { 0 };
    model_loss(loss->model, batch, &plain, loss->sums);
    loss->done += batch->n_samples;
    progress_note("loss %.4f", loss_sums_total(loss->sums));
    progress_update((uint64_t)loss->done);
}

bool heldout_loss(Model *model, Loader *loader, int64_t n, int64_t micro, HeldoutStopFn stop, LossSums *sums,
                  GError **error)
{
    LossContext context = { model, sums, 0 };
    progress_open("evaluating", "samples", (uint64_t)sample_count(loader, n));
    bool done = for_batches(loader, n, micro, stop, add_loss, &context, error);
    progress_close();
    return done;
}

typedef struct CountContext {
    int64_t *counts, vocab, total;
} CountContext;

static void count_targets(void *context, const Batch *batch)
{
    CountContext *count = context;
    for (int32_t row = 0; row < batch_loss_stream(batch)->n_tokens; row++)
        if (batch->weights[row] > 0 && batch->targets[row] < count->vocab) {
            count->counts[batch->targets[row]]++;
            count->total++;
        }
}

bool heldout_unigram(Loader *loader, int64_t n, int64_t vocab, double *nats, GError **error)
{
    g_autofree int64_t *counts = g_new0(int64_t, vocab);
    CountContext context = { counts, vocab, 0 };
    if (!for_batches(loader, n, 16, NULL, count_targets, &context, error))
        return false;
    double entropy = 0;
    for (int64_t id = 0; id < vocab; id++) {
        double p = (double)counts[id] / (double)context.total;
        entropy -= p > 0 ? p * log(p) : 0;
    }
    *nats = entropy;
    return true;
}

typedef struct BytesContext {
    const Tokenizer *tok;
    bool *special; /* (size of the tokenizer) true for sentinels */
    GArray *ids;
    int64_t bytes; /* -1 means unknown */
    GError **error;
    bool done;
} BytesContext;

/* Collects the target ids of tokens first … end - 1 that are text; false where one of them is the unknown token. */
static bool text_ids(const BytesContext *context, const Batch *batch, int32_t first, int32_t end)
{
    g_array_set_size(context->ids, 0);
    for (int32_t row = first; row < end; row++) {
        int32_t id = batch->targets[row];
        if (batch->weights[row] == 0 || id >= tokenizer_size(context->tok) || context->special[id])
            continue;
        if (id == tokenizer_unk(context->tok))
            return false;
        g_array_append_val(context->ids, id);
    }
    return true;
}

static void count_bytes(void *memory, const Batch *batch)
{
    BytesContext *context = memory;
    const TokenStream *rows = batch_loss_stream(batch);
    for (int32_t s = 0; s < rows->n_seq && context->done && context->bytes >= 0; s++) {
        if (!text_ids(context, batch, rows->cu[s], rows->cu[s + 1])) {
            context->bytes = -1;
            return;
        }
        g_autofree char *text = tokenizer_decode(context->tok, (const int32_t *)(void *)context->ids->data,
                                                 context->ids->len, context->error);
        context->done = text != NULL;
        context->bytes += text ? (int64_t)strlen(text) : 0;
    }
}

bool heldout_bytes(Loader *loader, const Tokenizer *tok, int64_t n, int64_t *bytes, GError **error)
{
    g_autofree bool *special = g_new0(bool, tokenizer_size(tok));
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    BytesContext context = { .tok = tok, .special = special, .ids = ids, .error = error, .done = true };
    for (int i = 0; i < TOKENIZER_SENTINELS; i++) {
        int32_t id = tokenizer_sentinel(tok, i);
        if (id >= 0)
            special[id] = true;
    }
    bool done = for_batches(loader, n, 16, NULL, count_bytes, &context, error) && context.done;
    *bytes = context.bytes;
    return done;
}
