#include "param/optim.h"

#include <glib.h>
#include <math.h>

static double at_update(int kind, double lr, double min_lr, int64_t update)
{
    Schedule schedule = {
        .kind = kind, .lr = lr, .min_lr = min_lr, .power = 1, .scale = 1, .warmup = 100, .total = 1000
    };
    return schedule_lr(&schedule, update, 1);
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
    Schedule schedule = { .kind = SCHEDULE_POLYNOMIAL, .lr = 1, .power = 2, .warmup = 100, .total = 1000 };
    g_assert_cmpfloat_with_epsilon(schedule_lr(&schedule, 325, 1), .75 * .75, 1e-12);
}

static void test_warmup(void)
{
    for (int kind = 0; kind <= SCHEDULE_PLATEAU; kind++) {
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
    g_assert_cmpfloat(schedule_lr(&schedule, 1, 1), ==, 1);
    g_assert_cmpfloat(schedule_lr(&schedule, 4, 1), ==, 0.5);
    schedule = (Schedule){ .kind = SCHEDULE_LINEAR, .lr = 1, .total = 10 };
    g_assert_cmpfloat_with_epsilon(schedule_lr(&schedule, 1, 1), 0.9, 1e-12);
}

/* The plateau schedule is its peak times the scale that drops give it; the scale leaves the warm-up as it is. */
static void test_plateau(void)
{
    Schedule schedule = { .kind = SCHEDULE_PLATEAU, .lr = 0.8, .min_lr = 0.1, .warmup = 10, .total = 1000, .scale = 1 };
    g_assert_cmpfloat(schedule_lr(&schedule, 5, 1), ==, 0.4);
    g_assert_cmpfloat(schedule_lr(&schedule, 900, 1), ==, 0.8);
    schedule.scale = 0.25;
    g_assert_cmpfloat(schedule_lr(&schedule, 900, 1), ==, 0.2);
    schedule.scale = 0.0625;
    g_assert_cmpfloat(schedule_lr(&schedule, 900, 1), ==, 0.1);
    g_assert_false(schedule_warmed_up(&schedule, 9, 1000));
    g_assert_true(schedule_warmed_up(&schedule, 10, 1));
    schedule.warmup_in_tokens = true;
    g_assert_true(schedule_warmed_up(&schedule, 1, 1000));
}

/* A warm-up as long as the run leaves nothing to decay over. */
static void test_warmup_to_the_end(void)
{
    Schedule schedule = { .kind = SCHEDULE_COSINE, .lr = 1, .min_lr = 0.25, .warmup = 10, .total = 10 };
    g_assert_cmpfloat(schedule_lr(&schedule, 10, 1), ==, 1);
    g_assert_cmpfloat(schedule_lr(&schedule, 11, 1), ==, 0.25);
}

/* In tokens the course is that of the tokens, however many updates they took. */
static void test_tokens(void)
{
    Schedule updates = { .kind = SCHEDULE_COSINE, .lr = 1, .min_lr = 0.1, .warmup = 100, .total = 1000 };
    Schedule tokens = { .kind = SCHEDULE_COSINE, .lr = 1, .min_lr = 0.1, .warmup = 100, .total = 1000 };
    tokens.warmup_in_tokens = tokens.total_in_tokens = true;
    for (int64_t n = 1; n <= 1200; n += 7)
        g_assert_cmpfloat(schedule_lr(&tokens, 1 + n / 3, n), ==, schedule_lr(&updates, n, 1));
    tokens.kind = updates.kind = SCHEDULE_INVERSE_SQRT;
    g_assert_cmpfloat(schedule_lr(&tokens, 7, 325), ==, schedule_lr(&updates, 325, 7));
}

/* A warm-up of 10 updates and a length of 1000 tokens, at 20 tokens an update, and the other way round. */
static void test_units_may_differ(void)
{
    Schedule length = { .kind = SCHEDULE_LINEAR, .lr = 1, .warmup = 10, .total = 1000, .total_in_tokens = true };
    g_assert_cmpfloat(schedule_lr(&length, 5, 100), ==, 0.5);
    g_assert_cmpfloat(schedule_lr(&length, 10, 200), ==, 1);
    g_assert_cmpfloat_with_epsilon(schedule_lr(&length, 30, 600), 0.5, 1e-12);
    g_assert_cmpfloat(schedule_lr(&length, 50, 1000), ==, 0);
    Schedule warmup = { .kind = SCHEDULE_LINEAR, .lr = 1, .warmup = 200, .total = 50, .warmup_in_tokens = true };
    g_assert_cmpfloat(schedule_lr(&warmup, 5, 100), ==, 0.5);
    g_assert_cmpfloat(schedule_lr(&warmup, 10, 200), ==, 1);
    g_assert_cmpfloat_with_epsilon(schedule_lr(&warmup, 30, 600), 0.5, 1e-12);
    g_assert_cmpfloat(schedule_lr(&warmup, 50, 1000), ==, 0);
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
    return g_test_run();
}
