#include "eval/heldout.h"

#include <math.h>

static int64_t sample_count(const Loader *loader, int64_t n)
{
    int64_t all = loader_epoch_samples(loader, 0);
    return n > 0 ? MIN(n, all) : all;
}

/* Calls `each` with batches of up to `micro` samples until n are seen. */
static bool for_batches(Loader *loader, int64_t n, int64_t micro, void (*each)(void *, const Batch *), void *context,
                        GError **error)
{
    const ObjectiveConfig *objective = loader_objective(loader);
    Batch *batch = batch_new((int32_t)micro, (int32_t)objective->input_length, (int32_t)objective->target_length);
    bool done = true;
    n = sample_count(loader, n);
    for (int64_t first = 0; done && first < n; first += micro) {
        done = loader_get(loader, first, MIN(micro, n - first), batch, error);
        if (done)
            each(context, batch);
    }
    batch_free(batch);
    return done;
}

typedef struct LossContext {
    Model *model;
    LossSums *sums;
} LossContext;

static void add_loss(void *context, const Batch *batch)
{
    const LossContext *loss = context;
    const ModelLoss plain = { .n_targets = 1 };
    model_loss(loss->model, batch, &plain, loss->sums);
}

bool heldout_loss(Model *model, Loader *loader, int64_t n, int64_t micro, LossSums *sums, GError **error)
{
    return for_batches(loader, n, micro, add_loss, &(LossContext){ model, sums }, error);
}

typedef struct CountContext {
    int64_t *counts, vocab, total;
} CountContext;

static void count_targets(void *context, const Batch *batch)
{
    CountContext *count = context;
    for (int32_t row = 0; row < batch->dec.n_used; row++)
        if (batch->weights[row] > 0 && batch->targets[row] < count->vocab) {
            count->counts[batch->targets[row]]++;
            count->total++;
        }
}

bool heldout_unigram(Loader *loader, int64_t n, int64_t vocab, double *nats, GError **error)
{
    g_autofree int64_t *counts = g_new0(int64_t, vocab);
    CountContext context = { counts, vocab, 0 };
    if (!for_batches(loader, n, 16, count_targets, &context, error))
        return false;
    double entropy = 0;
    for (int64_t id = 0; id < vocab; id++) {
        double p = (double)counts[id] / (double)context.total;
        entropy -= p > 0 ? p * log(p) : 0;
    }
    *nats = entropy;
    return true;
}
