/* comm.c: the functions of comm.h: check arguments and queue collectives; groups, and agreement about an error. */
#include "base/check.h"
#include "comm/queue.h"

#include <string.h>

static Comm self = { .size = 1 };

Comm *comm_self(void)
{
    return &self;
}

Comm *comm_new(const CommBackend *backend, void *impl, int rank, int size, double timeout_s)
{
    CHECK(size > 1 && rank >= 0 && rank < size, "rank %d of %d", rank, size);
    Comm *comm = g_new0(Comm, 1);
    *comm = (Comm){ .backend = backend, .impl = impl, .rank = rank, .size = size, .timeout_s = timeout_s };
    monitor_init(&comm->monitor);
    comm->queue = queue_open(comm);
    return comm;
}

void comm_close(Comm *comm)
{
    if (comm == NULL || comm == &self)
        return;
    comm_leave_gpu(comm);
    queue_close(comm->queue);
    comm->backend->close(comm);
    monitor_clear(&comm->monitor);
    g_clear_pointer(&comm->events, g_array_unref);
    g_free(comm->failure);
    g_free(comm->numbers);
    g_free(comm);
}

int comm_rank(const Comm *comm)
{
    return comm->rank;
}

int comm_size(const Comm *comm)
{
    return comm->size;
}

void comm_leave_gpu(Comm *comm)
{
    if (comm->gpu)
        comm->gpu->close(comm);
}

const char *comm_name(const Comm *comm)
{
    if (comm->gpu)
        return comm->gpu->name;
    return comm->size > 1 ? comm->backend->name : "self";
}

bool comm_of_threads(const Comm *comm)
{
    return comm->size > 1 && strcmp(comm->backend->name, "thread") == 0;
}

CommCounts comm_counts(const Comm *comm)
{
    Comm *shared = (Comm *)(gintptr)comm;
    if (comm->size == 1)
        return (CommCounts){ 0 };
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&shared->monitor);
    return comm->counts;
}

void comm_record(Comm *comm)
{
    if (comm->size == 1)
        return;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&comm->monitor);
    comm->events = g_array_new(false, false, sizeof(CommEvent));
}

GArray *comm_recorded(Comm *comm)
{
    if (comm->size == 1)
        return g_array_new(false, false, sizeof(CommEvent));
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&comm->monitor);
    return g_steal_pointer(&comm->events);
}

CommCall comm_call(Comm *comm)
{
    const CommCall call = comm->size > 1 ? queue_call(comm->queue) : (CommCall){ 0 };
    return comm->gpu && call.name == NULL ? comm->gpu->call(comm) : call;
}

Comm *comm_split(Comm *comm, int color)
{
    if (comm->size == 1)
        return comm_self();
    g_autofree int *colors = g_new(int, comm->size), *members = g_new(int, comm->size);
    int n = 0, rank = 0;
    comm_share(comm, colors, &color, sizeof color);
    if (comm_failed(comm))
        return NULL;
    for (int r = 0; r < comm->size; r++) {
        if (colors[r] != color)
            continue;
        rank = r == comm->rank ? n : rank;
        members[n++] = r;
    }
    void *impl = comm->backend->split(comm, members, n, rank);
    if (n == 1)
        return comm_self();
    if (impl == NULL)
        return NULL;
    Comm *group = comm_new(comm->backend, impl, rank, n, comm->timeout_s);
    group->numbers = g_new(int, n);
    for (int r = 0; r < n; r++)
        group->numbers[r] = comm_number(comm, members[r]);
    return group;
}

int64_t comm_start(int64_t n, int size, int rank)
{
    int64_t units = (n + 63) / 64;
    return MIN(units * rank / size * 64, n);
}

int64_t comm_all_reduce_sends(int64_t n, int size, int rank)
{
    int64_t own = comm_start(n, size, rank + 1) - comm_start(n, size, rank);
    return n - own + own * (size - 1);
}

static void check_vector(const Tensor *x)
{
    CHECK(x->rank == 1 && x->ld == x->d[0], "a collective of a tensor of rank %d, %lld elements, ld %lld", x->rank,
          (long long)tensor_count(*x), (long long)x->ld);
}

