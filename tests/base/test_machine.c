/* The load of a machine from the text of /proc/stat. */
#include "base/machine.h"

#include <glib.h>

static void others_are_what_this_process_did_not_use(void)
{
    const MachineLoad before = machine_load_of("cpu  100 10 20 1000 5 1 2 3 50 0\ncpu0 1 2\ncpu1 1 2\nintr 7\n", 30),
                      after = machine_load_of("cpu  250 10 40 1020 15 1 2 3 50 0\ncpu0 1 2\ncpu1 1 2\nintr 7\n", 130);
    g_assert_cmpint(before.cores, ==, 2);
    g_assert_cmpfloat(before.busy, ==, 136);
    g_assert_cmpfloat(before.all, ==, 1141);
    /* 170 of 200 ticks were busy, 100 of them ours: 70 of 200 are 0.7 of two cores. */
    g_assert_cmpfloat_with_epsilon(machine_busy_cores(before, after), 0.7, 1e-12);
    g_assert_cmpfloat(machine_busy_cores(after, after), ==, 0);
}

static void an_unknown_load_is_none(void)
{
    const MachineLoad unknown = machine_load_of("", 5), torn = machine_load_of("cpu  1 2", 5);
    g_assert_cmpint(unknown.cores, ==, 0);
    g_assert_cmpint(torn.cores, ==, 0);
    g_assert_cmpfloat(machine_busy_cores(unknown, torn), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/others_are_what_this_process_did_not_use", others_are_what_this_process_did_not_use);
    g_test_add_func("/an_unknown_load_is_none", an_unknown_load_is_none);
    return g_test_run();
}
