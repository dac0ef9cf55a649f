/* labels: starts-first */
/* test_traced.cc: kernels with a mistake that changes no number on the tests' simulated GPU, or not always: each is
 * found and named by the traced kernels' checks (trace.h), and the same kernel without its mistake passes. */
#include "device/cuda/kernels/attention_mma.h"
#include "shim/trace.h"

#include <glib.h>

enum { THREADS = 64 };

struct Words {
    unsigned of[2 * THREADS];
};
struct Halves {
    Tile<16, 32> tile;
    uint16_t rest[64];
};

static unsigned numbers[4 * THREADS], ticket;
static volatile unsigned zero; /* by which a number that is read changes no other */
alignas(16) static uint16_t source[2 * THREADS * 8];

static unsigned me(void)
{
    return threadIdx.x;
}

static bool first(void)
{
    return me() == 0;
}

static Words *words(void)
{
    return (Words *)shim_shared(sizeof(Words));
}

/* The same, filled and seen by all threads. */
static Words *written_words(void)
{
    Words *shared = words();
    shared->of[me()] = 7;
    __syncthreads();
    return shared;
}

static Halves *halves(void)
{
    return (Halves *)shim_shared(sizeof(Halves));
}

/* ---- within a block ---- */

static void two_threads_write_the_same_number(bool bug)
{
    Words *shared = words();
    if (bug || first())
        shared->of[0] = 7;
}

static void a_barrier_is_missing_before_reading(bool bug)
{
    Words *shared = written_words();
    shared->of[me()] = 7;
    if (!bug)
        __syncthreads();
    numbers[me()] = shared->of[me() ^ 32] * zero;
}

static void a_barrier_is_missing_before_writing_again(bool bug)
{
    Words *shared = words();
    if (first())
        shared->of[0] = 7;
    __syncthreads();
    numbers[me()] = shared->of[0];
    if (!bug)
        __syncthreads();
    if (first())
        shared->of[0] = 7;
}

static void a_shuffle_is_taken_for_a_barrier(bool bug)
{
    Words *shared = written_words();
    shared->of[me()] = me();
    (void)__shfl_sync(ALL_LANES, 1, 0);
    if (!bug)
        __syncwarp();
    numbers[me()] = shared->of[me() ^ 1];
}

static void lanes_are_taken_to_run_in_step(bool bug)
{
    Words *shared = written_words();
    shared->of[me()] = 0;
    if (!bug)
        __syncwarp();
    numbers[me()] += shared->of[me() / 32 * 32 + 31 - me() % 32] * zero;
}

static void a_warp_syncs_where_the_block_should(bool bug)
{
    Words *shared = written_words();
    shared->of[me()] = 1;
    if (bug)
        __syncwarp();
    else
        __syncthreads();
    numbers[me()] = shared->of[(me() + 32) % THREADS] * zero;
}

static void shared_memory_is_read_that_nobody_wrote(bool bug)
{
    Words *shared = words();
    if (!bug)
        shared->of[me()] = 0;
    numbers[me()] = shared->of[me()] & 1;
}

static void more_shared_memory_than_asked_for(bool bug)
{
    unsigned *shared = (unsigned *)shim_shared(THREADS * sizeof(unsigned));
    shared[me() + (bug && me() == THREADS - 1)] = 1;
}

static void a_vector_that_is_not_aligned(bool bug)
{
    uint4 *at = (uint4 *)(void *)((char *)numbers + (bug ? 4 : 0));
    numbers[2 * THREADS + me()] = me() < 1 ? ((volatile uint4 *)at)->x : 0;
    if (first())
        *at = *(uint4 *)(void *)(numbers + 8);
}

static void an_atomic_sum_and_a_plain_one(bool bug)
{
    Words *shared = words();
    if (first())
        shared->of[0] = 0;
    __syncthreads();
    if (bug && me() == 40)
        shared->of[0] += 1;
    else
        atomicAdd(&shared->of[0], 1);
}

/* ---- asynchronous copies ---- */

static void copy_own(Halves *shared)
{
    copy_async(shared->tile.of[0][me() % 16], source + 8 * me(), true);
}

static void a_copy_is_read_before_it_is_waited_for(bool bug)
{
    Halves *shared = halves();
    if (me() < 16) {
        shared->tile.of[0][me()][0] = 0;
        copy_own(shared);
        if (!bug)
            copy_wait();
        numbers[me()] = shared->tile.of[0][me()][0];
        copy_wait();
    }
}

static void a_copy_is_read_by_another_thread_without_a_barrier(bool bug)
{
    Halves *shared = halves();
    if (me() < 16)
        copy_own(shared);
    copy_wait();
    if (!bug)
        __syncthreads();
    numbers[me()] = shared->tile.of[0][me() % 16][1] * zero;
}

