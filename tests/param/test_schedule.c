#include "param/optim.h"

#include <glib.h>
#include <math.h>

static ScheduleCounts counts(int64_t updates, int64_t tokens)
{
    return (ScheduleCounts){ updates, 10 * updates, tokens, 0 };
}

/* The rate of an update, in a run whose updates have `tokens` tokens each. */
static double rate(const Schedule *schedule, int64_t update, int64_t tokens)
{
    return schedule_lr(schedule, counts(update - 1, tokens * (update - 1)), counts(update, tokens * update));
}

static double at_update(int kind, double lr, double min_lr, int64_t update)
{
    Schedule schedule = { .kind = kind,
                          .lr = lr,
                          .min_lr = min_lr,
                          .power = 1,
                          .scale = 1,
                          .warmup = { 100, UNIT_STEPS },
                          .total = { 1000, UNIT_STEPS },
                          .decay = { 100, UNIT_STEPS } };
    return rate(&schedule, update, 1);
}

/* Published points for a warm-up of 100 of 1000 updates: the rate after 325 updates. */
static void test_golden(void)
{
    g_assert_cmpfloat(at_update(SCHEDULE_CONSTANT, 1, 0, 326), ==, 1);
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_LINEAR, 1, 0, 326), .75, 1e-12);
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_COSINE, 1, 0, 326), .853553391, 1e-9);
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_INVERSE_SQRT, 1, 0, 326), .554700196, 1e-9);
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_POLYNOMIAL, 1e-3, 1e-7, 326), .750025e-3, 1e-12);
}

/* No update of a run is made at the rate 0: the first has a step of the warm-up, the last what one update before the
 * end leaves of each curve. */
static void test_first_and_last(void)
{
    const struct {
        int kind;
        double last;
    } rows[] = { { SCHEDULE_LINEAR, 1. / 900 },
                 { SCHEDULE_COSINE, pow(sin(M_PI / 1800), 2) },
                 { SCHEDULE_POLYNOMIAL, 1. / 900 },
                 { SCHEDULE_INVERSE_SQRT, 10 / sqrt(999) },
                 { SCHEDULE_WSD, 1. / 100 } };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmpfloat_with_epsilon(at_update(rows[i].kind, 1, 0, 1), 0.01, 1e-15);
        g_assert_cmpfloat_with_epsilon(at_update(rows[i].kind, 1, 0, 1000), rows[i].last, 1e-14);
    }
    /* fairseq's --warmup-updates 5 --total-num-update 10: its log shows after each update the rate of the next one. */
    static const double rates[] = { 2e-5, 4e-5, 6e-5, 8e-5, 1e-4, 1e-4, 8e-5, 6e-5, 4e-5, 2e-5, 0 };
    const Schedule fairseq = {
        .kind = SCHEDULE_POLYNOMIAL, .lr = 1e-4, .power = 1, .warmup = { 5, UNIT_STEPS }, .total = { 10, UNIT_STEPS }
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
        g_assert_cmpfloat_with_epsilon(rate(&fairseq, (int64_t)i + 1, 1), rates[i], 1e-18);
}

static void test_power(void)
{
    Schedule schedule = {
        .kind = SCHEDULE_POLYNOMIAL, .lr = 1, .power = 2, .warmup = { 100, UNIT_STEPS }, .total = { 1000, UNIT_STEPS }
    };
    g_assert_cmpfloat_with_epsilon(rate(&schedule, 326, 1), .75 * .75, 1e-12);
}

static void test_warmup(void)
{
    for (int kind = 0; kind <= SCHEDULE_WSD; kind++) {
        g_assert_cmpfloat_with_epsilon(at_update(kind, 2, 1, 1), 0.02, 1e-12);
        g_assert_cmpfloat_with_epsilon(at_update(kind, 2, 1, 50), 1, 1e-12);
        g_assert_cmpfloat_with_epsilon(at_update(kind, 2, 1, 100), 2, 1e-12);
        g_assert_cmpfloat_with_epsilon(at_update(kind, 2, 1, 101), 2, 1e-12);
        g_assert_cmpfloat_with_epsilon(at_update(kind, 2, 1, 102), 2, 0.011); /* no jump after it */
    }
}

static void test_end(void)
{
    for (int kind = SCHEDULE_LINEAR; kind <= SCHEDULE_POLYNOMIAL; kind++) {
        if (kind == SCHEDULE_INVERSE_SQRT)
            continue;
        g_assert_cmpfloat_with_epsilon(at_update(kind, 1, 0.1, 1001), 0.1, 1e-12);
        g_assert_cmpfloat_with_epsilon(at_update(kind, 1, 0.1, 5000), 0.1, 1e-12);
    }
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_INVERSE_SQRT, 1, 0.1, 1000000), 0.1, 1e-12);
}

