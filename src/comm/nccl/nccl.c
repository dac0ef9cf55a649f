/* nccl.c: collectives of tensors in memory of GPUs. Each rank queues them on a queue of its GPU beside that of its
 * operations, and returns at once; comm_wait makes the operations' queue wait for them. NCCL only copies: sums are
 * those of comm.h, in the order of the ranks, since NCCL's own depend on how it connects the GPUs, and round bf16 at
 * every addition. Between two ranks this sends what a ring sends. */
#include "comm/nccl/nccl.h"

#include "base/check.h"
#include "comm/nccl/group.h"

enum {
    PIECES = 4 << 20,      /* f32 numbers of all ranks that are received at a time for a sum */
    LEAST_PIECE = 1 << 16, /* of which at least this many per rank */
    SUMS_SHARE = 256       /* but not more than fill this part of the GPU's free memory */
};

static const NcclLibrary *nccl; /* opened by the first comm_use_gpu */

/* ---- calls of NCCL ---- */

/* Waits until a communicator that has answered NCCL_IN_PROGRESS has done what it was called for: NCCL then prepares
 * connections; no work of the GPU is waited for. */
static bool settle_connections(Comm *comm, int result)
{
    NcclGroup *group = comm->on_gpu;
    const double end = clock_seconds() + (comm->timeout_s > 0 ? comm->timeout_s : 1e9);
    while (result == NCCL_IN_PROGRESS) {
        if (comm_failed(comm) || comm->backend->gave_up(comm))
            return false;
        if (clock_seconds() > end)
            return nccl_group_late(group);
        monitor_enter(&group->monitor);
        const int asked = group->nccl ? nccl->get_async_error(group->nccl, &result) : NCCL_SUCCESS;
        result = group->nccl == NULL ? NCCL_SUCCESS : asked == NCCL_SUCCESS ? result : asked;
        monitor_leave(&group->monitor);
        if (result == NCCL_IN_PROGRESS)
            g_usleep(100);
    }
    return result == NCCL_SUCCESS || nccl_group_fail(group, result);
}

/* The arguments of a collective. */
typedef struct Parts {
    Tensor x, own;             /* x, and out of comm_reduce_scatter or own of comm_all_gather and comm_all_to_all */
    const int64_t *starts;     /* (size + 1) */
    const int64_t *own_starts; /* (size + 1), of an all-to-all */
    int64_t at, n;             /* reduce-scatter: elements [at, at + n) of each part are exchanged */
    int peer;                  /* of send and receive */
} Parts;

typedef int (*NcclCall)(NcclGroup *group, const Parts *parts);

/* Makes one or more calls as a group of NCCL, unless the communicator was aborted. */
static bool call(Comm *comm, NcclCall function, const Parts *parts)
{
    NcclGroup *group = comm->on_gpu;
    int result = NCCL_SUCCESS;
    if (comm_failed(comm))
        return false;
    monitor_enter(&group->monitor);
    if (group->nccl) {
        nccl->group_start();
        result = function(group, parts);
        const int ended = nccl->group_end();
        result = result == NCCL_SUCCESS ? ended : result;
    }
    monitor_leave(&group->monitor);
    return settle_connections(comm, result);
}

static char *element_address(Tensor x, int64_t i)
{
    return (char *)x.p + (size_t)i * dtype_bytes(x.dtype);
}

static size_t nccl_bytes(Tensor x, int64_t n)
{
    return (size_t)n * dtype_bytes(x.dtype);
}

static bool are_equal(const int64_t *starts, int size)
{
    const int64_t n = starts[1];
    bool equal = n > 0;
    for (int r = 1; r < size; r++)
        equal &= starts[r + 1] - starts[r] == n;
    return equal;
}

