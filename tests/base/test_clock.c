#include "base/clock.h"

#include <glib.h>

static void seconds_pass_and_never_go_back(void)
{
    double start = clock_seconds(), last = start;
    for (int i = 0; i < 1000; i++) {
        double now = clock_seconds();
        g_assert_cmpfloat(now, >=, last);
        last = now;
    }
    g_usleep(2000);
    g_assert_cmpfloat(clock_seconds() - start, >=, 0.002);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clock/seconds_pass_and_never_go_back", seconds_pass_and_never_go_back);
    return g_test_run();
}
