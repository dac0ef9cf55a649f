/* The compute threads of several ranks on one machine. */
#include "run/compute_device.h"

static void ranks_have_the_threads_of_all_of_them(void)
{
    const int cores = (int)g_get_num_processors(), allowed = compute_device_all_threads(1, 1000);
    g_assert_cmpint(allowed, >=, 1);
    g_assert_cmpint(allowed, <=, cores);
    g_assert_cmpint(compute_device_all_threads(0, 4), ==, 0);
    g_assert_cmpint(compute_device_all_threads(1, 1), ==, 1);
    g_assert_cmpint(compute_device_all_threads(1, 2), ==, MIN(2, allowed));
    g_assert_cmpint(compute_device_all_threads(1000, 2), ==, 1000); /* more than the cores, as asked for one rank */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ranks_have_the_threads_of_all_of_them", ranks_have_the_threads_of_all_of_them);
    return g_test_run();
}
