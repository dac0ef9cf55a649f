#include "data/row_plan.h"

#include "base/philox.h"
#include "data/data_test.h"

enum { LARGE = 400001 }; /* in blocks, of which some samples are left, an odd number */

/* Short texts in one half of the dataset, whole rows in the other: no order of the file makes blocks unequal. */
static PackLength of_two_halves(G_GNUC_UNUSED const void *context, int64_t sample)
{
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), (uint64_t)sample);
    return (PackLength){ sample < LARGE / 2 ? 1 + (int64_t)philox_below(&rng, 60) : 100, 0 };
}

static PackLength third_of_a_row(G_GNUC_UNUSED const void *context, G_GNUC_UNUSED int64_t sample)
{
    return (PackLength){ 4, 1 };
}

static PackLength whole_row(G_GNUC_UNUSED const void *context, G_GNUC_UNUSED int64_t sample)
{
    return (PackLength){ 100, 0 };
}

static RowPlan *open_plan(int64_t n, int64_t group, PackLengthFn length, bool whole)
{
    const RowPlanSpec spec = { .n_samples = n,
                               .n_group = group,
                               .capacity = length == third_of_a_row ? (PackLength){ 12, 4 } : (PackLength){ 100, 0 },
                               .length = length,
                               .seed = 3,
                               .whole = whole };
    return row_plan_open(&spec);
}

/* Every sample is in one row of the epoch, no row exceeds its capacity, and samples 2i and 2i + 1 are in one block. */
static void check_epoch(RowPlan *plan, int64_t n, PackLengthFn length, uint64_t epoch, uint32_t *firsts)
{
    g_autofree bool *seen = g_new0(bool, n);
    int64_t samples = 0;
    for (int64_t at = 0; at < row_plan_rows(plan); at++) {
        const RowSamples row = row_plan_get(plan, epoch, at);
        int64_t used = 0;
        g_assert_cmpint(row.n, >=, 1);
        g_assert_cmpint(row.n, <=, row_plan_max_samples(plan));
        firsts[at] = row.samples[0];
        for (int64_t i = 0; i < row.n; i++) {
            g_assert_false(seen[row.samples[i]]);
            seen[row.samples[i]] = true;
            used += length(NULL, row.samples[i]).enc;
        }
        samples += row.n;
        g_assert_cmpint(used, <=, 100);
    }
    g_assert_cmpint(samples, ==, n);
}

static void blocks_hold_every_sample_once_in_another_order_per_epoch(void)
{
    RowPlan *plan = open_plan(LARGE, 0, of_two_halves, false);
    const int64_t rows = row_plan_rows(plan);
    g_autofree uint32_t *first = g_new(uint32_t, rows), *second = g_new(uint32_t, rows);
    check_epoch(plan, LARGE, of_two_halves, 0, first);
    check_epoch(plan, LARGE, of_two_halves, 1, second);
    int64_t same = 0, early = 0;
    for (int64_t at = 0; at < rows; at++) {
        same += first[at] == second[at];
        early += at < 1000 && first[at] < LARGE / 2;
    }
    g_assert_cmpint(same, <, 20);
    g_assert_cmpint(early, >, 150); /* of 1000 rows, a quarter hold short texts: blocks mix the whole dataset */
    g_assert_cmpint(early, <, 350);
    g_assert_cmpfloat(row_plan_fill(plan), >, 0.97);
    row_plan_close(plan);
}

/* Jumps, as of a run that resumes, and of ranks at different rows, give the rows that a walk gives. */
static void a_row_of_blocks_is_a_function_of_its_index(void)
{
    RowPlan *walked = open_plan(LARGE, 0, of_two_halves, false), *jumped = open_plan(LARGE, 0, of_two_halves, false);
    const int64_t rows = row_plan_rows(walked);
    g_assert_cmpint(row_plan_rows(jumped), ==, rows);
    for (int64_t at = rows - 1; at > 0; at -= rows / 7) {
        const RowSamples want = row_plan_get(walked, 2, at), got = row_plan_get(jumped, 2, at);
        g_assert_cmpint(want.n, ==, got.n);
        assert_same(got.samples, want.samples, (size_t)want.n * sizeof *want.samples);
        row_plan_get(jumped, 0, rows - at);
    }
    row_plan_close(walked);
    row_plan_close(jumped);
}

/* Blocks of equal lengths leave no room for a margin: each sample has its own row. */
static void a_row_has_a_sample_at_least(void)
{
    RowPlan *plan = open_plan(LARGE, 0, whole_row, false);
    g_autofree uint32_t *firsts = g_new(uint32_t, LARGE);
    g_assert_cmpint(row_plan_rows(plan), ==, LARGE);
    check_epoch(plan, LARGE, whole_row, 0, firsts);
    row_plan_close(plan);
}

/* Small datasets, and runs of former versions, have one order of all rows. */
static void whole_plans_shuffle_all_rows(void)
{
    const int64_t sizes[] = { 1, 10, 3000, ROW_PLAN_WHOLE };
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        RowPlan *plan = open_plan(sizes[i], 0, third_of_a_row, false);
        RowPlan *whole = open_plan(sizes[i], 0, third_of_a_row, true);
        const PhiloxKey key = philox_key(3, PHILOX_SAMPLE_ORDER, 0);
        g_assert_cmpint(row_plan_rows(plan), ==, (sizes[i] + 2) / 3);
        for (int64_t at = 0; at < row_plan_rows(plan); at += 1 + sizes[i] / 50) {
            int64_t row = (int64_t)philox_permute(key, 4, (uint64_t)at, (uint64_t)row_plan_rows(plan));
            g_assert_cmpint(row_plan_get(plan, 4, at).samples[0], ==, 3 * row);
            g_assert_cmpint(row_plan_get(whole, 4, at).samples[0], ==, 3 * row);
        }
        row_plan_close(plan);
        row_plan_close(whole);
    }
    RowPlan *large = open_plan(LARGE, 0, third_of_a_row, true);
    g_assert_cmpint(row_plan_rows(large), ==, (LARGE + 2) / 3);
    row_plan_close(large);
}

static void groups_are_rows(void)
{
    RowPlan *plan = open_plan(10, 3, third_of_a_row, false);
    g_autofree uint32_t *firsts = g_new(uint32_t, 4);
    g_assert_cmpint(row_plan_rows(plan), ==, 4);
    g_assert_cmpint(row_plan_max_samples(plan), ==, 3);
    g_assert_cmpfloat(row_plan_fill(plan), ==, 50. / 64);
    check_epoch(plan, 10, third_of_a_row, 0, firsts);
    row_plan_close(plan);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/row_plan/blocks_hold_every_sample_once_in_another_order_per_epoch",
                    blocks_hold_every_sample_once_in_another_order_per_epoch);
    g_test_add_func("/row_plan/a_row_of_blocks_is_a_function_of_its_index", a_row_of_blocks_is_a_function_of_its_index);
    g_test_add_func("/row_plan/a_row_has_a_sample_at_least", a_row_has_a_sample_at_least);
    g_test_add_func("/row_plan/whole_plans_shuffle_all_rows", whole_plans_shuffle_all_rows);
    g_test_add_func("/row_plan/groups_are_rows", groups_are_rows);
    return g_test_run();
}