/* Queues a job over the elements of x, in memory of the rank's device; starts NULL means equal parts. */
static CommWork add_collective(Comm *comm, Job job, const int64_t *starts)
{
    check_vector(&job.x);
    g_autofree int64_t *equal = NULL;
    int64_t n = job.x.d[0];
    if (starts == NULL) {
        equal = g_new(int64_t, comm->size + 1);
        for (int r = 0; r <= comm->size; r++)
            equal[r] = comm_start(n, comm->size, r);
    }
    job.starts = equal ? equal : (int64_t *)(gintptr)starts;
    CHECK(job.starts[0] == 0 && job.starts[comm->size] == n, "parts from %lld to %lld of %lld elements",
          (long long)job.starts[0], (long long)job.starts[comm->size], (long long)n);
    return comm->gpu ? comm->gpu->queue(comm, &job) : queue_add(comm->queue, &job);
}

CommWork comm_all_reduce(Comm *comm, Tensor x)
{
    return comm->size == 1 ? 0 : add_collective(comm, (Job){ .kind = JOB_ALL_REDUCE, .x = x }, NULL);
}

/* With one rank, its part is all of x. */
static void copy_own(Tensor to, Tensor from)
{
    if (to.p != from.p)
        memcpy(to.p, from.p, (size_t)tensor_count(from) * dtype_bytes(from.dtype));
}

CommWork comm_reduce_scatter(Comm *comm, Tensor out, Tensor x, const int64_t *starts)
{
    if (comm->size > 1)
        return add_collective(comm, (Job){ .kind = JOB_REDUCE_SCATTER, .x = x, .own = out }, starts);
    copy_own(out, x);
    return 0;
}

CommWork comm_all_gather(Comm *comm, Tensor x, Tensor own, const int64_t *starts)
{
    if (comm->size > 1)
        return add_collective(comm, (Job){ .kind = JOB_ALL_GATHER, .x = x, .own = own }, starts);
    copy_own(x, own);
    return 0;
}

CommWork comm_all_to_all(Comm *comm, Tensor x, const int64_t *starts, Tensor own, const int64_t *own_starts)
{
    if (comm->size > 1) {
        check_vector(&own);
        CHECK(own_starts[0] == 0 && own_starts[comm->size] == own.d[0], "parts from %lld to %lld of %lld elements",
              (long long)own_starts[0], (long long)own_starts[comm->size], (long long)own.d[0]);
        return add_collective(
            comm, (Job){ .kind = JOB_ALL_TO_ALL, .x = x, .own = own, .own_starts = (int64_t *)(gintptr)own_starts },
            starts);
    }
    copy_own(x, own);
    return 0;
}

/* An all-gather in which only `root` has a part. */
CommWork comm_broadcast(Comm *comm, Tensor x, int root)
{
    g_autofree int64_t *starts = g_new0(int64_t, comm->size + 1);
    for (int r = root + 1; r <= comm->size; r++)
        starts[r] = x.d[0];
    return comm_all_gather(comm, x, tensor_slice_rows(x, 0, comm->rank == root ? x.d[0] : 0), starts);
}

CommWork comm_send(Comm *comm, Tensor x, int to)
{
    CHECK(to >= 0 && to < comm->size && to != comm->rank, "rank %d of %d sends to %d", comm->rank, comm->size, to);
    return add_collective(comm, (Job){ .kind = JOB_SEND, .x = x, .peer = to }, NULL);
}

CommWork comm_receive(Comm *comm, Tensor x, int from)
{
    CHECK(from >= 0 && from < comm->size && from != comm->rank, "rank %d of %d receives from %d", comm->rank,
          comm->size, from);
    return add_collective(comm, (Job){ .kind = JOB_RECEIVE, .x = x, .peer = from }, NULL);
}

void comm_wait(Comm *comm, CommWork work)
{
    if (comm->size == 1 || work == 0)
        return;
    if (comm->gpu)
        comm->gpu->wait(comm, work);
    else
        queue_wait(comm->queue, work);
}

