#include "device/gemm_peak.h"

#include <glib.h>

static void the_rate_is_the_median_of_the_newest_samples(void)
{
    GemmPeak peak = { 0 };
    g_assert_cmpfloat(gemm_peak_rate(&peak).median, ==, 0);
    for (int i = 0; i < 9; i++)
        peak.samples[peak.n++] = (i * 4) % 9; /* 0 to 8 in some order */
    PeakRate rate = gemm_peak_rate(&peak);
    g_assert_cmpfloat(rate.median, ==, 4);
    g_assert_cmpfloat(rate.low, ==, 2);
    g_assert_cmpfloat(rate.high, ==, 6);
    for (int i = 0; i < GEMM_PEAK_SAMPLES; i++)
        peak.samples[peak.n++ % GEMM_PEAK_SAMPLES] = 100; /* the nine are forgotten */
    g_assert_cmpfloat(gemm_peak_rate(&peak).low, ==, 100);
}

/* The first samples are always due; the next when it fits, with those before it, into 0.2 s and the share of the time.
 */
static void samples_take_no_more_than_their_share_of_the_time(void)
{
    GemmPeak peak = { .opened = 1000 };
    g_assert_true(gemm_peak_due(&peak, 0.01, 1000));
    peak.n = GEMM_PEAK_FEWEST;
    peak.spent = peak.last = 0.25;
    g_assert_false(gemm_peak_due(&peak, 0.01, 1000));
    g_assert_false(gemm_peak_due(&peak, 0.01, 1029));
    g_assert_true(gemm_peak_due(&peak, 0.01, 1031));
    peak.spent = 0.75;
    g_assert_false(gemm_peak_due(&peak, 0.01, 1079));
    g_assert_true(gemm_peak_due(&peak, 0.01, 1081));
}

static void it_measures_in_the_precision_of_the_device(void)
{
    static const DType dtypes[] = { DT_F32, DT_BF16, DT_F16 };
    for (size_t i = 0; i < G_N_ELEMENTS(dtypes); i++) {
        Precision precision = precision_uniform(DT_F32);
        precision.compute = dtypes[i];
        Device *dev = device_open_cpu(2, precision);
        GemmPeak peak;
        gemm_peak_open(&peak, dev);
        g_assert_cmpfloat(gemm_peak_turn(&peak, 0), >, 0);
        g_assert_cmpfloat(gemm_peak_rate(&peak).median, ==, 0); /* one sample tells nothing of its spread */
        gemm_peak_complete(&peak, 0);
        peak.spent = 1;
        g_assert_cmpfloat(gemm_peak_turn(&peak, 0), ==, 0);
        g_assert_cmpint(peak.n, ==, GEMM_PEAK_FEWEST);
        PeakRate rate = gemm_peak_rate(&peak);
        g_assert_cmpfloat(rate.median, >, 1e8);
        g_assert_cmpfloat(rate.low, <=, rate.median);
        gemm_peak_clear(&peak);
        device_close(dev);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gemm_peak/the_rate_is_the_median_of_the_newest_samples",
                    the_rate_is_the_median_of_the_newest_samples);
    g_test_add_func("/gemm_peak/samples_take_no_more_than_their_share_of_the_time",
                    samples_take_no_more_than_their_share_of_the_time);
    g_test_add_func("/gemm_peak/it_measures_in_the_precision_of_the_device",
                    it_measures_in_the_precision_of_the_device);
    return g_test_run();
}
