/* Ranks with GPUs, whose tensors go through NCCL: the stand-in of tests/shim/cuda/nccl.cc. Every collective is
 * compared, bit for bit, with that of ranks whose tensors are in memory of the host. The environment names the
 * stand-ins (cmake/tests.cmake). */
#include "comm/nccl/group.h"
#include "comm/nccl/nccl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Precision bf16 = {
    .compute = DT_BF16, .residual = DT_BF16, .grad = DT_BF16, .master = DT_F32, .state = DT_F32
};

/* A rank's GPU, its group, and the same ranks on the host. */
typedef struct Rank {
    Comm *comm, *host;
    Device *dev;
    void *memory; /* of the GPU */
} Rank;

static void open_rank(Rank *rank, Comm *comm)
{
    char why[CUDA_WHY];
    g_autoptr(GError) error = NULL;
    rank->comm = comm;
    rank->host = comm_split(comm, 0);
    rank->dev = device_open_cuda(comm_rank(comm), bf16, why);
    if (!rank->dev)
        g_error("%s", why);
    rank->memory = device_alloc(rank->dev, 1 << 20);
    comm_use_gpu(comm, rank->dev, true, &error);
    g_assert_no_error(error);
}

static void close_rank(const Rank *rank)
{
    comm_leave_gpu(rank->comm);
    comm_close(rank->host);
    device_free(rank->dev, rank->memory);
    device_close(rank->dev);
}

static const DType dtypes[] = { DT_F32, DT_BF16, DT_F64 };

/* A vector on the host and its copy on the GPU, with the numbers of this rank. */
typedef struct Pair {
    Tensor host, gpu;
} Pair;

static Pair pair_new(const Rank *rank, DType dtype, int64_t n)
{
    g_autofree double *values = g_new(double, n);
    const int r = comm_rank(rank->comm);
    const Pair pair = { tensor_vector(g_malloc0((gsize)n * sizeof(double)), dtype, n),
                        tensor_vector(rank->memory, dtype, n) };
    for (int64_t i = 0; i < n; i++)
        values[i] = (sin((double)i * 0.7 + r) + 0.001) * pow(10, (double)((r * 7 + i) % 5 - 2));
    tensor_write_host(pair.host, values, DT_F64);
    tensor_upload(rank->dev, pair.gpu, pair.host.p);
    return pair;
}

static void check_equal(const Rank *rank, Tensor host, Tensor gpu)
{
    const size_t bytes = (size_t)tensor_count(host) * dtype_bytes(host.dtype);
    g_autofree char *read = g_malloc0(bytes + 1);
    tensor_download(rank->dev, read, gpu);
    device_synchronise(rank->dev);
    g_assert_true(memcmp(read, host.p, bytes) == 0);
}

/* Equal parts; or uneven ones, of which one is empty. */
static void part_ends(int size, bool equal, int64_t n, int64_t *starts)
{
    for (int r = 0; r <= size; r++)
        starts[r] = r == size ? n : equal ? n / size * r : r == 1 ? 0 : r * n / (size + 2);
}

static void check_all_reduce(const Rank *rank, DType dtype, int64_t n)
{
    const Pair x = pair_new(rank, dtype, n);
    comm_wait(rank->host, comm_all_reduce(rank->host, x.host));
    comm_wait(rank->comm, comm_all_reduce(rank->comm, x.gpu));
    check_equal(rank, x.host, x.gpu);
    g_free(x.host.p);
}

static void check_parts(const Rank *rank, DType dtype, int64_t n, bool equal, bool in_place)
{
    int64_t starts[8];
    const int me = comm_rank(rank->comm);
    const size_t size = dtype_bytes(dtype);
    part_ends(comm_size(rank->comm), equal, n, starts);
    const int64_t own = starts[me + 1] - starts[me];
    const Pair x = pair_new(rank, dtype, n);
    Tensor out = tensor_slice_rows(x.host, starts[me], own), part = tensor_slice_rows(x.gpu, starts[me], own);
    Tensor all = x.gpu;
    if (!in_place) {
        part.p = (char *)rank->memory + (size_t)n * size;
        all.p = (char *)rank->memory + (size_t)(2 * n) * size;
    }
    comm_wait(rank->host, comm_reduce_scatter(rank->host, out, x.host, starts));
    comm_wait(rank->comm, comm_reduce_scatter(rank->comm, part, x.gpu, starts));
    check_equal(rank, out, part);
    if (in_place)
        check_equal(rank, x.host, x.gpu);
    comm_wait(rank->host, comm_all_gather(rank->host, x.host, out, starts));
    comm_wait(rank->comm, comm_all_gather(rank->comm, all, part, starts));
    check_equal(rank, x.host, all);
    g_free(x.host.p);
}

