#include "comm/queue.h"

#define JOB_NAME(kind, name) name,
const char *const comm_event_names[] = { JOB_KINDS(JOB_NAME) };

enum { JOBS = 256 }; /* more jobs than a step queues before it waits */

struct CommQueue {
    Comm *comm;
    GThread *thread;
    Monitor monitor;      /* protects the fields below */
    Job jobs[JOBS];       /* job number n is jobs[n % JOBS] */
    uint64_t added, done; /* number of jobs so far */
    int waiting;          /* threads in queue_wait */
    double waiting_since; /* clock_seconds() when the first of these began to wait */
    bool stop;
};

int64_t queue_sent_bytes(const Comm *comm, const Job *job)
{
    int64_t size = (int64_t)dtype_bytes(job->x.dtype), all = tensor_count(job->x) * size;
    int64_t own = (job->starts[comm->rank + 1] - job->starts[comm->rank]) * size;
    switch (job->kind) {
    case JOB_ALL_REDUCE:
        return all - own + own * (comm->size - 1);
    case JOB_REDUCE_SCATTER:
        return all - own;
    case JOB_ALL_GATHER:
        return own * (comm->size - 1);
    case JOB_ALL_TO_ALL:
        return (tensor_count(job->own) - (job->own_starts[comm->rank + 1] - job->own_starts[comm->rank])) * size;
    case JOB_SEND:
        return all;
    case JOB_RECEIVE:
        return 0;
    }
    return 0;
}

static bool do_job(Comm *comm, const Job *job)
{
    const CommBackend *backend = comm->backend;
    switch (job->kind) {
    case JOB_ALL_REDUCE: {
        int64_t first = job->starts[comm->rank], end = job->starts[comm->rank + 1];
        Tensor own = tensor_slice_rows(job->x, first, end - first);
        return backend->reduce_scatter(comm, own, job->x, job->starts) &&
               backend->all_gather(comm, job->x, own, job->starts);
    }
    case JOB_REDUCE_SCATTER:
        return backend->reduce_scatter(comm, job->own, job->x, job->starts);
    case JOB_ALL_GATHER:
        return backend->all_gather(comm, job->x, job->own, job->starts);
    case JOB_ALL_TO_ALL:
        return backend->all_to_all(comm, job->x, job->starts, job->own, job->own_starts);
    case JOB_SEND:
        return backend->send(comm, job->x, job->peer);
    case JOB_RECEIVE:
        return backend->receive(comm, job->x, job->peer);
    }
    return false;
}

static void run_job(Comm *comm, const Job *job)
{
    if (comm_failed(comm))
        return;
    double start = clock_seconds();
    bool done = do_job(comm, job);
    const CommEvent event = { job->kind, done ? queue_sent_bytes(comm, job) : 0, start, clock_seconds() - start };
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&comm->monitor);
    comm->counts.calls++;
    comm->counts.busy_s += event.seconds;
    comm->counts.sent_bytes += event.bytes;
    if (comm->events)
        g_array_append_val(comm->events, event);
}

static void *work_queue(void *argument)
{
    CommQueue *queue = argument;
    monitor_enter(&queue->monitor);
    for (;;) {
        while (!queue->stop && queue->done == queue->added)
            monitor_wait(&queue->monitor);
        if (queue->done == queue->added)
            break;
        Job *job = &queue->jobs[queue->done % JOBS];
        monitor_leave(&queue->monitor);
        run_job(queue->comm, job);
        g_free(job->starts);
        g_free(job->own_starts);
        monitor_enter(&queue->monitor);
        queue->done++;
        monitor_wake(&queue->monitor);
    }
    monitor_leave(&queue->monitor);
    return NULL;
}

CommQueue *queue_open(Comm *comm)
{
    CommQueue *queue = g_new0(CommQueue, 1);
    queue->comm = comm;
    monitor_init(&queue->monitor);
    queue->thread = g_thread_new("comm", work_queue, queue);
    return queue;
}

void queue_close(CommQueue *queue)
{
    monitor_enter(&queue->monitor);
    queue->stop = true;
    monitor_wake(&queue->monitor);
    monitor_leave(&queue->monitor);
    g_thread_join(queue->thread);
    monitor_clear(&queue->monitor);
    g_free(queue);
}

CommWork queue_add(CommQueue *queue, const Job *job)
{
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&queue->monitor);
    while (queue->added - queue->done == JOBS)
        monitor_wait(&queue->monitor);
    Job *slot = &queue->jobs[queue->added % JOBS];
    const size_t bytes = sizeof(int64_t) * (size_t)(queue->comm->size + 1);
    *slot = *job;
    slot->starts = g_memdup2(job->starts, bytes);
    slot->own_starts = g_memdup2(job->own_starts, bytes);
    CommWork number = ++queue->added;
    monitor_wake(&queue->monitor);
    return number;
}

void queue_wait(CommQueue *queue, CommWork work_number)
{
    double start = clock_seconds();
    monitor_enter(&queue->monitor);
    queue->waiting_since = queue->waiting++ ? queue->waiting_since : start;
    while (queue->done < work_number)
        monitor_wait(&queue->monitor);
    queue->waiting--;
    monitor_leave(&queue->monitor);
    Comm *comm = queue->comm;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&comm->monitor);
    comm->counts.waited_s += clock_seconds() - start;
}

CommCall queue_call(CommQueue *queue)
{
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&queue->monitor);
    if (queue->waiting == 0 || queue->done == queue->added)
        return (CommCall){ 0 };
    return (CommCall){ comm_event_names[queue->jobs[queue->done % JOBS].kind], queue->waiting_since };
}
