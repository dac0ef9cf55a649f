#include "reference/reference.h"

#include <glib.h>
#include <math.h>

static void expect_words(PhiloxWords words, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    g_assert_cmphex(words.w[0], ==, a);
    g_assert_cmphex(words.w[1], ==, b);
    g_assert_cmphex(words.w[2], ==, c);
    g_assert_cmphex(words.w[3], ==, d);
}

/* The known answers published with Random123 (kat_vectors, philox4x32 with 10 rounds). */
static void known_answers(void)
{
    const uint32_t ones = 0xffffffff;
    expect_words(philox4x32((PhiloxKey){ { 0, 0 } }, 0, 0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
    expect_words(philox4x32((PhiloxKey){ { ones, ones } }, ones, ones, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                 0x6d5451fd);
    expect_words(philox4x32((PhiloxKey){ { 0xa4093822, 0x299f31d0 } }, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344),
                 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
}

static void hidden_and_attention_counters(void)
{
    PhiloxKey key = philox_key(42, PHILOX_DROPOUT, 3);
    int64_t sample = 0x0000123456789abc;
    PhiloxWords words = philox4x32(key, 0x56789abc, 0x1234, 7, 9);
    expect_words(philox_hidden(key, sample, 7, 9), words.w[0], words.w[1], words.w[2], words.w[3]);
    words = philox4x32(key, 0x56789abc, 0x1234 | 5u << 16, 7, 9);
    expect_words(philox_attention(key, sample, 5, 7, 9), words.w[0], words.w[1], words.w[2], words.w[3]);
}

/* A rate is rounded to a multiple of 2^-16, and the mean of what is kept and multiplied stays 1. */
static void dropout_keeps_the_mean(void)
{
    static const float rates[] = { 0, 1e-6f, 0.1f, 0.3f, 0.5f, 0.999f, 0.9999999f };
    for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
        double kept = (65536.0 - philox_threshold(rates[i])) / 65536;
        g_assert_cmpfloat_with_epsilon(kept, 1 - (double)rates[i], rates[i] > 0.9999f ? 1 / 65536.0 : 0.5 / 65536);
        g_assert_cmpfloat_with_epsilon(kept * (double)philox_kept(rates[i]), 1, 1e-7);
    }
    g_assert_cmpuint(philox_threshold(0.25f), ==, 0x4000);
    PhiloxWords words = { { 0x00020001, 0x00040003, 0x00060005, 0x00080007 } };
    for (int i = 0; i < PHILOX_ELEMENTS; i++)
        g_assert_cmpint(philox_element(words, PHILOX_ELEMENTS + i), ==, i + 1);
}

static void keys_differ(void)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (uint32_t seed = 0; seed < 10; seed++)
        for (uint32_t purpose = 0; purpose < 40; purpose++)
            for (uint32_t layer = 0; layer < 50; layer++) {
                PhiloxKey key = philox_key(seed, purpose, layer);
                gint64 *word = g_new(gint64, 1);
                *word = (gint64)((uint64_t)key.k[1] << 32 | key.k[0]);
                g_assert_true(g_hash_table_add(seen, word));
            }
}

/* From a second implementation, in Python: orders and masks of a resumed run hang on these staying as they are. */
static void derived_numbers_are_stable(void)
{
    static const uint64_t images[] = { 243960, 46566, 223179, 865588 };
    PhiloxKey key = philox_key(42, PHILOX_SAMPLE_ORDER, 7);
    g_assert_cmphex(key.k[0], ==, 0x135ec373);
    g_assert_cmphex(key.k[1], ==, 0x62e4195f);
    for (uint64_t i = 0; i < G_N_ELEMENTS(images); i++)
        g_assert_cmpuint(philox_permute(key, 1, i, 1000003), ==, images[i]);
    Philox rng = philox_open(key, 3);
    g_assert_cmpuint(philox_below(&rng, 1000003), ==, 279186);
    g_assert_cmpfloat(philox_uniform(&rng), ==, 0.21581463093104858);
    g_assert_cmpfloat_with_epsilon(philox_normal(&rng), 0.7479657957062896, 1e-15);
}

/* Words come in the order of the blocks, and streams do not overlap. */
static void sequence_follows_the_counter(void)
{
    PhiloxKey key = philox_key(7, PHILOX_OBJECTIVE, 0);
    Philox rng = philox_open(key, 0x500000003);
    for (uint32_t block = 0; block < 3; block++) {
        PhiloxWords words = philox4x32(key, block, 0, 3, 5);
        for (int i = 0; i < 4; i++)
            g_assert_cmphex(philox_u32(&rng), ==, words.w[i]);
    }
}

/* Chi-square of `n` draws over `bound` bins; the mean is bound - 1, the deviation sqrt(2 (bound - 1)). */
static double chi_square(uint64_t bound, int n)
{
    g_autofree int *counts = g_new0(int, bound);
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), bound);
    for (int i = 0; i < n; i++) {
        uint64_t value = philox_below(&rng, bound);
        g_assert_cmpuint(value, <, bound);
        counts[value]++;
    }
    double expected = (double)n / (double)bound, sum = 0;
    for (uint64_t i = 0; i < bound; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return sum;
}

static void below_is_uniform(void)
{
    static const uint64_t bounds[] = { 2, 3, 7, 10, 100, 257, 1000 };
    for (guint i = 0; i < G_N_ELEMENTS(bounds); i++) {
        double freedom = (double)bounds[i] - 1, deviation = sqrt(2 * freedom);
        double statistic = chi_square(bounds[i], 200000);
        g_assert_cmpfloat(statistic, <, freedom + 5 * deviation);
        g_assert_cmpfloat(statistic, >, freedom - 5 * deviation);
    }
}

/* 2^64 is not a multiple of 3 * 2^62: without rejection a quarter of the values would come twice as often. */
static void below_is_unbiased_for_huge_bounds(void)
{
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    uint64_t bound = (uint64_t)3 << 62;
    int low = 0, n = 30000;
    for (int i = 0; i < n; i++)
        low += philox_below(&rng, bound) < (uint64_t)1 << 62;
    g_assert_cmpfloat_with_epsilon((double)low / n, 1.0 / 3, 0.014);
    g_assert_cmpuint(philox_below(&rng, 1), ==, 0);
}

static void uniform_moments(void)
{
    Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 0), 0);
    double sum = 0, squares = 0, smallest = 1, largest = 0;
    int n = 200000;
    for (int i = 0; i < n; i++) {
        double x = philox_uniform(&rng);
        g_assert_true(x >= 0 && x < 1);
        sum += x;
        squares += x * x;
        smallest = fmin(smallest, x);
        largest = fmax(largest, x);
    }
    g_assert_cmpfloat_with_epsilon(sum / n, 0.5, 5 * sqrt(1.0 / 12 / n));
    g_assert_cmpfloat_with_epsilon(squares / n, 1.0 / 3, 0.004);
    g_assert_cmpfloat(smallest, <, 1e-4);
    g_assert_cmpfloat(largest, >, 1 - 1e-4);
}

