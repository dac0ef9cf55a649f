/* test_shim.cc: the host's stand-in for a GPU finds what it is there to find: a barrier that is missing, threads that
 * wait for ever, shared memory that is read before it is written. */
#include "shim/shim.h"

#include <glib.h>

enum { THREADS = 96 };

struct Numbers {
    int of[THREADS];
};

/* out[t] = in[the thread opposite], by way of shared memory. */
static void turn_around(int *out, const int *in, bool barrier)
{
    Numbers *shared = (Numbers *)shim_shared(sizeof *shared);
    shared->of[threadIdx.x] = in[threadIdx.x];
    if (barrier)
        __syncthreads();
    out[threadIdx.x] = shared->of[THREADS - 1 - threadIdx.x];
}

/* How many of the orders give what is right. */
static int orders_that_turn(bool barrier)
{
    int in[THREADS], right = 0;
    for (int i = 0; i < THREADS; i++)
        in[i] = i * i;
    for (int order = 0; order < SHIM_ORDERS; order++) {
        int out[THREADS], wrong = 0;
        shim_set_order((ShimOrder)order);
        shim_launch({ 2, 1, 1 }, { THREADS, 1, 1 }, [&] { turn_around(out, in, barrier); });
        for (int i = 0; i < THREADS; i++)
            wrong += out[i] != in[THREADS - 1 - i];
        right += wrong == 0;
    }
    return right;
}

static void a_missing_barrier_changes_the_answer(void)
{
    g_assert_cmpint(orders_that_turn(true), ==, SHIM_ORDERS);
    g_assert_cmpint(orders_that_turn(false), ==, 0);
}

/* A sum over a warp by way of shared memory, whose steps need __syncwarp between reading and writing. */
static void sum_by_halves(int *out, bool barrier)
{
    Numbers *shared = (Numbers *)shim_shared(sizeof *shared);
    int lane = (int)threadIdx.x;
    shared->of[lane] = lane + 1;
    for (int distance = 16; distance > 0; distance /= 2) {
        if (barrier)
            __syncwarp();
        int more = lane < distance ? shared->of[lane + distance] : 0;
        if (barrier)
            __syncwarp();
        shared->of[lane] += more;
    }
    if (lane == 0)
        *out = shared->of[0];
}

static int orders_that_sum(bool barrier)
{
    int right = 0;
    for (int order = 0; order < SHIM_ORDERS; order++) {
        int sum = 0;
        shim_set_order((ShimOrder)order);
        shim_launch({ 1, 1, 1 }, { 32, 1, 1 }, [&] { sum_by_halves(&sum, barrier); });
        right += sum == 33 * 16;
    }
    return right;
}

static void a_missing_barrier_of_a_warp_changes_the_answer(void)
{
    g_assert_cmpint(orders_that_sum(true), ==, SHIM_ORDERS);
    g_assert_cmpint(orders_that_sum(false), <, SHIM_ORDERS);
}

/* Round by round each thread writes a number and reads that of the thread in the warp beside it. */
static void look_aside(int *wrong, bool barrier)
{
    Numbers *shared = (Numbers *)shim_shared(sizeof *shared);
    int own = (int)threadIdx.x, other = (own + 32) % THREADS;
    for (int round = 0; round < 3; round++) {
        if (barrier)
            __syncthreads(); /* all have read the round before */
        shared->of[own] = own + round;
        __syncthreads();
        *wrong += shared->of[other] != other + round;
    }
}

static void a_missing_barrier_after_reading_changes_the_answer(void)
{
    for (int order = 0; order < SHIM_ORDERS; order++) {
        int wrong[2] = { 0, 0 };
        shim_set_order((ShimOrder)order);
        for (int barrier = 0; barrier < 2; barrier++)
            shim_launch({ 1, 1, 1 }, { THREADS, 1, 1 }, [&] { look_aside(&wrong[barrier], barrier); });
        g_assert_cmpint(wrong[0], >, 0);
        g_assert_cmpint(wrong[1], ==, 0);
    }
}

static void lanes_exchange_values(void)
{
    for (int order = 0; order < SHIM_ORDERS; order++) {
        unsigned wrong = 0;
        shim_set_order((ShimOrder)order);
        shim_launch({ 1, 1, 1 }, { 32, 3, 1 }, [&] {
            unsigned lane = threadIdx.x, own = lane * 7 + threadIdx.y;
            for (int mask = 1; mask < 32; mask *= 2)
                wrong += __shfl_xor_sync(~0u, own, mask) != (lane ^ (unsigned)mask) * 7 + threadIdx.y;
            wrong += __shfl_sync(~0u, (double)own, 5) != 35.0 + threadIdx.y;
            wrong += __shfl_up_sync(~0u, own, 1) != (lane ? own - 7 : own);
            wrong += __ballot_sync(~0u, lane % 4 == 1) != 0x22222222u;
            wrong += __match_any_sync(~0u, lane / 8) != 0xFFu << lane / 8 * 8;
        });
        g_assert_cmpuint(wrong, ==, 0);
    }
}

static void shared_memory_holds_no_number_at_first(void)
{
    int zeros = 0;
    shim_launch({ 2, 1, 1 }, { 32, 1, 1 }, [&] {
        float *shared = (float *)shim_shared(32 * sizeof *shared);
        zeros += !isnan(shared[threadIdx.x]);
        shared[threadIdx.x] = 0;
    });
    g_assert_cmpint(zeros, ==, 0);
}

static void wait_for_those_who_left(void)
{
    shim_launch({ 1, 1, 1 }, { 64, 1, 1 }, [] {
        if (threadIdx.x < 32)
            __syncthreads();
    });
}

static void threads_that_wait_for_ever_are_named(void)
{
    if (g_test_subprocess())
        return wait_for_those_who_left();
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*32 of 64 threads wait for others, 32 of them at a barrier*");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shim/a_missing_barrier_changes_the_answer", a_missing_barrier_changes_the_answer);
    g_test_add_func("/shim/a_missing_barrier_of_a_warp_changes_the_answer",
                    a_missing_barrier_of_a_warp_changes_the_answer);
    g_test_add_func("/shim/a_missing_barrier_after_reading_changes_the_answer",
                    a_missing_barrier_after_reading_changes_the_answer);
    g_test_add_func("/shim/lanes_exchange_values", lanes_exchange_values);
    g_test_add_func("/shim/shared_memory_holds_no_number_at_first", shared_memory_holds_no_number_at_first);
    g_test_add_func("/shim/threads_that_wait_for_ever_are_named", threads_that_wait_for_ever_are_named);
    return g_test_run();
}
