#include "data/mixture.h"

#include "base/philox.h"
#include "data/data_test.h"

#include <math.h>

static Mixture *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    Mixture *mixture = mixture_parse(text, &error);
    g_assert_no_error(error);
    return mixture;
}

static void assert_order(const char *text, const int *want, int64_t n)
{
    Mixture *mixture = parse(text), *again = parse(text);
    int64_t counts[MIXTURE_MAX] = { 0 }, within;
    for (int64_t at = 0; at < n; at++) {
        g_assert_cmpint(mixture_at(mixture, at, &within), ==, want[at]);
        g_assert_cmpint(within, ==, counts[want[at]]++);
    }
    for (int64_t at = n - 1; at >= 0; at--) /* backwards: no call may depend on the one before */
        g_assert_cmpint(mixture_at(again, at, &within), ==, want[at]);
    mixture_free(mixture);
    mixture_free(again);
}

/* megatron-fairseq.md §1.9; t5-experiments.md §8. */
static void the_order_is_that_of_the_references(void)
{
    assert_order("a:.5,b:.3,c:.2", (int[]){ 0, 1, 2, 0, 1, 0, 2, 0, 1, 0, 0, 1 }, 12);
    assert_order("a:4, b:6, c:3", (int[]){ 1, 0, 2, 1, 0, 1, 2, 1, 0, 1, 2, 0, 1 }, 13);
}

/* The rule itself, from the first on. */
static void walk(const double *weights, int n, int64_t packed, int *order)
{
    int64_t counts[MIXTURE_MAX] = { 0 };
    for (int64_t i = 0; i < packed; i++) {
        double most = -INFINITY;
        for (int k = 0; k < n; k++) {
            double behind = weights[k] * (double)MAX(i, 1) - (double)counts[k];
            if (behind > most) {
                most = behind;
                order[i] = k;
            }
        }
        counts[order[i]]++;
    }
}

/* Periods of a few, of a million, and none. */
static void a_row_anywhere_is_that_of_the_walk(void)
{
    static const char *const texts[] = { "a:.7,b:.2,c:.1",
                                         "a:.1,b:.2,c:.3,d:.05,e:.35",
                                         "a:0.123456,b:0.654321,c:.222223",
                                         "a:1234567,b:89,c:34567",
                                         "a:0.31415926535897931,b:0.27182818284590451,c:1",
                                         "a:1,b:1,c:1,d:1,e:1,f:1,g:1" };
    const int64_t packed = 200000;
    g_autofree int *order = g_new(int, packed);
    for (size_t t = 0; t < G_N_ELEMENTS(texts); t++) {
        Mixture *mixture = parse(texts[t]);
        int64_t within, counts[MIXTURE_MAX] = { 0 };
        g_autofree int64_t *places = g_new(int64_t, packed);
        walk(mixture->weights, mixture->n, packed, order);
        for (int64_t at = 0; at < packed; at++)
            places[at] = counts[order[at]]++;
        Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), t);
        for (int jump = 0; jump < 200; jump++) {
            int64_t first = (int64_t)philox_below(&rng, (uint64_t)packed), last = MIN(first + jump % 100, packed - 1);
            if (jump % 4 == 0 && mixture->period > 0)
                first -= first % mixture->period;
            for (int64_t at = first; at <= MAX(first, last); at += 1 + jump % 3) {
                g_assert_cmpint(mixture_at(mixture, at, &within), ==, order[at]);
                g_assert_cmpint(within, ==, places[at]);
            }
        }
        mixture_free(mixture);
    }
}

static void a_row_of_any_size_takes_no_walk(void)
{
    Mixture *mixture = parse("a:.5,b:.3,c:.2");
    int64_t within, at = (int64_t)1 << 44;
    g_assert_cmpint(mixture->period, ==, 10);
    mixture_at(mixture, at - at % 10 + 3, &within);
    g_assert_cmpint(mixture_at(mixture, at - at % 10, &within), ==, 0);
    g_assert_cmpint(within, ==, at / 10 * 5);
    g_assert_cmpint(mixture_at(mixture, at - at % 10 + 2, &within), ==, 2);
    g_assert_cmpint(within, ==, at / 10 * 2);
    mixture_free(mixture);
}

static Mixture *weighed(const char *text, MixtureRule rule, int64_t *epoch)
{
    static const int64_t packed[] = { 4, 6, 3 }, tokens[] = { 400, 100, 300 };
    Mixture *mixture = parse(text);
    g_assert_true(mixture_check(mixture, &rule, NULL));
    *epoch = mixture_weigh(mixture, &rule, packed, tokens);
    return mixture;
}

static void assert_shares(const char *text, MixtureRule rule, int64_t want_epoch, const double *want)
{
    int64_t epoch;
    Mixture *mixture = weighed(text, rule, &epoch);
    g_assert_cmpint(epoch, ==, want_epoch);
    for (int k = 0; k < mixture->n; k++)
        g_assert_cmpfloat_with_epsilon(mixture->weights[k], want[k], 1e-6);
    mixture_free(mixture);
}