/* An all-to-all in which rank r has (r + to) % 3 × 50 elements for rank `to`, so that some parts are empty. */
static void check_all_to_all(const Rank *rank, DType dtype)
{
    const int size = comm_size(rank->comm), me = comm_rank(rank->comm);
    int64_t starts[8] = { 0 };
    for (int r = 0; r < size; r++)
        starts[r + 1] = starts[r] + (r + me) % 3 * 50;
    const Pair x = pair_new(rank, dtype, 2 * starts[size] + 1);
    const int64_t n = starts[size];
    const Tensor host = tensor_slice_rows(x.host, n, n), gpu = tensor_slice_rows(x.gpu, n, n);
    comm_wait(rank->host, comm_all_to_all(rank->host, host, starts, tensor_slice_rows(x.host, 0, n), starts));
    comm_wait(rank->comm, comm_all_to_all(rank->comm, gpu, starts, tensor_slice_rows(x.gpu, 0, n), starts));
    check_equal(rank, x.host, x.gpu);
    g_free(x.host.p);
}

static void check_sums(Comm *comm, void *context)
{
    Rank rank;
    (void)context;
    open_rank(&rank, comm);
    const int64_t before = comm_counts(comm).sent_bytes - comm_counts(rank.host).sent_bytes;
    for (size_t d = 0; d < G_N_ELEMENTS(dtypes); d++) {
        for (int64_t n = 1; n < 2000; n = 5 * n + 7)
            check_all_reduce(&rank, dtypes[d], n);
        if (dtypes[d] != DT_F64)
            check_all_to_all(&rank, dtypes[d]);
        for (int kind = 0; kind < 4; kind++)
            check_parts(&rank, dtypes[d], 500 / comm_size(comm) * comm_size(comm), kind & 1, kind & 2);
    }
    g_assert_cmpstr(comm_name(comm), ==, "nccl");
    g_assert_cmpint(comm_counts(comm).sent_bytes - comm_counts(rank.host).sent_bytes, ==, before);
    close_rank(&rank);
}

/* More elements than are summed at a time. */
static void check_large(Comm *comm, void *context)
{
    Rank rank;
    (void)context;
    open_rank(&rank, comm);
    ((NcclGroup *)comm->on_gpu)->piece = 1000;
    check_parts(&rank, DT_BF16, 9001, false, false);
    check_parts(&rank, DT_F64, 9000, true, true);
    check_all_reduce(&rank, DT_F32, 7001);
    close_rank(&rank);
}

static void check_messages(Comm *comm, void *context)
{
    Rank rank;
    const int size = comm_size(comm), me = comm_rank(comm);
    (void)context;
    open_rank(&rank, comm);
    const Pair x = pair_new(&rank, DT_F32, 777);
    Tensor host = x.host, gpu = x.gpu;
    comm_wait(rank.host, comm_broadcast(rank.host, host, size - 1));
    comm_wait(comm, comm_broadcast(comm, gpu, size - 1));
    check_equal(&rank, host, gpu);
    for (int i = 0; i < 3; i++) { /* a ring: each rank but the first receives before it sends */
        Comm *groups[] = { rank.host, comm };
        const Tensor tensors[] = { host, gpu };
        for (int g = 0; g < 2; g++) {
            if (me > 0)
                comm_wait(groups[g], comm_receive(groups[g], tensors[g], me - 1));
            comm_wait(groups[g], comm_send(groups[g], tensors[g], (me + 1) % size));
            if (me == 0)
                comm_wait(groups[g], comm_receive(groups[g], tensors[g], size - 1));
        }
        check_equal(&rank, host, gpu);
    }
    g_free(x.host.p);
    close_rank(&rank);
}

