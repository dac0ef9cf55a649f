#include "data/prefetch.h"

#include "base/check.h"

/* The packed sequences of a batch: [first, first + n) of a share (PrefetchShare) that ends at share_end. */
typedef struct Stretch {
    int64_t first, n, share_end;
} Stretch;

struct Prefetch {
    Loader *loader;
    int64_t n_packed;
    PrefetchShare share;
    guint depth;
    GThread *thread;

    GMutex mutex; /* guards the fields below */
    GCond changed;
    GQueue spare; /* of Batch *: empty ones */
    GQueue ready; /* of Batch *: the expected batch and those after it, in order */
    int64_t n_lent;
    Stretch expected;    /* of the next call, if it is the expected one; first -1 means that none is expected */
    Stretch next;        /* of the next batch to make */
    unsigned generation; /* grows at every call that was not expected */
    bool working, stop;  /* not working: before the first call, and after an error, which the caller will meet itself */
};

/* Returns an unused batch, or makes one. The caller holds the mutex. */
static Batch *take_spare(Prefetch *prefetch)
{
    Batch *batch = g_queue_pop_head(&prefetch->spare);
    return batch ? batch : loader_batch(prefetch->loader, (int32_t)prefetch->n_packed);
}

/* Those of this rank that follow. */
static Stretch stretch_after(const Prefetch *prefetch, Stretch before)
{
    int64_t first = before.first + before.n, end = before.share_end;
    if (first == end) {
        first += prefetch->share.period - prefetch->share.n;
        end += prefetch->share.period;
    }
    return (Stretch){ first, MIN(prefetch->n_packed, end - first), end };
}

static void *work_ahead(void *argument)
{
    Prefetch *prefetch = argument;
    g_mutex_lock(&prefetch->mutex);
    for (;;) {
        while (!prefetch->stop && (!prefetch->working || prefetch->ready.length >= prefetch->depth))
            g_cond_wait(&prefetch->changed, &prefetch->mutex);
        if (prefetch->stop)
            break;
        Batch *batch = take_spare(prefetch);
        unsigned generation = prefetch->generation;
        Stretch made = prefetch->next;
        g_mutex_unlock(&prefetch->mutex);
        bool good = loader_get(prefetch->loader, made.first, made.n, batch, NULL);
        g_mutex_lock(&prefetch->mutex);
        bool wanted = generation == prefetch->generation;
        if (wanted && good)
            prefetch->next = stretch_after(prefetch, made);
        else if (wanted)
            prefetch->working = false;
        g_queue_push_tail(wanted && good ? &prefetch->ready : &prefetch->spare, batch);
        g_cond_broadcast(&prefetch->changed);
    }
    g_mutex_unlock(&prefetch->mutex);
    return NULL;
}

Prefetch *prefetch_open(Loader *loader, int64_t n_packed, int depth, PrefetchShare share)
{
    Prefetch *prefetch = g_new0(Prefetch, 1);
    prefetch->loader = loader;
    prefetch->n_packed = n_packed;
    prefetch->depth = (guint)MAX(depth, 1);
    prefetch->share = share;
    prefetch->expected.first = -1;
    g_queue_init(&prefetch->spare);
    g_queue_init(&prefetch->ready);
    g_mutex_init(&prefetch->mutex);
    g_cond_init(&prefetch->changed);
    prefetch->thread = g_thread_new("prefetch", work_ahead, prefetch);
    return prefetch;
}

void prefetch_set_share(Prefetch *prefetch, PrefetchShare share)
{
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&prefetch->mutex);
    prefetch->share = share;
    prefetch->expected.first = -1;
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
    CHECK(prefetch->n_lent == 0, "%" G_GINT64_FORMAT " batches were not given back", prefetch->n_lent);
    g_queue_clear_full(&prefetch->spare, (GDestroyNotify)batch_free);
    g_queue_clear_full(&prefetch->ready, (GDestroyNotify)batch_free);
    g_mutex_clear(&prefetch->mutex);
    g_cond_clear(&prefetch->changed);
    g_free(prefetch);
}

/* The batch that was made ahead, or NULL if others were expected or making it failed. */
static Batch *take_ready(Prefetch *prefetch, int64_t first, int64_t n)
{
    if (first != prefetch->expected.first || n != prefetch->expected.n)
        return NULL;
    while (prefetch->working && prefetch->ready.length == 0)
        g_cond_wait(&prefetch->changed, &prefetch->mutex);
    return g_queue_pop_head(&prefetch->ready);
}

/* Lets the thread start again elsewhere. */
static void start_over(Prefetch *prefetch, Stretch next)
{
    Batch *batch;
    while ((batch = g_queue_pop_head(&prefetch->ready)))
        g_queue_push_tail(&prefetch->spare, batch);
    prefetch->generation++;
    prefetch->next = next;
    prefetch->working = true;
}

const Batch *prefetch_borrow(Prefetch *prefetch, int64_t first, int64_t n, GError **error)
{
    g_mutex_lock(&prefetch->mutex);
    Batch *batch = take_ready(prefetch, first, n);
    bool ahead = batch != NULL;
    int64_t share_end = prefetch->share.n > 0 ? first + prefetch->share.n : G_MAXINT64; /* a share begins at `first` */
    Stretch lent = ahead ? prefetch->expected : (Stretch){ first, n, share_end };
    prefetch->expected = stretch_after(prefetch, lent);
    if (!ahead) {
        start_over(prefetch, prefetch->expected);
        batch = take_spare(prefetch);
    }
    prefetch->n_lent++;
    g_cond_broadcast(&prefetch->changed);
    g_mutex_unlock(&prefetch->mutex);
    if (ahead || loader_get(prefetch->loader, first, n, batch, error))
        return batch;
    prefetch_give_back(prefetch, batch);
    return NULL;
}

void prefetch_give_back(Prefetch *prefetch, const Batch *batch)
{
    if (!batch)
        return;
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&prefetch->mutex);
    prefetch->n_lent--;
    g_queue_push_tail(&prefetch->spare, (Batch *)batch);
}