/* Uneven parts are one broadcast each. */
static int all_gather(NcclGroup *group, const Parts *parts)
{
    const Comm *comm = group->comm;
    const int64_t *starts = parts->starts;
    void *stream = cuda_stream(group->lane);
    int result = NCCL_SUCCESS;
    if (are_equal(starts, comm->size))
        return nccl->all_gather(parts->own.p, parts->x.p, nccl_bytes(parts->x, starts[1]), NCCL_U8, group->nccl,
                                stream);
    for (int r = 0; r < comm->size && result == NCCL_SUCCESS; r++) {
        const size_t bytes = nccl_bytes(parts->x, starts[r + 1] - starts[r]);
        char *to = element_address(parts->x, starts[r]);
        if (bytes > 0)
            result = nccl->broadcast(r == comm->rank ? parts->own.p : to, to, bytes, NCCL_U8, r, group->nccl, stream);
    }
    return result;
}

static int send(NcclGroup *group, const Parts *parts)
{
    const Tensor x = parts->x;
    return nccl->send(x.p, nccl_bytes(x, x.d[0]), NCCL_U8, parts->peer, group->nccl, cuda_stream(group->lane));
}

static int receive(NcclGroup *group, const Parts *parts)
{
    const Tensor x = parts->x;
    return nccl->receive(x.p, nccl_bytes(x, x.d[0]), NCCL_U8, parts->peer, group->nccl, cuda_stream(group->lane));
}

/* Sends rank r n_from bytes and receives n_to bytes from it, within a group of NCCL. */
static int trade(const NcclGroup *group, int r, void *to, size_t n_to, const void *from, size_t n_from)
{
    void *stream = cuda_stream(group->lane);
    int result = NCCL_SUCCESS;
    if (n_from > 0)
        result = nccl->send(from, n_from, NCCL_U8, r, group->nccl, stream);
    if (n_to > 0 && result == NCCL_SUCCESS)
        result = nccl->receive(to, n_to, NCCL_U8, r, group->nccl, stream);
    return result;
}

/* The part of this rank itself stays where it is: copy_own_part copies it. */
static int all_to_all(NcclGroup *group, const Parts *parts)
{
    const int64_t *starts = parts->starts, *own_starts = parts->own_starts;
    int result = NCCL_SUCCESS;
    for (int r = 0; r < group->comm->size && result == NCCL_SUCCESS; r++)
        if (r != group->comm->rank)
            result = trade(group, r, element_address(parts->x, starts[r]),
                           nccl_bytes(parts->x, starts[r + 1] - starts[r]), element_address(parts->own, own_starts[r]),
                           nccl_bytes(parts->own, own_starts[r + 1] - own_starts[r]));
    return result;
}

static void copy_own_part(const NcclGroup *group, const Parts *parts)
{
    const int own = group->comm->rank;
    const int64_t to = parts->starts[own], from = parts->own_starts[own], n = parts->own_starts[own + 1] - from;
    if (n > 0)
        op_copy(group->lane, tensor_slice_rows(parts->x, to, n), tensor_slice_rows(parts->own, from, n));
}

/* ---- sums in the order of the ranks ---- */

/* Number of elements of [at, at + n) that a part of `length` elements has. */
static int64_t within(const Parts *parts, int64_t length)
{
    return CLAMP(length - parts->at, 0, parts->n);
}

static int64_t part_length(const Parts *parts, int rank)
{
    return parts->starts[rank + 1] - parts->starts[rank];
}

/* The elements that rank r has sent for the part of this rank; of this rank itself, those in x. */
static void *addend(const NcclGroup *group, const Parts *parts, int r)
{
    const int own = group->comm->rank;
    return r == own ? element_address(parts->x, parts->starts[own] + parts->at)
                    : (char *)group->received + (size_t)r * nccl_bytes(parts->x, parts->n);
}

/* Each rank sends every other rank elements of that rank's part, and receives those of its own. */
static int exchange_parts(NcclGroup *group, const Parts *parts)
{
    const Comm *comm = group->comm;
    const size_t own = nccl_bytes(parts->x, within(parts, part_length(parts, comm->rank)));
    int result = NCCL_SUCCESS;
    for (int r = 0; r < comm->size && result == NCCL_SUCCESS; r++)
        if (r != comm->rank)
            result =
                trade(group, r, addend(group, parts, r), own, element_address(parts->x, parts->starts[r] + parts->at),
                      nccl_bytes(parts->x, within(parts, part_length(parts, r))));
    return result;
}

