#include "base/machine.h"

#include <glib.h>
#include <stdbool.h>

/* A machine of two nodes with four physical cores each, whose second hyperthreads are CPUs 8 to 15; nodes hold even and
 * odd cores. hwloc reads its machine from this variable. */
static void pretend_machine(void)
{
    g_setenv("HWLOC_SYNTHETIC", "node:2 core:4 pu:2(indexes=0,8,2,10,4,12,6,14,1,9,3,11,5,13,7,15)", true);
}

static void real_machine(void)
{
    g_unsetenv("HWLOC_SYNTHETIC");
}

static cpu_set_t set_of(int first, int n)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = first; cpu < first + n; cpu++)
        CPU_SET((size_t)cpu, &set);
    return set;
}

/* The CPUs of a set, "0 8 2 10" in rising order; g_free. */
static char *names(const cpu_set_t *set)
{
    GString *text = g_string_new(NULL);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, set))
            g_string_append_printf(text, "%s%d", text->len ? " " : "", cpu);
    return g_string_free(text, false);
}

static void a_share_is_whole_cores_of_one_node(void)
{
    static const struct {
        int first, n, rank, ranks;
        const char *share;
    } cases[] = {
        { 0, 16, 0, 2, "0 2 4 6 8 10 12 14" },
        { 0, 16, 1, 2, "1 3 5 7 9 11 13 15" },
        { 0, 16, 0, 4, "0 2 8 10" },
        { 0, 16, 3, 4, "5 7 13 15" },
        { 0, 16, 4, 8, "1 9" },
        { 0, 16, 15, 16, "15" },
        { 4, 4, 0, 2, "4 6" },
        { 4, 4, 1, 2, "5 7" },
        { 0, 3, 1, 2, "1 2" },
        { 0, 3, 2, 4, "" },
    };
    pretend_machine();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        cpu_set_t allowed = set_of(cases[i].first, cases[i].n), own;
        int n = cores_share(&allowed, cases[i].rank, cases[i].ranks, &own);
        g_autofree char *share = names(&own);
        g_assert_cmpint(n, ==, CPU_COUNT(&own));
        g_assert_cmpstr(share, ==, cases[i].share);
    }
    real_machine();
}

static void *take_last(void *taken)
{
    *(int *)taken = cores_take(1, 2);
    cpu_set_t *own = g_new(cpu_set_t, 1);
    g_assert_cmpint(sched_getaffinity(0, sizeof *own, own), ==, 0);
    return own;
}

/* Only the thread that calls it is restricted. */
static void a_rank_takes_its_cores_unless_openmp_places_threads(void)
{
    cpu_set_t before, after;
    int taken = 0;
    g_assert_cmpint(sched_getaffinity(0, sizeof before, &before), ==, 0);
    g_autofree cpu_set_t *own = g_thread_join(g_thread_new("rank", take_last, &taken));
    g_assert_cmpint(sched_getaffinity(0, sizeof after, &after), ==, 0);
    g_assert_true(CPU_EQUAL(&before, &after));
    if (CPU_COUNT(&before) > 1) {
        g_assert_cmpint(taken, ==, (CPU_COUNT(&before) + 1) / 2);
        g_assert_cmpint(CPU_COUNT(own), ==, taken);
    } else {
        g_assert_cmpint(taken, ==, 0);
    }
    g_setenv("OMP_PROC_BIND", "false", true); /* no other thread runs */
    g_autofree cpu_set_t *free_set = g_thread_join(g_thread_new("rank", take_last, &taken));
    g_assert_cmpint(taken, ==, 0);
    g_assert_true(CPU_EQUAL(&before, free_set));
}

static void nodes_with_cores_are_counted(void)
{
    pretend_machine();
    g_assert_cmpint(cores_nodes(), ==, 2);
    real_machine();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_unsetenv("OMP_PROC_BIND");
    g_unsetenv("OMP_PLACES");
    g_unsetenv("GOMP_CPU_AFFINITY");
    g_test_add_func("/cores/a_share_is_whole_cores_of_one_node", a_share_is_whole_cores_of_one_node);
    g_test_add_func("/cores/a_rank_takes_its_cores_unless_openmp_places_threads",
                    a_rank_takes_its_cores_unless_openmp_places_threads);
    g_test_add_func("/cores/nodes_with_cores_are_counted", nodes_with_cores_are_counted);
    return g_test_run();
}