static void test_without_warmup(void)
{
    Schedule schedule = { .kind = SCHEDULE_INVERSE_SQRT, .lr = 1 };
    g_assert_cmpfloat(rate(&schedule, 1, 1), ==, 1);
    g_assert_cmpfloat(rate(&schedule, 5, 1), ==, 0.5);
    for (int kind = SCHEDULE_LINEAR; kind <= SCHEDULE_COSINE; kind++) {
        schedule = (Schedule){ .kind = kind, .lr = 1, .total = { 10, UNIT_STEPS } };
        g_assert_cmpfloat(rate(&schedule, 1, 1), ==, 1);
    }
    schedule.kind = SCHEDULE_LINEAR;
    g_assert_cmpfloat_with_epsilon(rate(&schedule, 2, 1), 0.9, 1e-12);
    schedule.total = (RunSpan){ 200, UNIT_TOKENS }; /* and the warm-up of 0 in another unit */
    g_assert_cmpfloat_with_epsilon(rate(&schedule, 1, 20), 1, 1e-12);
}

/* The plateau schedule is its peak times the scale that drops give it; the scale leaves the warm-up as it is. */
static void test_plateau(void)
{
    Schedule schedule = { .kind = SCHEDULE_PLATEAU,
                          .lr = 0.8,
                          .min_lr = 0.1,
                          .warmup = { 10, UNIT_STEPS },
                          .total = { 1000, UNIT_STEPS },
                          .scale = 1 };
    g_assert_cmpfloat(rate(&schedule, 5, 1), ==, 0.4);
    g_assert_cmpfloat(rate(&schedule, 900, 1), ==, 0.8);
    schedule.scale = 0.25;
    g_assert_cmpfloat(rate(&schedule, 900, 1), ==, 0.2);
    schedule.scale = 0.0625;
    g_assert_cmpfloat(rate(&schedule, 900, 1), ==, 0.1);
    g_assert_false(schedule_warmed_up(&schedule, counts(9, 1000)));
    g_assert_true(schedule_warmed_up(&schedule, counts(10, 1)));
    schedule.warmup.unit = UNIT_TOKENS;
    g_assert_true(schedule_warmed_up(&schedule, counts(1, 1000)));
}

/* A warm-up as long as the run leaves nothing to decay over. */
static void test_warmup_to_the_end(void)
{
    Schedule schedule = {
        .kind = SCHEDULE_COSINE, .lr = 1, .min_lr = 0.25, .warmup = { 10, UNIT_STEPS }, .total = { 10, UNIT_STEPS }
    };
    g_assert_cmpfloat(rate(&schedule, 10, 1), ==, 1);
    g_assert_cmpfloat(rate(&schedule, 11, 1), ==, 0.25);
}

/* In tokens the course is that of the tokens, however many updates they took. */
static void test_tokens(void)
{
    Schedule updates = {
        .kind = SCHEDULE_COSINE, .lr = 1, .min_lr = 0.1, .warmup = { 100, UNIT_STEPS }, .total = { 1000, UNIT_STEPS }
    };
    Schedule tokens = {
        .kind = SCHEDULE_COSINE, .lr = 1, .min_lr = 0.1, .warmup = { 100, UNIT_STEPS }, .total = { 1000, UNIT_STEPS }
    };
    tokens.warmup.unit = tokens.total.unit = UNIT_TOKENS;
    for (int kind = SCHEDULE_COSINE; kind <= SCHEDULE_INVERSE_SQRT; kind++) {
        tokens.kind = updates.kind = kind;
        for (int64_t n = 1; n <= 1200; n += 7)
            g_assert_cmpfloat(schedule_lr(&tokens, counts(n / 3, n - 1), counts(1 + n / 3, n)), ==,
                              rate(&updates, n, 1));
    }
}

