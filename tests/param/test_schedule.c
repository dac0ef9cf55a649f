#include "param/optim.h"

#include <glib.h>
#include <math.h>

static ScheduleCounts counts(int64_t updates, int64_t tokens)
{
    return (ScheduleCounts){ updates, 10 * updates, tokens, 0 };
}

static double at_update(int kind, double lr, double min_lr, int64_t update)
{
    Schedule schedule = { .kind = kind,
                          .lr = lr,
                          .min_lr = min_lr,
                          .power = 1,
                          .scale = 1,
                          .warmup = { 100, UNIT_STEPS },
                          .total = { 1000, UNIT_STEPS } };
    return schedule_lr(&schedule, counts(update, 1));
}

/* Published points for a warm-up of 100 of 1000 updates. */
static void test_golden(void)
{
    g_assert_cmpfloat(at_update(SCHEDULE_CONSTANT, 1, 0, 325), ==, 1);
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_LINEAR, 1, 0, 325), .75, 1e-12);
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_COSINE, 1, 0, 325), .853553391, 1e-9);
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_INVERSE_SQRT, 1, 0, 325), .554700196, 1e-9);
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_POLYNOMIAL, 1e-3, 1e-7, 325), .750025e-3, 1e-12);
}

static void test_power(void)
{
    Schedule schedule = {
        .kind = SCHEDULE_POLYNOMIAL, .lr = 1, .power = 2, .warmup = { 100, UNIT_STEPS }, .total = { 1000, UNIT_STEPS }
    };
    g_assert_cmpfloat_with_epsilon(schedule_lr(&schedule, counts(325, 1)), .75 * .75, 1e-12);
}

static void test_warmup(void)
{
    for (int kind = 0; kind <= SCHEDULE_WSD; kind++) {
        g_assert_cmpfloat_with_epsilon(at_update(kind, 2, 1, 1), 0.02, 1e-12);
        g_assert_cmpfloat_with_epsilon(at_update(kind, 2, 1, 50), 1, 1e-12);
        g_assert_cmpfloat_with_epsilon(at_update(kind, 2, 1, 100), 2, 1e-12);
        g_assert_cmpfloat_with_epsilon(at_update(kind, 2, 1, 101), 2, 0.011); /* no jump after it */
    }
}

static void test_end(void)
{
    for (int kind = SCHEDULE_LINEAR; kind <= SCHEDULE_POLYNOMIAL; kind++) {
        if (kind == SCHEDULE_INVERSE_SQRT)
            continue;
        g_assert_cmpfloat_with_epsilon(at_update(kind, 1, 0.1, 1000), 0.1, 1e-12);
        g_assert_cmpfloat_with_epsilon(at_update(kind, 1, 0.1, 5000), 0.1, 1e-12);
    }
    g_assert_cmpfloat_with_epsilon(at_update(SCHEDULE_INVERSE_SQRT, 1, 0.1, 1000000), 0.1, 1e-12);
}

static void test_without_warmup(void)
{
    Schedule schedule = { .kind = SCHEDULE_INVERSE_SQRT, .lr = 1 };
    g_assert_cmpfloat(schedule_lr(&schedule, counts(1, 1)), ==, 1);
    g_assert_cmpfloat(schedule_lr(&schedule, counts(4, 1)), ==, 0.5);
    schedule = (Schedule){ .kind = SCHEDULE_LINEAR, .lr = 1, .total = { 10, UNIT_STEPS } };
    g_assert_cmpfloat_with_epsilon(schedule_lr(&schedule, counts(1, 1)), 0.9, 1e-12);
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
    g_assert_cmpfloat(schedule_lr(&schedule, counts(5, 1)), ==, 0.4);
    g_assert_cmpfloat(schedule_lr(&schedule, counts(900, 1)), ==, 0.8);
    schedule.scale = 0.25;
    g_assert_cmpfloat(schedule_lr(&schedule, counts(900, 1)), ==, 0.2);
    schedule.scale = 0.0625;
    g_assert_cmpfloat(schedule_lr(&schedule, counts(900, 1)), ==, 0.1);
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
    g_assert_cmpfloat(schedule_lr(&schedule, counts(10, 1)), ==, 1);
    g_assert_cmpfloat(schedule_lr(&schedule, counts(11, 1)), ==, 0.25);
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
    for (int64_t n = 1; n <= 1200; n += 7)
        g_assert_cmpfloat(schedule_lr(&tokens, counts(1 + n / 3, n)), ==, schedule_lr(&updates, counts(n, 1)));
    tokens.kind = updates.kind = SCHEDULE_INVERSE_SQRT;
    g_assert_cmpfloat(schedule_lr(&tokens, counts(7, 325)), ==, schedule_lr(&updates, counts(325, 7)));
}

/* A warm-up of 10 updates and a length of 1000 tokens, at 20 tokens an update, and the other way round. */
static void test_units_may_differ(void)
{
    Schedule length = {
        .kind = SCHEDULE_LINEAR, .lr = 1, .warmup = { 10, UNIT_STEPS }, .total = { 1000, UNIT_TOKENS }
    };
    g_assert_cmpfloat(schedule_lr(&length, counts(5, 100)), ==, 0.5);
    g_assert_cmpfloat(schedule_lr(&length, counts(10, 200)), ==, 1);
    g_assert_cmpfloat_with_epsilon(schedule_lr(&length, counts(30, 600)), 0.5, 1e-12);
    g_assert_cmpfloat(schedule_lr(&length, counts(50, 1000)), ==, 0);
    Schedule warmup = { .kind = SCHEDULE_LINEAR, .lr = 1, .warmup = { 200, UNIT_TOKENS }, .total = { 50, UNIT_STEPS } };
    g_assert_cmpfloat(schedule_lr(&warmup, counts(5, 100)), ==, 0.5);
    g_assert_cmpfloat(schedule_lr(&warmup, counts(10, 200)), ==, 1);
    g_assert_cmpfloat_with_epsilon(schedule_lr(&warmup, counts(30, 600)), 0.5, 1e-12);
    g_assert_cmpfloat(schedule_lr(&warmup, counts(50, 1000)), ==, 0);
}

/* Megatron-LM's OptimizerParamScheduler.get_lr with init_lr 1e-6, lr 6e-4, min_lr 6e-5, a warm-up of 2000 steps, a
 * decay to step 100000 and a last phase of 20000 steps, computed from its formulas in Python. */
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
                ScheduleCounts at = { 1, 1, 1, 0 };
                *(unit == UNIT_TOKENS ? &at.tokens : unit == UNIT_SAMPLES ? &at.samples : &at.updates) = steps[k];
                g_assert_cmpfloat_with_epsilon(schedule_lr(&schedule, at), rows[i].rates[k], 1e-12 * rows[i].rates[k]);
            }
}

/* fairseq's cosine_lr_scheduler: a warm-up of 100 updates, a first period of 1000; periods that double and halve in
 * height, and equal periods that fall to 0.8. */
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
        g_assert_cmpfloat_with_epsilon(schedule_lr(&schedule, counts(updates[i], 1)), doubled[i], 1e-12 * doubled[i]);
    schedule.cycle_growth = 1;
    schedule.cycle_shrink = 0.8;
    for (size_t i = 0; i < G_N_ELEMENTS(updates); i++)
        g_assert_cmpfloat_with_epsilon(schedule_lr(&schedule, counts(updates[i], 1)), equal[i], 1e-12 * equal[i]);
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
