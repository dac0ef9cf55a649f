/* thread.c: ranks that are threads of one process. They read each other's tensors in place. */
#include "base/check.h"
#include "comm/backend.h"

#include <string.h>

/* A mailbox: a tensor that one rank sends to another. */
typedef struct Mailbox {
    const void *offered; /* NULL means that the box is empty */
    size_t bytes;
} Mailbox;

/* The shared state of the ranks of one group. */
typedef struct ThreadGroup {
    int size;
    Monitor monitor;      /* protects all fields below */
    int members;          /* ranks that have not closed the group */
    int arrived;          /* ranks that have arrived at the current meeting (barrier) */
    uint64_t meetings;    /* number of meetings so far */
    bool *here;           /* (size) whether rank r has arrived at the current meeting */
    const void **offered; /* (2 × size) address that rank r offers at a meeting, for even and odd meetings */
    int reading;          /* ranks that may be reading addresses offered at the last meeting */
    Mailbox *boxes;       /* (size × size) boxes[from × size + to] */
    char *failure;        /* NULL means none */
    int lost;             /* the rank that did not answer; -1 means none */
} ThreadGroup;

static ThreadGroup *group_new(int size)
{
    ThreadGroup *group = g_new0(ThreadGroup, 1);
    group->size = group->members = size;
    group->here = g_new0(bool, size);
    group->offered = g_new0(const void *, 2 * size);
    group->boxes = g_new0(Mailbox, size * size);
    monitor_init(&group->monitor);
    return group;
}

static void group_free(ThreadGroup *group)
{
    monitor_clear(&group->monitor);
    g_free(group->here);
    g_free(group->offered);
    g_free(group->boxes);
    g_free(group->failure);
    g_free(group);
}

static void thread_close(Comm *comm)
{
    ThreadGroup *group = comm->impl;
    monitor_enter(&group->monitor);
    int left = --group->members;
    monitor_leave(&group->monitor);
    if (left == 0)
        group_free(group);
}

/* The caller holds the monitor. */
static void fail_group(ThreadGroup *group, int lost, const char *why)
{
    if (group->failure == NULL) {
        group->failure = g_strdup(why);
        group->lost = lost;
    }
    monitor_wake(&group->monitor);
}

/* "rank 2 did not come" for the first rank that is missing. */
static void fail_late(const Comm *comm, ThreadGroup *group)
{
    int missing = 0;
    while (missing < group->size - 1 && group->here[missing])
        missing++;
    g_autofree char *why = g_strdup_printf("rank %d did not join the others within %g s (parallel.timeout)",
                                           comm_number(comm, missing), comm->timeout_s);
    fail_group(group, missing, why);
}

static double deadline(const Comm *comm)
{
    return clock_seconds() + (comm->timeout_s > 0 ? comm->timeout_s : 1e9);
}

/* Takes part in the next meeting. The caller holds the monitor. */
static bool arrive(Comm *comm, const void *offered)
{
    ThreadGroup *group = comm->impl;
    double end = deadline(comm);
    uint64_t number = group->meetings;
    group->offered[number % 2 * (uint64_t)group->size + (uint64_t)comm->rank] = offered;
    group->here[comm->rank] = true;
    if (++group->arrived == group->size) {
        group->arrived = 0;
        memset(group->here, 0, sizeof *group->here * (size_t)group->size);
        group->meetings++;
        monitor_wake(&group->monitor);
    }
    while (!group->failure && group->meetings == number)
        if (!monitor_wait_until(&group->monitor, end) && group->meetings == number && !group->failure)
            fail_late(comm, group);
    return group->meetings != number || comm_fail(comm, group->lost, "%s", group->failure);
}

/* Returns when all ranks have called it. The result is the address that each rank offers, which the caller may read
 * until it calls leave; NULL means that the group has failed. */
static const void *const *meet(Comm *comm, const void *offered)
{
    ThreadGroup *group = comm->impl;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&group->monitor);
    const void **all = group->offered + group->meetings % 2 * (uint64_t)group->size;
    bool met = arrive(comm, offered);
    group->reading += met;
    return met ? all : NULL;
}

/* Returns when no rank reads the addresses of the last meeting any more, even if the group fails meanwhile. */
static bool leave(Comm *comm)
{
    ThreadGroup *group = comm->impl;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&group->monitor);
    group->reading--;
    monitor_wake(&group->monitor);
    bool left = arrive(comm, NULL);
    while (!left && group->reading > 0)
        monitor_wait(&group->monitor);
    return left;
}

static bool thread_reduce_scatter(Comm *comm, Tensor out, Tensor x, const int64_t *starts)
{
    DType dtype = x.dtype;
    int64_t first = starts[comm->rank], n = starts[comm->rank + 1] - first;
    const void *const *offered = meet(comm, x.p);
    if (!offered)
        return false;
    g_autofree const void **from = g_new(const void *, comm->size);
    for (int r = 0; r < comm->size; r++)
        from[r] = (const char *)offered[r] + (size_t)first * dtype_bytes(dtype);
    sum_in_order(out.p, from, comm->size, n, dtype);
    return leave(comm);
}

static bool thread_all_gather(Comm *comm, Tensor x, Tensor own, const int64_t *starts)
{
    size_t size = dtype_bytes(x.dtype);
    const void *const *offered = meet(comm, own.p);
    for (int r = 0; offered && r < comm->size; r++) {
        char *to = (char *)x.p + (size_t)starts[r] * size;
        if (to != offered[r] && starts[r + 1] > starts[r])
            memcpy(to, offered[r], (size_t)(starts[r + 1] - starts[r]) * size);
    }
    return offered && leave(comm);
}