/* out = the sum of the addends, f64. */
static void sum_f64(const NcclGroup *group, const Parts *parts, Tensor out)
{
    const Tensor sum = tensor_vector(group->partial, DT_F64, out.d[0]);
    op_fill(group->lane, sum, 0);
    for (int r = 0; r < group->comm->size; r++)
        op_total_add(group->lane, sum, tensor_vector(addend(group, parts, r), DT_F64, out.d[0]));
    op_copy(group->lane, out, sum);
}

/* out = the sum of the addends: f32 until the last one, whose addition rounds to the dtype of out. */
static void sum_f32(const NcclGroup *group, const Parts *parts, Tensor out)
{
    const int64_t n = out.d[0];
    const DType dtype = out.dtype;
    const int last = group->comm->size - 1;
    Tensor sum = tensor_matrix(addend(group, parts, 0), dtype, 1, n);
    for (int r = 1; r <= last; r++) {
        const Tensor to = r == last ? tensor_matrix(out.p, dtype, 1, n) : tensor_matrix(group->partial, DT_F32, 1, n);
        op_add(group->lane, to, sum, tensor_matrix(addend(group, parts, r), dtype, 1, n));
        sum = to;
    }
}

/* The longest part. */
static int64_t longest_of(const Parts *parts, int size)
{
    int64_t longest = 0;
    for (int r = 0; r < size; r++)
        longest = MAX(longest, part_length(parts, r));
    return longest;
}

static bool reduce_scatter(Comm *comm, const Job *job, Tensor out)
{
    NcclGroup *group = comm->on_gpu;
    Parts parts = { .x = job->x, .starts = job->starts };
    const int64_t longest = longest_of(&parts, comm->size);
    bool done = true;
    CHECK(group->received != NULL, "comm_use_gpu was told that this group has no sums");
    parts.n = MIN(longest, out.dtype == DT_F64 ? group->piece / 2 : group->piece);
    for (; done && parts.at < longest; parts.at += parts.n) {
        const int64_t n = within(&parts, part_length(&parts, comm->rank));
        done = call(comm, exchange_parts, &parts);
        if (!done || n == 0)
            continue;
        const Tensor piece = tensor_slice_rows(out, parts.at, n);
        if (out.dtype == DT_F64)
            sum_f64(group, &parts, piece);
        else
            sum_f32(group, &parts, piece);
    }
    return done;
}

/* ---- the table ---- */

/* As with ranks on the host, an all-reduce is a reduce-scatter and an all-gather. */
static bool do_job(Comm *comm, const Job *job)
{
    static const NcclCall calls[] = { [JOB_ALL_REDUCE] = all_gather,
                                      [JOB_ALL_GATHER] = all_gather,
                                      [JOB_ALL_TO_ALL] = all_to_all,
                                      [JOB_SEND] = send,
                                      [JOB_RECEIVE] = receive };
    const int64_t first = job->starts[comm->rank];
    Parts parts = {
        .x = job->x, .own = job->own, .starts = job->starts, .own_starts = job->own_starts, .peer = job->peer
    };
    if (job->kind == JOB_REDUCE_SCATTER)
        return reduce_scatter(comm, job, job->own);
    if (job->kind == JOB_ALL_TO_ALL)
        copy_own_part(comm->on_gpu, &parts);
    if (job->kind == JOB_ALL_REDUCE)
        parts.own = tensor_slice_rows(job->x, first, part_length(&parts, comm->rank));
    if (job->kind == JOB_ALL_REDUCE && !reduce_scatter(comm, job, parts.own))
        return false;
    return call(comm, calls[job->kind], &parts);
}

static CommWork nccl_queue(Comm *comm, const Job *job)
{
    NcclGroup *group = comm->on_gpu;
    if (comm_failed(comm) || (job->x.d[0] == 0 && job->own.d[0] == 0))
        return 0;
    cuda_follow(group->lane, group->dev, device_record_event(group->dev));
    if (!do_job(comm, job))
        return 0;
    const DeviceEvent event = device_record_event(group->lane);
    nccl_group_watch(group, event, job->kind);
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&comm->monitor);
    comm->counts.calls++;
    comm->counts.sent_bytes += queue_sent_bytes(comm, job);
    return event + 1;
}

