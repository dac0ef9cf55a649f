#include "data/prefetch.h"

/* One batch is the caller's, one is being filled, `depth` are ready. */
#define SPARE_BATCHES 2

struct Prefetch {
    Loader *loader;
    int64_t batch_samples;
    guint depth;
    GThread *thread;

    GMutex mutex; /* guards all below */
    GCond changed;
    GQueue spare; /* of Batch * */
    GQueue ready; /* of Batch *, from sample `expected` on */
    Batch *current;
    int64_t expected;    /* the first sample of the next call, if the guess is right */
    int64_t next;        /* the first sample to fill */
    unsigned generation; /* grows at every wrong guess */
    bool working, stop;  /* not working: before the first call, and after an error, which the caller then finds too */
};

static void *work_ahead(void *argument)
{
    Prefetch *prefetch = argument;
    g_mutex_lock(&prefetch->mutex);
    for (;;) {
        while (!prefetch->stop && (!prefetch->working || prefetch->ready.length >= prefetch->depth))
            g_cond_wait(&prefetch->changed, &prefetch->mutex);
        if (prefetch->stop)
            break;
        Batch *batch = g_queue_pop_head(&prefetch->spare);
        unsigned generation = prefetch->generation;
        int64_t first = prefetch->next;
        g_mutex_unlock(&prefetch->mutex);
        bool good = loader_get(prefetch->loader, first, prefetch->batch_samples, batch, NULL);
        g_mutex_lock(&prefetch->mutex);
        bool wanted = generation == prefetch->generation;
        if (wanted && good)
            prefetch->next += prefetch->batch_samples;
        else if (wanted)
            prefetch->working = false;
        g_queue_push_tail(wanted && good ? &prefetch->ready : &prefetch->spare, batch);
        g_cond_broadcast(&prefetch->changed);
    }
    g_mutex_unlock(&prefetch->mutex);
    return NULL;
}

Prefetch *prefetch_open(Loader *loader, int64_t batch_samples, int depth)
{
    Prefetch *prefetch = g_new0(Prefetch, 1);
    prefetch->loader = loader;
    prefetch->batch_samples = batch_samples;
    prefetch->depth = (guint)MAX(depth, 1);
    prefetch->expected = -1;
    g_queue_init(&prefetch->spare);
    g_queue_init(&prefetch->ready);
    for (guint i = 0; i < prefetch->depth + SPARE_BATCHES; i++)
        g_queue_push_tail(&prefetch->spare, loader_batch(loader, (int32_t)batch_samples));
    g_mutex_init(&prefetch->mutex);
    g_cond_init(&prefetch->changed);
    prefetch->thread = g_thread_new("prefetch", work_ahead, prefetch);
    return prefetch;
}

static void free_batch(void *batch)
{
    batch_free(batch);
}

void prefetch_close(Prefetch *prefetch)
{
    if (!prefetch)
        return;
    g_mutex_lock(&prefetch->mutex);
    prefetch->stop = true;
    g_cond_broadcast(&prefetch->changed);
    g_mutex_unlock(&prefetch->mutex);
    g_thread_join(prefetch->thread);
    g_queue_clear_full(&prefetch->spare, free_batch);
    g_queue_clear_full(&prefetch->ready, free_batch);
    batch_free(prefetch->current);
    g_mutex_clear(&prefetch->mutex);
    g_cond_clear(&prefetch->changed);
    g_free(prefetch);
}

/* The batch that was made ahead, or NULL if the guess was wrong. */
static Batch *take_ready(Prefetch *prefetch, int64_t first, int64_t n)
{
    if (first != prefetch->expected || n != prefetch->batch_samples)
        return NULL;
    while (prefetch->working && prefetch->ready.length == 0)
        g_cond_wait(&prefetch->changed, &prefetch->mutex);
    return g_queue_pop_head(&prefetch->ready);
}

/* Begins again behind the call that was not foreseen. */
static Batch *start_over(Prefetch *prefetch, int64_t next)
{
    Batch *batch;
    while ((batch = g_queue_pop_head(&prefetch->ready)))
        g_queue_push_tail(&prefetch->spare, batch);
    prefetch->generation++;
    prefetch->next = next;
    prefetch->working = true;
    return g_queue_pop_head(&prefetch->spare);
}

bool prefetch_get(Prefetch *prefetch, int64_t first, int64_t n, const Batch **out, GError **error)
{
    g_mutex_lock(&prefetch->mutex);
    if (prefetch->current)
        g_queue_push_tail(&prefetch->spare, prefetch->current);
    Batch *batch = take_ready(prefetch, first, n);
    bool ahead = batch != NULL;
    if (!ahead)
        batch = start_over(prefetch, first + n);
    prefetch->current = batch;
    prefetch->expected = first + n;
    g_cond_broadcast(&prefetch->changed);
    g_mutex_unlock(&prefetch->mutex);
    *out = batch;
    return ahead || loader_get(prefetch->loader, first, n, batch, error);
}