/* Numbers of the host still go over the host's group, and parts of the group have communicators of their own. */
static void check_groups(Comm *comm, void *context)
{
    Rank rank;
    g_autoptr(GError) error = NULL;
    (void)context;
    open_rank(&rank, comm);
    double sum = comm_rank(comm);
    comm_sum(comm, &sum, 1);
    g_assert_cmpfloat(sum, ==, comm_size(comm) * (comm_size(comm) - 1) / 2.0);
    Comm *pair = comm_split(comm, comm_rank(comm) / 2);
    g_assert_true(comm_use_gpu(pair, rank.dev, true, &error));
    const Tensor x = tensor_vector(rank.memory, DT_F32, 100);
    op_fill(rank.dev, x, 1);
    comm_wait(pair, comm_all_reduce(pair, x));
    float values[100];
    tensor_read(rank.dev, values, DT_F32, x);
    g_assert_cmpfloat((double)values[99], ==, comm_size(pair));
    comm_close(pair);
    close_rank(&rank);
}

/* The group fails with this message while the GPUs of ranks that did not cause it wait for a collective. */
static void check_failure(const Rank *rank, bool waits, const char *message)
{
    Comm *comm = rank->comm;
    g_autoptr(GError) error = NULL;
    const Tensor x = tensor_vector(rank->memory, DT_F32, 100);
    op_fill(rank->dev, x, 1);
    if (waits)
        comm_wait(comm, comm_all_reduce(comm, x));
    device_synchronise(rank->dev);
    while (comm_check(comm, &error))
        g_usleep(1000);
    g_assert_true(g_str_has_prefix(error->message, message));
    g_assert_cmpuint(comm_all_reduce(comm, x), ==, 0);
}

static void check_abort(Comm *comm, void *context)
{
    Rank rank;
    (void)context;
    open_rank(&rank, comm);
    if (comm_rank(comm) == 1)
        comm_abort(comm, "rank 1: disk full");
    check_failure(&rank, comm_rank(comm) != 1, "rank 1: disk full");
    close_rank(&rank);
}

/* NCCL reports an error of rank 1. */
static void check_error(Comm *comm, void *context)
{
    Rank rank;
    (void)context;
    open_rank(&rank, comm);
    check_failure(&rank, true, "rank 1: NCCL: remote process exited or there was a network error");
    close_rank(&rank);
}

static int told; /* number of ranks that know of the failure */

/* Rank 1 does not call a collective. */
static void check_absent(Comm *comm, void *context)
{
    Rank rank;
    (void)context;
    open_rank(&rank, comm);
    ((NcclGroup *)comm->on_gpu)->present->timeout_s = 60;
    comm_barrier(comm);
    comm->timeout_s = 10; /* ranks 0 and 2 come apart by less than that, on a busy machine too */
    if (comm_rank(comm) != 1) {
        check_failure(&rank, true, "rank 1 did not answer rank ");
        g_assert_cmpint(comm_lost(comm), ==, 1);
        g_atomic_int_inc(&told);
    } else {
        while (g_atomic_int_get(&told) < 2)
            g_usleep(1000);
        comm_abort(comm, "the end of the test");
    }
    close_rank(&rank);
}

static void run(int size, CommRankFn check)
{
    comm_run_threads(size, 60, check, NULL);
}

static const CommRankFn checks[] = { check_sums, check_large, check_messages, check_groups };

static void collectives__are_those_of_the_host_bit_for_bit(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(checks); i++)
        for (int size = 2; size <= 3; size++)
            run(size, checks[i]);
}

static void abort__ends_what_the_gpus_of_others_wait_for(void)
{
    run(3, check_abort);
}

static void a_rank_that_does_not_come__is_named(void)
{
    run(3, check_absent);
}

static void an_error_of_nccl__ends_all_ranks(void)
{
    g_setenv("LOAM_FAKE_NCCL_BREAKS", "1", true);
    run(3, check_error);
    g_unsetenv("LOAM_FAKE_NCCL_BREAKS");
}

/* ---- the stand-in itself: mistakes that it must find ---- */

/* Two communicators of one group, both used by this thread. */
typedef struct Two {
    const NcclLibrary *nccl;
    Device *devs[2];
    NcclComm *comms[2];
    char *memory[2];
} Two;