/* The parts that a rank offers in an all-to-all. */
typedef struct Parts {
    const char *bytes;
    const int64_t *starts;
} Parts;

static bool thread_all_to_all(Comm *comm, Tensor x, const int64_t *starts, Tensor own, const int64_t *own_starts)
{
    const Parts mine = { own.p, own_starts };
    size_t size = dtype_bytes(x.dtype);
    const void *const *offered = meet(comm, &mine);
    for (int r = 0; offered && r < comm->size; r++) {
        const Parts *from = offered[r];
        int64_t first = from->starts[comm->rank], n = from->starts[comm->rank + 1] - first;
        CHECK(n == starts[r + 1] - starts[r], "rank %d sends %lld elements, rank %d expects %lld", r, (long long)n,
              comm->rank, (long long)(starts[r + 1] - starts[r]));
        if (n > 0)
            memcpy((char *)x.p + (size_t)starts[r] * size, from->bytes + (size_t)first * size, (size_t)n * size);
    }
    return offered && leave(comm);
}

/* Waits until the mailbox is full, or with `empty` until it is empty. The caller holds the monitor. */
static bool wait_box(Comm *comm, const Mailbox *box, bool empty, int peer)
{
    ThreadGroup *group = comm->impl;
    double end = deadline(comm);
    while (!group->failure && (box->offered == NULL) != empty)
        if (!monitor_wait_until(&group->monitor, end) && (box->offered == NULL) != empty) {
            g_autofree char *why =
                g_strdup_printf("rank %d: no message with rank %d within %g s (parallel.timeout)",
                                comm_number(comm, comm->rank), comm_number(comm, peer), comm->timeout_s);
            fail_group(group, peer, why);
        }
    return (box->offered == NULL) == empty || comm_fail(comm, group->lost, "%s", group->failure);
}

static bool thread_send(Comm *comm, Tensor x, int to)
{
    ThreadGroup *group = comm->impl;
    Mailbox *box = &group->boxes[comm->rank * group->size + to];
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&group->monitor);
    *box = (Mailbox){ x.p, (size_t)tensor_count(x) * dtype_bytes(x.dtype) };
    monitor_wake(&group->monitor);
    return wait_box(comm, box, true, to);
}

static bool thread_receive(Comm *comm, Tensor x, int from)
{
    ThreadGroup *group = comm->impl;
    Mailbox *box = &group->boxes[from * group->size + comm->rank];
    size_t bytes = (size_t)tensor_count(x) * dtype_bytes(x.dtype);
    monitor_enter(&group->monitor);
    bool there = wait_box(comm, box, false, from);
    Mailbox message = *box;
    monitor_leave(&group->monitor);
    if (!there)
        return false;
    CHECK(message.bytes == bytes, "rank %d sent %zu bytes, rank %d expects %zu", from, message.bytes, comm->rank,
          bytes);
    memcpy(x.p, message.offered, bytes);
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&group->monitor);
    *box = (Mailbox){ 0 };
    monitor_wake(&group->monitor);
    return true;
}

/* The first member of each new group creates it and offers its address to the others. */
static void *thread_split(Comm *comm, const int *members, int n, int rank)
{
    ThreadGroup *made = n > 1 && rank == 0 ? group_new(n) : NULL;
    const void *const *offered = meet(comm, made);
    void *mine = offered ? (void *)(gintptr)offered[members[0]] : NULL;
    return offered && leave(comm) ? mine : NULL;
}

static void thread_abort(Comm *comm, const char *why)
{
    ThreadGroup *group = comm->impl;
    monitor_enter(&group->monitor);
    fail_group(group, -1, why);
    monitor_leave(&group->monitor);
    comm_fail(comm, -1, "%s", why);
}

static bool thread_gave_up(Comm *comm)
{
    ThreadGroup *group = comm->impl;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&group->monitor);
    if (group->failure)
        comm_fail(comm, group->lost, "%s", group->failure);
    return group->failure != NULL;
}

static const CommBackend thread_backend = { .name = "thread",
                                            .close = thread_close,
                                            .split = thread_split,
                                            .reduce_scatter = thread_reduce_scatter,
                                            .all_gather = thread_all_gather,
                                            .all_to_all = thread_all_to_all,
                                            .send = thread_send,
                                            .receive = thread_receive,
                                            .abort = thread_abort,
                                            .gave_up = thread_gave_up };

typedef struct RankThread {
    ThreadGroup *group;
    int rank;
    double timeout_s;
    CommRankFn fn;
    void *context;
} RankThread;

static void *run_rank_thread(void *argument)
{
    const RankThread *rank = argument;
    Comm *world = comm_new(&thread_backend, rank->group, rank->rank, rank->group->size, rank->timeout_s);
    rank->fn(world, rank->context);
    comm_close(world);
    return NULL;
}

void comm_run_threads(int size, double timeout_s, CommRankFn fn, void *context)
{
    if (size == 1) {
        fn(comm_self(), context);
        return;
    }
    ThreadGroup *group = group_new(size);
    g_autofree RankThread *ranks = g_new0(RankThread, size);
    g_autofree GThread **threads = g_new0(GThread *, size);
    for (int r = 0; r < size; r++) {
        ranks[r] = (RankThread){ group, r, timeout_s, fn, context };
        g_autofree char *name = g_strdup_printf("rank %d", r);
        threads[r] = g_thread_new(name, run_rank_thread, &ranks[r]);
    }
    for (int r = 0; r < size; r++)
        g_thread_join(threads[r]);
}