static void a_copy_is_waited_for_after_the_barrier(bool bug)
{
    Halves *shared = halves();
    if (me() < 16)
        copy_own(shared);
    if (!bug)
        copy_wait();
    __syncthreads();
    if (me() >= 32)
        numbers[me()] = shared->tile.of[0][me() % 16][1] * zero;
    copy_wait();
}

static void a_copy_overwrites_what_others_still_read(bool bug)
{
    Halves *shared = halves();
    if (me() < 16)
        copy_own(shared);
    copy_wait();
    __syncthreads();
    numbers[me()] = shared->tile.of[0][me() % 16][0];
    if (!bug)
        __syncthreads();
    if (me() < 16)
        copy_own(shared);
    copy_wait();
}

static void the_source_of_a_copy_changes(bool bug)
{
    Halves *shared = halves();
    if (me() < 16) {
        copy_own(shared);
        if (!bug)
            copy_wait();
        source[8 * me()] = 3;
        copy_wait();
    }
}

static void zeros_are_written_over_a_copy(bool bug)
{
    Halves *shared = halves();
    if (me() < 16) {
        copy_own(shared);
        if (!bug)
            copy_wait();
        shared->tile.of[0][me()][7] = 0;
        copy_wait();
    }
}

static void ldmatrix_reads_a_tile_without_a_barrier(bool bug)
{
    Halves *shared = halves();
    uint32_t a[4];
    if (me() < 32)
        copy_async(shared->tile.at((int)me() % 16, (int)me() / 16 * 8), source + 8 * me(), true);
    copy_wait();
    if (!bug)
        __syncthreads();
    load_left(a, shared->tile, 0, 0);
    numbers[me()] = a[0];
}

/* ---- between blocks ---- */

/* Each block of two writes a number, the last one reads both: with these fences. */
static void hand_over(bool before, bool early, bool after)
{
    unsigned *last = &words()->of[0];
    if (early)
        __threadfence();
    numbers[blockIdx.x * THREADS + me()] = 5;
    if (before)
        __threadfence();
    __syncthreads();
    if (first())
        *last = atomicAdd(&ticket, 1);
    __syncthreads();
    if (*last != 1)
        return;
    if (after)
        __threadfence();
    numbers[2 * THREADS + me()] = numbers[me()] + numbers[THREADS + me()];
}

static void no_fence_before_the_ticket(bool bug)
{
    hand_over(!bug, false, true);
}

static void no_fence_after_the_ticket(bool bug)
{
    hand_over(true, false, !bug);
}

static void the_fence_before_the_number_it_is_for(bool bug)
{
    hand_over(!bug, true, true);
}

/* One thread's fence after a barrier is enough for all. */
static void the_ticket_before_the_barrier(bool bug)
{
    unsigned *last = &words()->of[0];
    numbers[blockIdx.x * THREADS + me()] = 5;
    if (!bug)
        __syncthreads();
    if (first()) {
        __threadfence();
        *last = atomicAdd(&ticket, 1);
    }
    __syncthreads();
    if (*last != 1)
        return;
    __threadfence();
    numbers[2 * THREADS + me()] = numbers[me()] + numbers[THREADS + me()];
}

static void two_blocks_write_the_same_number(bool bug)
{
    if (bug || blockIdx.x == 0)
        numbers[me()] = 9;
}

static void a_block_reads_what_another_writes(bool bug)
{
    unsigned at = blockIdx.x * THREADS + me(), more = 0;
    if (bug && me() == THREADS - 1)
        more = numbers[(at + 1) % (2 * THREADS)] * zero;
    numbers[at] = 4 + more;
}

static void a_flag_that_is_not_atomic(bool bug)
{
    if (!first())
        return;
    if (bug)
        numbers[0] = numbers[0] | 1;
    else
        atomicMax(numbers, 1);
}

/* ---- meetings ---- */

static void lanes_shuffle_at_two_places(bool bug)
{
    int x = 0;
    if (bug && me() % 2)
        x = __shfl_sync(ALL_LANES, 1, 0);
    else
        x = __shfl_sync(ALL_LANES, 1, 0);
    numbers[me()] = (unsigned)x;
}

static void threads_wait_at_two_barriers(bool bug)
{
    if (bug && me() < 32)
        __syncthreads();
    else
        __syncthreads();
}

static void a_shuffle_of_some_lanes(bool bug)
{
    numbers[me()] = __shfl_xor_sync(bug ? 0xFFFFu : ALL_LANES, 1u, 1);
}