static void settle(const Two *two, int r)
{
    int state = NCCL_IN_PROGRESS;
    while (state == NCCL_IN_PROGRESS)
        two->nccl->get_async_error(two->comms[r], &state);
}

static void two_open(Two *two)
{
    char why[CUDA_WHY];
    NcclId id;
    NcclConfig config = NCCL_CONFIG;
    two->nccl = nccl_library(NULL);
    two->nccl->get_unique_id(&id);
    for (int r = 0; r < 2; r++) {
        two->devs[r] = device_open_cuda(r, bf16, why);
        two->memory[r] = device_alloc(two->devs[r], 1024);
        g_assert_cmpint(two->nccl->init_rank(&two->comms[r], 2, id, r, &config), ==, NCCL_IN_PROGRESS);
    }
    settle(two, 0);
    settle(two, 1);
}

static void gather(const Two *two, int r, size_t bytes)
{
    two->nccl->all_gather(two->memory[r], two->memory[r] + 512, bytes, NCCL_U8, two->comms[r],
                          cuda_stream(two->devs[r]));
}

static void finish(const Two *two)
{
    device_synchronise(two->devs[0]);
    device_synchronise(two->devs[1]);
}

static void two_lengths(Two *two)
{
    gather(two, 0, 64);
    gather(two, 1, 128);
    finish(two);
}

static void two_collectives(Two *two)
{
    gather(two, 0, 64);
    two->nccl->broadcast(two->memory[1], two->memory[1], 64, NCCL_U8, 0, two->comms[1], cuda_stream(two->devs[1]));
    finish(two);
}

static void message_lengths(Two *two)
{
    two->nccl->send(two->memory[0], 64, NCCL_U8, 1, two->comms[0], cuda_stream(two->devs[0]));
    two->nccl->receive(two->memory[1], 32, NCCL_U8, 0, two->comms[1], cuda_stream(two->devs[1]));
    finish(two);
}

static void use_after_abort(Two *two)
{
    two->nccl->abort(two->comms[0]);
    gather(two, 0, 64);
}

static void other_stream(Two *two)
{
    two->nccl->all_gather(two->memory[0], two->memory[0] + 512, 64, NCCL_U8, two->comms[0], cuda_stream(two->devs[1]));
}

static void beyond_memory(Two *two)
{
    gather(two, 0, 1 << 20);
}

static void two_at_once(Two *two)
{
    gather(two, 0, 64);
    gather(two, 0, 64);
}

static void groups_mixed(Two *two)
{
    two->nccl->group_start();
    gather(two, 0, 64);
    gather(two, 1, 64);
}

static const struct {
    const char *name, *found;
    void (*mistake)(Two *two);
} mistakes[] = {
    { "other_lengths", "*calls an all-gather with*", two_lengths },
    { "other_collectives", "*calls a broadcast with*", two_collectives },
    { "other_message_lengths", "*rank 0 sends 64*rank 1 receives 32*", message_lengths },
    { "use_after_abort", "*communicator that was aborted*", use_after_abort },
    { "stream_of_another_gpu", "*stream of another GPU*", other_stream },
    { "memory_that_is_not_there", "*ncclAllGather*", beyond_memory },
    { "calls_while_in_progress", "*still in progress*", two_at_once },
    { "groups_of_several_communicators", "*a group of several communicators*", groups_mixed },
};

static void a_mistake__is_found(const void *data)
{
    const size_t i = GPOINTER_TO_SIZE(data);
    if (g_test_subprocess()) {
        Two two;
        two_open(&two);
        mistakes[i].mistake(&two);
        exit(0);
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr(mistakes[i].found);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(name) g_test_add_func("/nccl/" #name, name)
    TEST(collectives__are_those_of_the_host_bit_for_bit);
    TEST(abort__ends_what_the_gpus_of_others_wait_for);
    TEST(a_rank_that_does_not_come__is_named);
    TEST(an_error_of_nccl__ends_all_ranks);
    for (size_t i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autofree char *path = g_strdup_printf("/stand_in/%s", mistakes[i].name);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), a_mistake__is_found);
    }
    return g_test_run();
}
