#include "base/philox.h"
#include "eval/sampler.h"

#include <glib.h>
#include <math.h>

enum { V = 6, DRAWS = 20000 };
/* Probabilities .4 .25 .15 .1 .06 .04, not in order of id. */
static const double p[V] = { 0.10, 0.40, 0.04, 0.25, 0.06, 0.15 };

static void fill_logits(float *logits)
{
    for (int i = 0; i < V; i++)
        logits[i] = (float)log(p[i]) + 3;
}

/* The shares of many draws are `want` within four standard deviations; what has no share is never drawn. */
static void expect_shares(Sampling sampling, const double *want)
{
    float logits[V];
    int counts[V] = { 0 };
    Philox rng = philox_open(philox_key(5, PHILOX_SAMPLING, 0), 0);
    fill_logits(logits);
    for (int i = 0; i < DRAWS; i++)
        counts[sampler_pick(logits, V, &sampling, philox_uniform(&rng))]++;
    for (int i = 0; i < V; i++)
        g_assert_cmpfloat_with_epsilon((double)counts[i] / DRAWS, want[i],
                                       1e-12 + 4 * sqrt(want[i] * (1 - want[i]) / DRAWS));
}

static void draws_follow_the_softmax(void)
{
    expect_shares((Sampling){ .temperature = 1, .top_p = 1 }, p);
}

static void temperature_sharpens(void)
{
    double want[V], total = 0;
    for (int i = 0; i < V; i++)
        total += p[i] * p[i];
    for (int i = 0; i < V; i++)
        want[i] = p[i] * p[i] / total;
    expect_shares((Sampling){ .temperature = 0.5, .top_p = 1 }, want);
}

static void top_k_keeps_the_likeliest(void)
{
    static const double want[V] = { 0, 0.40 / 0.8, 0, 0.25 / 0.8, 0, 0.15 / 0.8 };
    expect_shares((Sampling){ .temperature = 1, .top_k = 3, .top_p = 1 }, want);
}

/* .4 + .25 < .7 ≤ .4 + .25 + .15: the token that crosses the share belongs to it. */
static void top_p_keeps_the_fewest_that_hold_it(void)
{
    static const double want[V] = { 0, 0.40 / 0.8, 0, 0.25 / 0.8, 0, 0.15 / 0.8 };
    expect_shares((Sampling){ .temperature = 1, .top_p = 0.7 }, want);
}

/* Of the three that top_k leaves, .5 + .3125 > .8. */
static void top_p_is_a_share_of_what_top_k_left(void)
{
    static const double want[V] = { 0, 0.40 / 0.65, 0, 0.25 / 0.65, 0, 0 };
    expect_shares((Sampling){ .temperature = 1, .top_k = 3, .top_p = 0.8 }, want);
}

static void no_temperature_is_the_likeliest(void)
{
    static const double want[V] = { 0, 1, 0, 0, 0, 0 };
    expect_shares((Sampling){ .temperature = 0, .top_k = 2, .top_p = 0.1 }, want);
}

static void repetition_is_punished_once_whatever_the_sign(void)
{
    float logits[4] = { 2, -2, 3, 0 };
    static const int32_t said[] = { 0, 1, 0, 3 };
    sampler_penalize(logits, said, 4, 2);
    g_assert_cmpfloat(logits[0], ==, 1);
    g_assert_cmpfloat(logits[1], ==, -4);
    g_assert_cmpfloat(logits[2], ==, 3);
    g_assert_cmpfloat(logits[3], ==, 0);
}

static void log_sum_does_not_overflow(void)
{
    const float logits[3] = { 1000, 1000, -1000 };
    g_assert_cmpfloat_with_epsilon(sampler_log_sum(logits, 3), 1000 + log(2), 1e-9);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sampler/draws_follow_the_softmax", draws_follow_the_softmax);
    g_test_add_func("/sampler/temperature_sharpens", temperature_sharpens);
    g_test_add_func("/sampler/top_k_keeps_the_likeliest", top_k_keeps_the_likeliest);
    g_test_add_func("/sampler/top_p_keeps_the_fewest_that_hold_it", top_p_keeps_the_fewest_that_hold_it);
    g_test_add_func("/sampler/top_p_is_a_share_of_what_top_k_left", top_p_is_a_share_of_what_top_k_left);
    g_test_add_func("/sampler/no_temperature_is_the_likeliest", no_temperature_is_the_likeliest);
    g_test_add_func("/sampler/repetition_is_punished_once_whatever_the_sign",
                    repetition_is_punished_once_whatever_the_sign);
    g_test_add_func("/sampler/log_sum_does_not_overflow", log_sum_does_not_overflow);
    return g_test_run();
}