static void normal_moments(void)
{
    Philox rng = philox_open(philox_key(4, PHILOX_INIT, 0), 0);
    double moments[5] = { 0 };
    int n = 200000, beyond_3 = 0;
    for (int i = 0; i < n; i++) {
        double x = philox_normal(&rng), power = 1;
        beyond_3 += fabs(x) > 3;
        for (int m = 1; m <= 4; m++)
            moments[m] += (power *= x);
    }
    double root = sqrt((double)n);
    g_assert_cmpfloat_with_epsilon(moments[1] / n, 0, 5 / root);
    g_assert_cmpfloat_with_epsilon(moments[2] / n, 1, 5 * sqrt(2) / root);
    g_assert_cmpfloat_with_epsilon(moments[3] / n, 0, 5 * sqrt(15) / root);
    g_assert_cmpfloat_with_epsilon(moments[4] / n, 3, 5 * sqrt(96) / root);
    g_assert_cmpfloat_with_epsilon((double)beyond_3 / n, 0.0027, 0.0006);
}

static void expect_bijection(uint64_t n, uint64_t stream)
{
    PhiloxKey key = philox_key(5, PHILOX_SAMPLE_ORDER, 0);
    g_autofree guint8 *seen = g_new0(guint8, n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t image = philox_permute(key, stream, i, n);
        g_assert_cmpuint(image, <, n);
        g_assert_cmpint(seen[image], ==, 0);
        seen[image] = 1;
    }
}

static void permute_is_a_bijection(void)
{
    for (uint64_t n = 1; n <= 300; n++)
        expect_bijection(n, n % 3);
    expect_bijection(100003, 0);
}

/* |x - y| of two independent numbers below n is n / 3 on average. */
static void permute_mixes_large_ranges(void)
{
    PhiloxKey key = philox_key(5, PHILOX_SAMPLE_ORDER, 0);
    uint64_t n = 1000003, fixed = 0;
    double from_index = 0, from_neighbour = 0;
    for (uint64_t i = 0; i < n; i += 101) {
        double image = (double)philox_permute(key, 1, i, n), next = (double)philox_permute(key, 1, i + 1, n);
        fixed += image == (double)i;
        from_index += fabs(image - (double)i) / (double)n;
        from_neighbour += fabs(image - next) / (double)n;
    }
    double samples = (double)(n / 101 + 1);
    g_assert_cmpuint(fixed, <, 3);
    g_assert_cmpfloat_with_epsilon(from_index / samples, 1.0 / 3, 0.012);
    g_assert_cmpfloat_with_epsilon(from_neighbour / samples, 1.0 / 3, 0.012);
    g_assert_cmpuint(philox_permute(key, 0, 12345, UINT64_MAX), !=, 12345);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/philox/answers_as_random123_does", known_answers);
    g_test_add_func("/philox/hidden_and_attention_use_the_documented_counters", hidden_and_attention_counters);
    g_test_add_func("/philox/dropout_keeps_the_mean", dropout_keeps_the_mean);
    g_test_add_func("/philox/keys_of_seed_purpose_and_layer_differ", keys_differ);
    g_test_add_func("/philox/a_sequence_follows_its_counter", sequence_follows_the_counter);
    g_test_add_func("/philox/derived_numbers_are_stable", derived_numbers_are_stable);
    g_test_add_func("/philox/below_is_uniform", below_is_uniform);
    g_test_add_func("/philox/below_is_unbiased_for_huge_bounds", below_is_unbiased_for_huge_bounds);
    g_test_add_func("/philox/uniform_has_the_right_moments", uniform_moments);
    g_test_add_func("/philox/normal_has_the_right_moments", normal_moments);
    g_test_add_func("/philox/permute_is_a_bijection", permute_is_a_bijection);
    g_test_add_func("/philox/permute_mixes_large_ranges", permute_mixes_large_ranges);
    return g_test_run();
}