/* A warm-up of 10 updates and a length of 1000 tokens, at 20 tokens an update, and the other way round. */
static void test_units_may_differ(void)
{
    const Schedule schedules[] = {
        { .kind = SCHEDULE_LINEAR, .lr = 1, .warmup = { 10, UNIT_STEPS }, .total = { 1000, UNIT_TOKENS } },
        { .kind = SCHEDULE_LINEAR, .lr = 1, .warmup = { 200, UNIT_TOKENS }, .total = { 50, UNIT_STEPS } },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(schedules); i++) {
        g_assert_cmpfloat(rate(&schedules[i], 5, 20), ==, 0.5);
        g_assert_cmpfloat(rate(&schedules[i], 10, 20), ==, 1);
        g_assert_cmpfloat_with_epsilon(rate(&schedules[i], 31, 20), 0.5, 1e-12);
        g_assert_cmpfloat_with_epsilon(rate(&schedules[i], 50, 20), 1. / 40, 1e-12);
        g_assert_cmpfloat(rate(&schedules[i], 51, 20), ==, 0);
    }
}

static int64_t *count_in(ScheduleCounts *counts, AmountUnit unit)
{
    return unit == UNIT_TOKENS ? &counts->tokens : unit == UNIT_SAMPLES ? &counts->samples : &counts->updates;
}

/* Megatron-LM's OptimizerParamScheduler.get_lr with init_lr 1e-6, lr 6e-4, min_lr 6e-5, a warm-up of 2000 steps, a
 * decay to step 100000 and a last phase of 20000 steps, computed from its formulas in Python. They are the rates of the
 * updates that follow so many steps, but those of the warm-up are the rates of the updates that end there. */
