#include "data/epoch_plan.h"

#include "base/philox.h"
#include "data/data_test.h"

enum { LARGE = 400001 }; /* in blocks, of which some samples are left, an odd number */

/* Short texts in one half of the dataset, whole packed sequences in the other: no order of the file makes blocks
 * unequal. */
static PackLength of_two_halves(G_GNUC_UNUSED const void *context, int64_t sample)
{
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), (uint64_t)sample);
    return (PackLength){ sample < LARGE / 2 ? 1 + (int64_t)philox_below(&rng, 60) : 100, 0 };
}

static PackLength third_of_capacity(G_GNUC_UNUSED const void *context, G_GNUC_UNUSED int64_t sample)
{
    return (PackLength){ 4, 1 };
}

static PackLength whole_capacity(G_GNUC_UNUSED const void *context, G_GNUC_UNUSED int64_t sample)
{
    return (PackLength){ 100, 0 };
}

static EpochPlan *open_plan(int64_t n, int64_t group, PackLengthFn length, bool whole)
{
    const EpochPlanSpec spec = { .n_samples = n,
                                 .n_group = group,
                                 .capacity =
                                     length == third_of_capacity ? (PackLength){ 12, 4 } : (PackLength){ 100, 0 },
                                 .length = length,
                                 .seed = 3,
                                 .whole = whole };
    return epoch_plan_open(&spec);
}

/* Every sample is once in the epoch, none exceeds the capacity, and samples 2i and 2i + 1 are in one block. */
static void check_epoch(EpochPlan *plan, int64_t n, PackLengthFn length, uint64_t epoch, uint32_t *firsts)
{
    g_autofree bool *seen = g_new0(bool, n);
    int64_t samples = 0;
    for (int64_t at = 0; at < epoch_plan_packed(plan); at++) {
        const PackedSamples packed = epoch_plan_get(plan, epoch, at);
        int64_t used = 0;
        g_assert_cmpint(packed.n, >=, 1);
        g_assert_cmpint(packed.n, <=, epoch_plan_max_samples(plan));
        firsts[at] = packed.samples[0];
        for (int64_t i = 0; i < packed.n; i++) {
            g_assert_false(seen[packed.samples[i]]);
            seen[packed.samples[i]] = true;
            used += length(NULL, packed.samples[i]).enc;
        }
        samples += packed.n;
        g_assert_cmpint(used, <=, 100);
    }
    g_assert_cmpint(samples, ==, n);
}

static void blocks_hold_every_sample_once_in_another_order_per_epoch(void)
{
    EpochPlan *plan = open_plan(LARGE, 0, of_two_halves, false);
    const int64_t packed = epoch_plan_packed(plan);
    g_autofree uint32_t *first = g_new(uint32_t, packed), *second = g_new(uint32_t, packed);
    check_epoch(plan, LARGE, of_two_halves, 0, first);
    check_epoch(plan, LARGE, of_two_halves, 1, second);
    int64_t same = 0, early = 0;
    for (int64_t at = 0; at < packed; at++) {
        same += first[at] == second[at];
        early += at < 1000 && first[at] < LARGE / 2;
    }
    g_assert_cmpint(same, <, 20);
    g_assert_cmpint(early, >, 150); /* a quarter of 1000 hold short texts: blocks mix the whole dataset */
    g_assert_cmpint(early, <, 350);
    g_assert_cmpfloat(epoch_plan_fill(plan), >, 0.97);
    epoch_plan_close(plan);
}

/* Jumps, as of a run that resumes, and of ranks at different places, give what a walk gives. */
static void a_packed_sequence_of_blocks_is_a_function_of_its_index(void)
{
    EpochPlan *walked = open_plan(LARGE, 0, of_two_halves, false), *jumped = open_plan(LARGE, 0, of_two_halves, false);
    const int64_t packed = epoch_plan_packed(walked);
    g_assert_cmpint(epoch_plan_packed(jumped), ==, packed);
    for (int64_t at = packed - 1; at > 0; at -= packed / 7) {
        const PackedSamples want = epoch_plan_get(walked, 2, at), got = epoch_plan_get(jumped, 2, at);
        g_assert_cmpint(want.n, ==, got.n);
        assert_same(got.samples, want.samples, (size_t)want.n * sizeof *want.samples);
        epoch_plan_get(jumped, 0, packed - at);
    }
    epoch_plan_close(walked);
    epoch_plan_close(jumped);
}

/* Blocks of equal lengths leave no room for a margin: each sample has its own packed sequence. */
static void a_packed_sequence_has_a_sample_at_least(void)
{
    EpochPlan *plan = open_plan(LARGE, 0, whole_capacity, false);
    g_autofree uint32_t *firsts = g_new(uint32_t, LARGE);
    g_assert_cmpint(epoch_plan_packed(plan), ==, LARGE);
    check_epoch(plan, LARGE, whole_capacity, 0, firsts);
    epoch_plan_close(plan);
}

/* Small datasets, and runs of former versions, have one order of all packed sequences. */
static void whole_plans_shuffle_all(void)
{
    const int64_t sizes[] = { 1, 10, 3000, EPOCH_PLAN_WHOLE };
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        EpochPlan *plan = open_plan(sizes[i], 0, third_of_capacity, false);
        EpochPlan *whole = open_plan(sizes[i], 0, third_of_capacity, true);
        const PhiloxKey key = philox_key(3, PHILOX_SAMPLE_ORDER, 0);
        g_assert_cmpint(epoch_plan_packed(plan), ==, (sizes[i] + 2) / 3);
        for (int64_t at = 0; at < epoch_plan_packed(plan); at += 1 + sizes[i] / 50) {
            int64_t number = (int64_t)philox_permute(key, 4, (uint64_t)at, (uint64_t)epoch_plan_packed(plan));
            g_assert_cmpint(epoch_plan_get(plan, 4, at).samples[0], ==, 3 * number);
            g_assert_cmpint(epoch_plan_get(whole, 4, at).samples[0], ==, 3 * number);
        }
        epoch_plan_close(plan);
        epoch_plan_close(whole);
    }
    EpochPlan *large = open_plan(LARGE, 0, third_of_capacity, true);
    g_assert_cmpint(epoch_plan_packed(large), ==, (LARGE + 2) / 3);
    epoch_plan_close(large);
}

static void groups_are_packed_together(void)
{
    EpochPlan *plan = open_plan(10, 3, third_of_capacity, false);
    g_autofree uint32_t *firsts = g_new(uint32_t, 4);
    g_assert_cmpint(epoch_plan_packed(plan), ==, 4);
    g_assert_cmpint(epoch_plan_max_samples(plan), ==, 3);
    g_assert_cmpfloat(epoch_plan_fill(plan), ==, 50. / 64);
    check_epoch(plan, 10, third_of_capacity, 0, firsts);
    epoch_plan_close(plan);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/epoch_plan/blocks_hold_every_sample_once_in_another_order_per_epoch",
                    blocks_hold_every_sample_once_in_another_order_per_epoch);
    g_test_add_func("/epoch_plan/a_packed_sequence_of_blocks_is_a_function_of_its_index",
                    a_packed_sequence_of_blocks_is_a_function_of_its_index);
    g_test_add_func("/epoch_plan/a_packed_sequence_has_a_sample_at_least", a_packed_sequence_has_a_sample_at_least);
    g_test_add_func("/epoch_plan/whole_plans_shuffle_all", whole_plans_shuffle_all);
    g_test_add_func("/epoch_plan/groups_are_packed_together", groups_are_packed_together);
    return g_test_run();
}