static void nccl_wait(Comm *comm, CommWork work)
{
    const NcclGroup *group = comm->on_gpu;
    cuda_follow(group->dev, group->lane, work - 1);
}

static void nccl_abort(Comm *comm)
{
    nccl_group_abort(comm->on_gpu);
}

/* ncclCommFinalize waits for all ranks, so a failed group is aborted instead. Collectives that nobody waited for end
 * first, while the group's thread still watches them. */
static void nccl_close(Comm *comm)
{
    NcclGroup *group = comm->on_gpu;
    if (group->lane && !comm_failed(comm))
        device_synchronise(group->lane);
    nccl_group_stop(group);
    if (group->nccl && !comm_failed(comm) && settle_connections(comm, nccl->finalize(group->nccl)))
        nccl->destroy(group->nccl);
    else
        nccl_group_abort(group);
    device_close(group->lane); /* which waits for its work */
    device_free(group->dev, group->received);
    device_free(group->dev, group->partial);
    nccl_group_free(group);
    comm->on_gpu = NULL;
    comm->gpu = NULL;
}

static const CommGpu nccl_gpu = { .name = "nccl",
                                  .queue = nccl_queue,
                                  .wait = nccl_wait,
                                  .call = nccl_group_call,
                                  .abort = nccl_abort,
                                  .close = nccl_close };

static bool open_lane(NcclGroup *group, GError **error)
{
    char why[CUDA_WHY];
    if (!(nccl = nccl_library(error)))
        return fail_context(error,
                            "several ranks on GPUs need NVIDIA's library NCCL, libnccl.so.2 in LD_LIBRARY_PATH or "
                            "LOAM_NCCL=FILE");
    group->library = nccl;
    if (!(group->lane = cuda_open_beside(group->dev, why)))
        return fail_machine(error, "%s", why);
    return true;
}

/* Memory for the sums of the group, computed piece by piece: all ranks exchange pieces, so that they fit every GPU. */
static bool take_sums(NcclGroup *group, GError **error)
{
    const int size = group->comm->size;
    const size_t most = device_memory_available(group->dev) / SUMS_SHARE / ((size_t)size * sizeof(float));
    group->piece = -comm_max(group->comm, -CLAMP((int64_t)most, 2, MAX(PIECES / size, LEAST_PIECE)));
    const size_t bytes = (size_t)group->piece * sizeof(float);
    group->received = device_alloc(group->dev, (size_t)size * bytes);
    group->partial = device_alloc(group->dev, bytes);
    return (group->received && group->partial) ||
           fail_machine(error, "rank %d: %s has no memory for sums over ranks",
                        comm_number(group->comm, group->comm->rank), group->dev->gpu.name);
}

/* Rank 0's id makes the communicator of all. */
static bool open_communicator(Comm *comm, GError **error)
{
    NcclGroup *group = comm->on_gpu;
    NcclConfig config = NCCL_CONFIG;
    NcclId own = { "" };
    g_autofree NcclId *ids = g_new0(NcclId, comm->size);
    int result = comm->rank == 0 ? nccl->get_unique_id(&own) : NCCL_SUCCESS;
    comm_share(comm, ids, &own, sizeof own);
    if (result == NCCL_SUCCESS && !comm_failed(comm))
        result = nccl->init_rank(&group->nccl, comm->size, ids[0], comm->rank, &config);
    return settle_connections(comm, result) || comm_check(comm, error);
}

bool comm_use_gpu(Comm *comm, Device *dev, bool sums, GError **error)
{
    if (comm->size == 1)
        return true;
    CHECK(comm->gpu == NULL, "a group has two GPUs");
    NcclGroup *group = comm->on_gpu = nccl_group_new(comm, dev);
    if (comm_agree(comm, open_lane(group, error), error) && comm_agree(comm, !sums || take_sums(group, error), error) &&
        comm_agree(comm, open_communicator(comm, error), error) && nccl_group_start(group, error)) {
        comm->gpu = &nccl_gpu;
        return true;
    }
    comm_abort(comm, "NCCL does not start");
    nccl_close(comm);
    return false;
}