/* ---- kernels that may begin before the one before them has ended ---- */

static void a_kernel_does_not_wait_for_earlier_ones(bool bug)
{
    if (!bug)
        begin_kernel();
}

static void some_threads_end_before_they_wait_for_earlier_kernels(bool bug)
{
    if (bug && me() >= 32)
        return;
    begin_kernel();
}

static void a_number_of_an_earlier_kernel_is_read_too_early(bool bug)
{
    unsigned number = bug ? numbers[me()] : 0;
    begin_kernel();
    numbers[me()] = number;
}

static void a_number_is_written_that_an_earlier_kernel_may_read(bool bug)
{
    if (bug)
        numbers[me()] = 5;
    begin_kernel();
    numbers[me()] = 5;
}

static void a_ticket_of_an_earlier_kernel_is_taken(bool bug)
{
    if (bug && first())
        atomicAdd(&ticket, 1);
    begin_kernel();
}

static void a_copy_begins_before_earlier_kernels_end(bool bug)
{
    Halves *shared = halves();
    if (!bug)
        begin_kernel();
    if (me() < 16)
        copy_own(shared);
    if (bug)
        begin_kernel();
    copy_wait();
}

#define RACE(who) "*a race: *of " who " *"
#define TOO_EARLY "*touches global memory *and has not waited for earlier kernels*"
static const struct Planted {
    const char *name;
    void (*kernel)(bool bug);
    unsigned blocks;
    const char *said;
    bool early; /* begin_kernel is called */
} planted[] = {
#define PLANT(name, blocks, ...)                                                                                       \
    {                                                                                                                  \
#name, name, blocks, __VA_ARGS__                                                                               \
    }
    PLANT(two_threads_write_the_same_number, 1, RACE("the same warp") "no __syncwarp*"),
    PLANT(a_barrier_is_missing_before_reading, 1, RACE("the same block") "no barrier*"),
    PLANT(a_barrier_is_missing_before_writing_again, 1, RACE("the same *") "read, no *"),
    PLANT(a_shuffle_is_taken_for_a_barrier, 1, RACE("the same warp") "no __syncwarp*"),
    PLANT(lanes_are_taken_to_run_in_step, 1, RACE("the same warp") "no __syncwarp*"),
    PLANT(a_warp_syncs_where_the_block_should, 1, RACE("the same block") "no barrier*"),
    PLANT(shared_memory_is_read_that_nobody_wrote, 1, "*reads shared memory*no thread has written*"),
    PLANT(more_shared_memory_than_asked_for, 1, "*beyond the 256 bytes*"),
    PLANT(a_vector_that_is_not_aligned, 1, "*no multiple of *"),
    PLANT(an_atomic_sum_and_a_plain_one, 1, RACE("the same *") "*"),
    PLANT(a_copy_is_read_before_it_is_waited_for, 1, RACE("the same warp") "nobody has waited for that copy*"),
    PLANT(a_copy_is_read_by_another_thread_without_a_barrier, 1, RACE("the same *") "no *between*"),
    PLANT(a_copy_is_waited_for_after_the_barrier, 1, RACE("the same *") "nobody has waited for that copy*"),
    PLANT(a_copy_overwrites_what_others_still_read, 1, RACE("the same *") "read, no *"),
    PLANT(the_source_of_a_copy_changes, 1, RACE("the same warp") "read, nobody has waited*"),
    PLANT(zeros_are_written_over_a_copy, 1, RACE("the same warp") "nobody has waited*"),
    PLANT(ldmatrix_reads_a_tile_without_a_barrier, 1, RACE("the same *") "wrote, no *"),
    PLANT(no_fence_before_the_ticket, 2, RACE("another block") "no fence*"),
    PLANT(no_fence_after_the_ticket, 2, RACE("another block") "no fence*"),
    PLANT(the_fence_before_the_number_it_is_for, 2, RACE("another block") "no fence*"),
    PLANT(the_ticket_before_the_barrier, 2, RACE("another block") "no fence*"),
    PLANT(two_blocks_write_the_same_number, 2, RACE("another block") "no fence*"),
    PLANT(a_block_reads_what_another_writes, 2, RACE("another block") "no fence*"),
    PLANT(a_flag_that_is_not_atomic, 2, RACE("another block") "no fence*"),
    PLANT(lanes_shuffle_at_two_places, 1, "*waits for its warp at *others wait at *"),
    PLANT(threads_wait_at_two_barriers, 1, "*waits for its block at *others wait at *"),
    PLANT(a_shuffle_of_some_lanes, 1, "*waits for the lanes 0000ffff of its warp*"),
    PLANT(a_kernel_does_not_wait_for_earlier_ones, 1, "*ends and has not waited for earlier kernels*", true),
    PLANT(some_threads_end_before_they_wait_for_earlier_kernels, 1, "*ends and has not waited*", true),
    PLANT(a_number_of_an_earlier_kernel_is_read_too_early, 1, TOO_EARLY, true),
    PLANT(a_number_is_written_that_an_earlier_kernel_may_read, 1, TOO_EARLY, true),
    PLANT(a_ticket_of_an_earlier_kernel_is_taken, 1, TOO_EARLY, true),
    PLANT(a_copy_begins_before_earlier_kernels_end, 1, TOO_EARLY, true),
#undef PLANT
};