static void test_megatron(void)
{
    static const int64_t steps[] = { 1, 1000, 2000, 2001, 30000, 80000, 85000, 99999, 100000, 250000 };
    static const struct {
        int kind, curve;
        double rates[G_N_ELEMENTS(steps)];
    } rows[] = {
        { SCHEDULE_CONSTANT,
          CURVE_LINEAR,
          { 1.2995e-06, 0.0003005, 0.0005999999999999999, 0.0005999999999999999, 0.0005999999999999999,
            0.0005999999999999999, 0.0005999999999999999, 0.0005999999999999999, 0.0005999999999999999,
            0.0005999999999999999 } },
        { SCHEDULE_LINEAR,
          CURVE_LINEAR,
          { 1.2995e-06, 0.0003005, 0.0005999999999999999, 0.0005999944897959183, 0.0004457142857142857,
            0.0001702040816326531, 0.0001426530612244897, 6.000551020408164e-05, 6e-05, 6e-05 } },
        { SCHEDULE_COSINE,
          CURVE_LINEAR,
          { 1.2995e-06, 0.0003005, 0.0005999999999999999, 0.0005999999998612665, 0.000498342246501858,
            0.0001136183220956517, 9.061818727928997e-05, 6.00000001387335e-05, 6e-05, 6e-05 } },
        { SCHEDULE_INVERSE_SQRT,
          CURVE_LINEAR,
          { 1.2995e-06, 0.0003005, 0.0005999999999999999, 0.0005998500562265727, 0.0001549193338482967,
            9.486832980505137e-05, 9.203579866168446e-05, 8.485323800963642e-05, 8.48528137423857e-05, 6e-05 } },
        { SCHEDULE_WSD,
          CURVE_LINEAR,
          { 1.2995e-06, 0.0003005, 0.0005999999999999999, 0.0005999999999999999, 0.0005999999999999999,
            0.0005999999999999999, 0.0004649999999999999, 6.0027e-05, 6e-05, 6e-05 } },
        { SCHEDULE_WSD,
          CURVE_COSINE,
          { 1.2995e-06, 0.0003005, 0.0005999999999999999, 0.0005999999999999999, 0.0005999999999999999,
            0.0005999999999999999, 0.0005209188309203678, 6.00000033309915e-05, 6e-05, 6e-05 } },
        { SCHEDULE_WSD,
          CURVE_EXPONENTIAL,
          { 1.2995e-06, 0.0003005, 0.0005999999999999999, 0.0005999999999999999, 0.0005999999999999999,
            0.0005999999999999999, 0.0004281681284740116, 6.00187152981846e-05, 6e-05, 6e-05 } },
        { SCHEDULE_WSD,
          CURVE_MINUS_SQRT,
          { 1.2995e-06, 0.0003005, 0.0005999999999999999, 0.0005999999999999999, 0.0005999999999999999,
            0.0005999999999999999, 0.0003299999999999999, 6.001350016875424e-05, 6e-05, 6e-05 } },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        for (size_t k = 0; k < G_N_ELEMENTS(steps); k++)
            for (AmountUnit unit = UNIT_STEPS; unit <= UNIT_TOKENS; unit++) {
                const Schedule schedule = { .kind = rows[i].kind,
                                            .lr = 6e-4,
                                            .min_lr = 6e-5,
                                            .init_lr = 1e-6,
                                            .warmup = { 2000, unit },
                                            .total = { 100000, unit },
                                            .decay = { 20000, unit },
                                            .curve = rows[i].curve };
                const int64_t end = steps[k] <= 2000 ? steps[k] : steps[k] + 1;
                ScheduleCounts before = { 0, 0, 0, 0 }, after = { 1, 1, 1, 0 };
                *count_in(&before, unit) = end - 1;
                *count_in(&after, unit) = end;
                g_assert_cmpfloat_with_epsilon(schedule_lr(&schedule, before, after), rows[i].rates[k],
                                               1e-12 * rows[i].rates[k]);
            }
}

/* fairseq's cosine_lr_scheduler: a warm-up of 100 updates, a first period of 1000; periods that double and halve in
 * height, and equal periods that fall to 0.8. Rates after so many updates. */
static void test_restarts(void)
{
    static const int64_t updates[] = { 101, 600, 1099, 1100, 2000, 3099, 3100, 7000 };
    static const double doubled[] = {
        0.0009999975572749199, 0.000505, 1.000244272508019e-05, 0.0005, 0.0002912175300974572,
        5.000305340823378e-06, 0.00025,  2.881479950525415e-06
    };
    static const double equal[] = {
        0.0009999975572749199, 0.000505, 1.000244272508019e-05, 0.0008, 2.738161954711921e-05,
        6.40156334405132e-06,  0.000512, 8.972409093200025e-06
    };
    Schedule schedule = { .kind = SCHEDULE_COSINE,
                          .lr = 1e-3,
                          .min_lr = 1e-5,
                          .warmup = { 100, UNIT_STEPS },
                          .total = { 10000, UNIT_STEPS },
                          .cycle = { 1000, UNIT_STEPS },
                          .cycle_growth = 2,
                          .cycle_shrink = 0.5 };
    for (size_t i = 0; i < G_N_ELEMENTS(updates); i++)
        g_assert_cmpfloat_with_epsilon(rate(&schedule, updates[i] + 1, 1), doubled[i], 1e-12 * doubled[i]);
    schedule.cycle_growth = 1;
    schedule.cycle_shrink = 0.8;
    for (size_t i = 0; i < G_N_ELEMENTS(updates); i++)
        g_assert_cmpfloat_with_epsilon(rate(&schedule, updates[i] + 1, 1), equal[i], 1e-12 * equal[i]);
}

/* Megatron-LM's get_wd from 0.033 to 0.1 over 1000 steps. */
static void test_weight_decay(void)
{
    static const int64_t updates[] = { 1, 250, 500, 999, 1000, 2000 };
    static const double rows[][6] = {
        [RAMP_CONSTANT] = { 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 },
        [RAMP_LINEAR] = { 0.033067, 0.04975, 0.0665, 0.099933, 0.1, 0.1 },
        [RAMP_COSINE] = { 0.03300016531573775, 0.04281192283025066, 0.0665, 0.09999983468426225, 0.1, 0.1 },
    };
    for (int ramp = RAMP_CONSTANT; ramp <= RAMP_COSINE; ramp++)
        for (size_t i = 0; i < G_N_ELEMENTS(updates); i++) {
            const Schedule schedule = {
                .ramp = ramp, .weight_decay_start = 0.033, .weight_decay = 0.1, .ramp_end = { 1000, UNIT_STEPS }
            };
            g_assert_cmpfloat_with_epsilon(schedule_weight_decay(&schedule, counts(updates[i], 1)), rows[ramp][i],
                                           1e-13);
        }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/published_points", test_golden);
    g_test_add_func("/schedule/power_bends_the_polynomial", test_power);
    g_test_add_func("/schedule/warmup_rises_to_the_peak", test_warmup);
    g_test_add_func("/schedule/first_and_last_update_have_a_rate", test_first_and_last);
    g_test_add_func("/schedule/ends_at_the_least_rate", test_end);
    g_test_add_func("/schedule/works_without_warmup", test_without_warmup);
    g_test_add_func("/schedule/warmup_may_last_the_whole_run", test_warmup_to_the_end);
    g_test_add_func("/schedule/drops_scale_the_peak", test_plateau);
    g_test_add_func("/schedule/tokens_make_the_same_course", test_tokens);
    g_test_add_func("/schedule/units_of_warmup_and_length_may_differ", test_units_may_differ);
    g_test_add_func("/schedule/has_the_rates_of_megatron", test_megatron);
    g_test_add_func("/schedule/restarts_like_fairseq", test_restarts);
    g_test_add_func("/schedule/weight_decay_ramps_up", test_weight_decay);
    return g_test_run();
}