void comm_share(Comm *comm, void *all, const void *own, size_t bytes)
{
    char *mine = (char *)all + (size_t)comm->rank * bytes;
    memmove(mine, own, bytes);
    if (comm->size == 1 || bytes == 0)
        return;
    g_autofree int64_t *starts = g_new(int64_t, comm->size + 1);
    for (int r = 0; r <= comm->size; r++)
        starts[r] = r * (int64_t)bytes;
    Tensor x = tensor_vector(all, DT_E4M3, (int64_t)bytes * comm->size);
    const Job job = {
        .kind = JOB_ALL_GATHER, .x = x, .own = tensor_vector(mine, DT_E4M3, (int64_t)bytes), .starts = starts
    };
    queue_wait(comm->queue, queue_add(comm->queue, &job));
}

void comm_sum(Comm *comm, double *values, int n)
{
    if (comm->size == 1)
        return;
    g_autofree double *all = g_new0(double, (gsize)comm->size *(gsize)n);
    comm_share(comm, all, values, sizeof *values * (size_t)n);
    memcpy(values, all, sizeof *values * (size_t)n);
    for (int r = 1; r < comm->size; r++)
        for (int i = 0; i < n; i++)
            values[i] += all[r * n + i];
}

int64_t comm_max(Comm *comm, int64_t value)
{
    if (comm->size == 1)
        return value;
    g_autofree int64_t *all = g_new0(int64_t, comm->size);
    comm_share(comm, all, &value, sizeof value);
    for (int r = 0; r < comm->size; r++)
        value = MAX(value, all[r]);
    return value;
}

char *comm_gather(Comm *comm, const void *own, size_t bytes, size_t *each)
{
    *each = (size_t)comm_max(comm, (int64_t)bytes);
    char *all = g_malloc0(MAX(*each, 1) * (size_t)comm->size);
    g_autofree char *padded = g_malloc0(MAX(*each, 1));
    if (bytes > 0)
        memcpy(padded, own, MIN(bytes, *each));
    comm_share(comm, all, padded, *each);
    return all;
}

void comm_barrier(Comm *comm)
{
    comm_max(comm, 0);
}

void comm_abort(Comm *comm, const char *why)
{
    if (comm->size == 1)
        return;
    comm->backend->abort(comm, why);
    if (comm->gpu)
        comm->gpu->abort(comm);
}

/* ---- one error for all ranks ---- */

/* A GError as plain bytes, which ranks can send to each other. */
typedef struct Report {
    int64_t failed, code;
    char domain[64], message[960];
} Report;

static Report report_of(const GError *error)
{
    Report report = { .failed = error != NULL, .code = error ? error->code : 0 };
    if (error) {
        g_strlcpy(report.domain, g_quark_to_string(error->domain), sizeof report.domain);
        g_strlcpy(report.message, error->message, sizeof report.message);
    }
    return report;
}

bool comm_agree(Comm *comm, bool done, GError **error)
{
    GError *own = NULL;
    int size = comm_size(comm), first = 0;
    if (size == 1)
        return done;
    if (!done && error)
        own = g_steal_pointer(error);
    const Report mine = done ? (Report){ 0 } : report_of(own);
    g_autofree Report *all = g_new0(Report, size);
    comm_share(comm, all, &mine, sizeof mine);
    while (first < size && !all[first].failed && !(first == comm_rank(comm) && !done))
        first++;
    if (first == comm_rank(comm) && own)
        return fail_with(error, own);
    g_clear_error(&own);
    if (first == size)
        return comm_check(comm, error);
    all[first].domain[sizeof all[first].domain - 1] = all[first].message[sizeof all[first].message - 1] = '\0';
    GQuark domain = g_quark_from_string(all[first].domain);
    bool machine = domain == LOAM_ERROR && all[first].code == LOAM_ERROR_MACHINE;
    bool told = first == 0 || !machine || g_str_has_prefix(all[first].message, "rank ");
    g_autofree char *rank = told ? g_strdup("") : g_strdup_printf("rank %d: ", first);
    g_set_error(error, domain, (int)all[first].code, "%s%s", rank, all[first].message);
    return false;
}
