#include "device/cpu/pool.h"

#include <glib.h>

enum { PARTS = 1000, THREADS = 3 };

/* How often each part was taken, and by which thread last. */
typedef struct Taken {
    int times[PARTS], thread[PARTS];
} Taken;

/* A team takes n parts; thread `held` takes none before the others have taken all. -1: none is held. */
static void take_all(Taken *taken, int threads, int64_t n, int held)
{
    Pool pool;
    _Atomic int64_t done = 0;
#pragma omp parallel num_threads(threads)
    {
        int own = omp_get_thread_num();
        pool_fill(&pool, n);
#pragma omp barrier
        while (own == held && atomic_load(&done) < n)
            ;
        for (int64_t i = pool_take(&pool); i >= 0; i = pool_take(&pool)) {
            taken->times[i]++;
            taken->thread[i] = own;
            atomic_fetch_add(&done, 1);
        }
    }
}

static void every_part_is_taken_once(void)
{
    static const int64_t counts[] = { 0, 1, 2, THREADS, 17, PARTS };
    for (size_t c = 0; c < G_N_ELEMENTS(counts); c++)
        for (int threads = 1; threads <= THREADS; threads++) {
            Taken taken = { 0 };
            take_all(&taken, threads, counts[c], -1);
            for (int64_t i = 0; i < PARTS; i++)
                g_assert_cmpint(taken.times[i], ==, i < counts[c]);
        }
}

static void a_thread_that_is_held_up_loses_its_parts_to_the_others(void)
{
    for (int held = 0; held < THREADS; held++) {
        Taken taken = { 0 };
        take_all(&taken, THREADS, PARTS, held);
        for (int i = 0; i < PARTS; i++) {
            g_assert_cmpint(taken.times[i], ==, 1);
            g_assert_cmpint(taken.thread[i], !=, held);
        }
    }
}

static void a_team_larger_than_the_queues_takes_every_part_once(void)
{
    Taken taken = { 0 };
    take_all(&taken, POOL_QUEUES + 7, PARTS, -1);
    for (int i = 0; i < PARTS; i++)
        g_assert_cmpint(taken.times[i], ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    omp_set_dynamic(false);
    g_test_add_func("/pool/once", every_part_is_taken_once);
    g_test_add_func("/pool/held", a_thread_that_is_held_up_loses_its_parts_to_the_others);
    g_test_add_func("/pool/large_team", a_team_larger_than_the_queues_takes_every_part_once);
    return g_test_run();
}
