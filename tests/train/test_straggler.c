/* Stragglers: the slowest rank is found beside those of its own stage, and warned of once. */
#include "train/services/services.h"

#include <glib.h>

/* straggler_find for n ranks that computed for these times of a step of 5 seconds. */
static void find(Straggler *straggler, const double *computed, const int *stages, int n)
{
    RankPace ranks[4];
    for (int r = 0; r < n; r++)
        ranks[r] = (RankPace){ computed[r], 5, 1, stages[r] };
    straggler_find(straggler, ranks, n);
}

static void the_slowest_is_found(void)
{
    Straggler s = { 0 };
    find(&s, (double[]){ 1, 1.1, 1.5, 0.9 }, (int[]){ 0, 0, 0, 0 }, 4);
    g_assert_cmpint(s.rank, ==, 2);
    g_assert_cmpfloat_with_epsilon(s.factor, 1.5, 1e-12); /* of 0.9, 1, 1.1 and 1.5 the lower median is 1 */
    g_assert_cmpint(s.lines, ==, 1);
    find(&s, (double[]){ 1, 1, 1 }, (int[]){ 0, 0, 0 }, 3);
    g_assert_true(s.rank == 0 && s.factor == 1 && s.lines == 0);
    find(&s, (double[]){ 0, 0 }, (int[]){ 0, 0 }, 2); /* nothing computed */
    g_assert_true(s.rank == 0 && s.factor == 1);
}

static void stages_are_not_compared(void)
{
    Straggler s = { 0 };
    find(&s, (double[]){ 1, 1, 4, 4.4 }, (int[]){ 0, 0, 1, 1 }, 4);
    g_assert_cmpint(s.rank, ==, 3);
    g_assert_cmpfloat_with_epsilon(s.factor, 1.1, 1e-12);
    g_assert_cmpint(s.lines, ==, 0);
}

/* Twice as slow, and yet only 4 % of the step. */
static void what_costs_little_is_not_warned_of(void)
{
    Straggler s = { 0 };
    find(&s, (double[]){ 0.2, 0.4 }, (int[]){ 0, 0 }, 2);
    g_assert_true(s.rank == 1 && s.factor == 2 && s.lines == 0);
}

/* Warned of at the third line in a row; again only after another rank, or none, was the slowest. */
static void one_warning_of_a_row(void)
{
    Straggler s = { 0 };
    const int stages[2] = { 0 };
    const double of_rank_1[8] = { 2, 2, 2, 2, 1.1, 2, 2, 2 };
    for (int i = 0; i < 8; i++) {
        find(&s, (double[]){ 1, of_rank_1[i] }, stages, 2);
        g_assert_cmpint(s.new, ==, i == 2 || i == 7);
    }
    find(&s, (double[]){ 2, 1 }, stages, 2);
    g_assert_true(s.rank == 0 && s.lines == 1);
}

/* Lines of 10 ms are too short to mean anything, until 3 seconds of them have passed. */
static void short_lines_are_not_warned_of(void)
{
    Straggler s = { 0 };
    const RankPace ranks[2] = { { 1, 2, 0.01, 0 }, { 1.5, 2, 0.01, 0 } };
    int at = -1;
    for (int i = 0; i < 400; i++) {
        straggler_find(&s, ranks, 2);
        at = s.new ? i : at;
    }
    g_assert_true(at >= 299 && at <= 301);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/the_slowest_is_found", the_slowest_is_found);
    g_test_add_func("/stages_are_not_compared", stages_are_not_compared);
    g_test_add_func("/what_costs_little_is_not_warned_of", what_costs_little_is_not_warned_of);
    g_test_add_func("/one_warning_of_a_row", one_warning_of_a_row);
    g_test_add_func("/short_lines_are_not_warned_of", short_lines_are_not_warned_of);
    return g_test_run();
}
