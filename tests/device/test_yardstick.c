#include "device/yardstick.h"

#include <glib.h>

static void the_rate_is_the_median_of_the_newest_samples(void)
{
    Yardstick y = { 0 };
    g_assert_cmpfloat(yardstick_rate(&y).median, ==, 0);
    for (int i = 0; i < 9; i++)
        y.samples[y.n++] = (i * 4) % 9; /* 0 to 8 in some order */
    PeakRate rate = yardstick_rate(&y);
    g_assert_cmpfloat(rate.median, ==, 4);
    g_assert_cmpfloat(rate.low, ==, 2);
    g_assert_cmpfloat(rate.high, ==, 6);
    for (int i = 0; i < YARDSTICK_SAMPLES; i++)
        y.samples[y.n++ % YARDSTICK_SAMPLES] = 100; /* the nine are forgotten */
    g_assert_cmpfloat(yardstick_rate(&y).low, ==, 100);
}

/* The first samples are always due; the next when it fits, with those before it, into 0.2 s and the share of the time.
 */
static void samples_take_no_more_than_their_share_of_the_time(void)
{
    Yardstick y = { .opened = 1000 };
    g_assert_true(yardstick_due(&y, 0.01, 1000));
    y.n = YARDSTICK_FEWEST;
    y.spent = y.last = 0.25;
    g_assert_false(yardstick_due(&y, 0.01, 1000));
    g_assert_false(yardstick_due(&y, 0.01, 1029));
    g_assert_true(yardstick_due(&y, 0.01, 1031));
    y.spent = 0.75;
    g_assert_false(yardstick_due(&y, 0.01, 1079));
    g_assert_true(yardstick_due(&y, 0.01, 1081));
}

static void it_measures_in_the_precision_of_the_device(void)
{
    static const DType dtypes[] = { DT_F32, DT_BF16, DT_F16 };
    for (size_t i = 0; i < G_N_ELEMENTS(dtypes); i++) {
        Precision precision = precision_uniform(DT_F32);
        precision.compute = dtypes[i];
        Device *dev = device_open_cpu(2, precision);
        Yardstick y;
        yardstick_open(&y, dev);
        g_assert_cmpfloat(yardstick_turn(&y, 0), >, 0);
        g_assert_cmpfloat(yardstick_rate(&y).median, ==, 0); /* one sample tells nothing of its spread */
        yardstick_complete(&y, 0);
        y.spent = 1;
        g_assert_cmpfloat(yardstick_turn(&y, 0), ==, 0);
        g_assert_cmpint(y.n, ==, YARDSTICK_FEWEST);
        PeakRate rate = yardstick_rate(&y);
        g_assert_cmpfloat(rate.median, >, 1e8);
        g_assert_cmpfloat(rate.low, <=, rate.median);
        yardstick_clear(&y);
        device_close(dev);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/yardstick/the_rate_is_the_median_of_the_newest_samples",
                    the_rate_is_the_median_of_the_newest_samples);
    g_test_add_func("/yardstick/samples_take_no_more_than_their_share_of_the_time",
                    samples_take_no_more_than_their_share_of_the_time);
    g_test_add_func("/yardstick/it_measures_in_the_precision_of_the_device",
                    it_measures_in_the_precision_of_the_device);
    return g_test_run();
}