static void sizes_make_weights(void)
{
    static const Amount two_rows = { 2, UNIT_SAMPLES }, two_hundred = { 200, UNIT_TOKENS };
    double roots = sqrt(4) + sqrt(6) + sqrt(3), capped = sqrt(200) + sqrt(100) + sqrt(200);
    assert_shares("a,b,c", (MixtureRule){ 0 }, 13, (double[]){ 4 / 13., 6 / 13., 3 / 13. });
    assert_shares("a,b,c", (MixtureRule){ .temperature = 2 }, 13,
                  (double[]){ sqrt(4) / roots, sqrt(6) / roots, sqrt(3) / roots });
    assert_shares("a,b,c", (MixtureRule){ .cap = two_rows }, 13, (double[]){ 1 / 3., 1 / 3., 1 / 3. });
    assert_shares("a,b,c", (MixtureRule){ .cap = two_hundred }, 13, (double[]){ .4, .2, .4 });
    assert_shares("a,b,c", (MixtureRule){ .cap = two_hundred, .temperature = 2 }, 13,
                  (double[]){ sqrt(200) / capped, sqrt(100) / capped, sqrt(200) / capped });
    assert_shares("a:.5,b:.3,c:.2", (MixtureRule){ 0 }, 13, (double[]){ .5, .3, .2 });
    assert_shares("a:.5,b:.3,c:2", (MixtureRule){ .weights = MIXTURE_EPOCHS }, 10, (double[]){ .2, .2, .6 });
    /* Z = min(4 / .5, 6 / .3, 3 / .2) = 8: 4, 2 and 1, the integers below 4, 2.4 and 1.6 */
    assert_shares("a:.5,b:.3,c:.2", (MixtureRule){ .weights = MIXTURE_CONCAT_WEIGHTED }, 7,
                  (double[]){ 4 / 7., 2 / 7., 1 / 7. });
}

/* Without weights an epoch of the mixture takes every packed sequence of every dataset once. */
static void an_epoch_by_size_takes_every_row_once(void)
{
    int64_t epoch, within;
    Mixture *mixture = weighed("a,b,c", (MixtureRule){ 0 }, &epoch);
    for (int64_t first = 0; first < 5 * epoch; first += epoch) {
        int64_t counts[3] = { 0 };
        for (int64_t at = first; at < first + epoch; at++)
            counts[mixture_at(mixture, at, &within)]++;
        g_assert_true(counts[0] == 4 && counts[1] == 6 && counts[2] == 3);
    }
    mixture_free(mixture);
}

static void weights_and_temperature_exclude_each_other(void)
{
    g_autoptr(GError) error = NULL;
    Mixture *mixture = parse("a:1,b:1");
    g_assert_false(mixture_check(mixture, &(MixtureRule){ .temperature = 2 }, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    mixture_free(mixture);
}

static void one_dataset_needs_no_weight(void)
{
    Mixture *mixture = parse("folder:with/colon");
    int64_t within;
    g_assert_cmpint(mixture->n, ==, 1);
    g_assert_cmpstr(mixture->paths[0], ==, "folder:with/colon");
    g_assert_cmpint(mixture_at(mixture, 123456789012, &within), ==, 0);
    g_assert_cmpint(within, ==, 123456789012);
    mixture_free(mixture);
}

static void weights_that_are_none_are_refused(void)
{
    static const char *const bad[] = { "a:1,b",   "a,b:1",     "a:0,b:1", "a:-1,b:2", "a:1,:2",
                                       "a:1,b:x", "a:1,b:inf", "a,",      "a,,b" };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(mixture_parse(bad[i], &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, "PREFIX:WEIGHT"));
    }
}

static void the_dataset_without_a_weight_is_named(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(mixture_parse("a:x,b:1", &error));
    g_assert_nonnull(strstr(error->message, "\"a:x\" has no weight and \"b:1\" has one"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mixture/the_order_is_that_of_the_references", the_order_is_that_of_the_references);
    g_test_add_func("/mixture/a_row_anywhere_is_that_of_the_walk", a_row_anywhere_is_that_of_the_walk);
    g_test_add_func("/mixture/a_row_of_any_size_takes_no_walk", a_row_of_any_size_takes_no_walk);
    g_test_add_func("/mixture/sizes_make_weights", sizes_make_weights);
    g_test_add_func("/mixture/an_epoch_by_size_takes_every_row_once", an_epoch_by_size_takes_every_row_once);
    g_test_add_func("/mixture/weights_and_temperature_exclude_each_other", weights_and_temperature_exclude_each_other);
    g_test_add_func("/mixture/one_dataset_needs_no_weight", one_dataset_needs_no_weight);
    g_test_add_func("/mixture/weights_that_are_none_are_refused", weights_that_are_none_are_refused);
    g_test_add_func("/mixture/the_dataset_without_a_weight_is_named", the_dataset_without_a_weight_is_named);
    return g_test_run();
}