/* As launch_bytes in gpu.h does, of a GPU on which kernels begin early. */
static void launch_early(unsigned blocks, void (*kernel)(bool), bool bug)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    config.attrs = &early;
    config.numAttrs = 1;
    g_assert_true(cudaSetDevice(0) == cudaSuccess);
    g_assert_true(cudaStreamCreateWithFlags(&config.stream, cudaStreamNonBlocking) == cudaSuccess);
    g_assert_true(cudaLaunchKernelEx(&config, kernel, bug) == cudaSuccess);
    g_assert_true(cudaStreamSynchronize(config.stream) == cudaSuccess);
    g_assert_true(cudaStreamDestroy(config.stream) == cudaSuccess);
}

static void run(const Planted *plant, bool bug, ShimOrder order)
{
    ticket = 0;
    shim_set_order(order);
    if (plant->early)
        launch_early(plant->blocks, plant->kernel, bug);
    else
        shim_launch({ plant->blocks, 1, 1 }, { THREADS, 1, 1 }, [=] { plant->kernel(bug); });
}

static void is_found(gconstpointer data)
{
    const Planted *plant = (const Planted *)data;
    if (g_test_subprocess())
        return run(plant, true, SHIM_FORWARD);
    for (int order = 0; order < SHIM_ORDERS; order++)
        run(plant, false, (ShimOrder)order);
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr(plant->said);
}

/* ---- conflicts of banks ---- */

/* Cycles for the accesses of one warp to words that are `distance` apart. */
static TraceBanks banks_at(unsigned distance)
{
    trace_count_banks();
    shim_launch({ 1, 1, 1 }, { 32, 1, 1 }, [=] {
        unsigned *shared = (unsigned *)shim_shared(32 * 33 * sizeof *shared);
        shared[me() * distance] = me();
    });
    return trace_banks(0);
}

static void conflicts_of_banks_are_counted(void)
{
    static const struct {
        unsigned distance;
        int64_t conflicts;
    } of[] = { { 1, 0 }, { 2, 1 }, { 32, 31 }, { 33, 0 } };
    for (const auto &row : of) {
        TraceBanks banks = banks_at(row.distance);
        g_assert_cmpint(banks.accesses, ==, 1);
        g_assert_cmpint(banks.conflicts, ==, row.conflicts);
        g_assert_cmpint(banks.wavefronts, ==, 1 + row.conflicts);
    }
}

/* Rows of a Tile have their chunks exchanged: ldmatrix has no conflict. As they are, it has. */
template <int DIM> static void rows_of_tiles_do_not_conflict(void)
{
    for (int exchanged = 0; exchanged < 2; exchanged++) {
        trace_count_banks();
        shim_launch({ 1, 1, 1 }, { 32, 1, 1 }, [=] {
            auto *tile = (Tile<16, DIM> *)shim_shared(sizeof(Tile<16, DIM>));
            uint32_t a[4];
            for (int i = (int)me(); i < 16 * DIM; i += 32)
                ((uint16_t *)tile)[i] = (uint16_t)i;
            __syncthreads();
            if (exchanged)
                load_left(a, *tile, 0, 0);
            else
                load_matrices<false>(a, &tile->of[0][me() % 16][me() / 16 * 8]);
            numbers[me()] = a[0] + a[1] + a[2] + a[3];
        });
        TraceBanks banks = trace_banks(0);
        g_assert_true((banks.conflicts == 0) == (exchanged == 1));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (const Planted &plant : planted) {
        g_autofree char *path = g_strdup_printf("/traced/%s", plant.name);
        g_test_add_data_func(path, &plant, is_found);
    }
    g_test_add_func("/traced/conflicts_of_banks_are_counted", conflicts_of_banks_are_counted);
    g_test_add_func("/traced/rows_of_128_bytes_do_not_conflict", rows_of_tiles_do_not_conflict<64>);
    g_test_add_func("/traced/rows_of_64_bytes_do_not_conflict", rows_of_tiles_do_not_conflict<32>);
    return g_test_run();
}
