#include "data/epoch_plan.h"

#include "base/philox.h"
#include "data/data_test.h"

typedef struct Lengths {
    PackLength capacity, *of;
} Lengths;

static PackLength length_of(const void *context, int64_t sample)
{
    return ((const Lengths *)context)->of[sample];
}

/* Of documents: many short ones, few that fill a packed sequence. */
static Lengths draw_lengths(int64_t n, PackLength capacity, bool both)
{
    Lengths lengths = { capacity, g_new0(PackLength, n) };
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), (uint64_t)n);
    for (int64_t i = 0; i < n; i++) {
        double u = philox_uniform(&rng), whole = u * u * (double)(capacity.enc - 4);
        double share = both ? philox_uniform(&rng) : 1;
        lengths.of[i].enc = 1 + (int64_t)(share * whole);
        lengths.of[i].dec = both ? 1 + (int64_t)((1 - share) * whole * (double)capacity.dec / (double)capacity.enc) : 0;
    }
    return lengths;
}

/* Every sample once, none above the capacity. */
static void check_plan(const PackPlan *plan, const Lengths *lengths, int64_t n)
{
    g_autofree bool *seen = g_new0(bool, n);
    g_assert_cmpint(plan->n_samples, ==, n);
    g_assert_cmpint(plan->starts[0], ==, 0);
    g_assert_cmpint(plan->starts[plan->n_packed], ==, n);
    for (int64_t at = 0; at < plan->n_packed; at++) {
        PackLength used = { 0 };
        g_assert_cmpint(plan->starts[at + 1], >, plan->starts[at]);
        g_assert_cmpint(plan->starts[at + 1] - plan->starts[at], <=, plan->max_samples);
        for (int64_t i = plan->starts[at]; i < plan->starts[at + 1]; i++) {
            uint32_t sample = plan->samples[i];
            g_assert_false(seen[sample]);
            seen[sample] = true;
            used.enc += lengths->of[sample].enc;
            used.dec += lengths->of[sample].dec;
        }
        g_assert_cmpint(used.enc, <=, lengths->capacity.enc);
        g_assert_cmpint(used.dec, <=, lengths->capacity.dec);
    }
}

static void every_sample_has_one_row_and_no_row_overflows(void)
{
    const PackLength capacities[] = { { 512, 0 }, { 0, 300 }, { 512, 512 }, { 64, 15 }, { 5000, 3000 } };
    for (size_t i = 0; i < G_N_ELEMENTS(capacities); i++)
        for (int64_t n = 0; n < 3000; n = 3 * n + 1) {
            PackLength capacity = capacities[i];
            bool only_dec = capacity.enc == 0;
            Lengths lengths = draw_lengths(n, only_dec ? (PackLength){ capacity.dec, 0 } : capacity,
                                           capacity.enc > 0 && capacity.dec > 0);
            for (int64_t s = 0; only_dec && s < n; s++)
                lengths.of[s] = (PackLength){ 0, lengths.of[s].enc };
            lengths.capacity = capacity;
            PackPlan *plan = pack_plan(n, capacity, length_of, &lengths, 0);
            check_plan(plan, &lengths, n);
            pack_free(plan);
            g_free(lengths.of);
        }
}

static double fill(int64_t used, int64_t all)
{
    return (double)used / (double)all;
}

static void rows_are_full(void)
{
    enum { N = 100000 };
    Lengths one = draw_lengths(N, (PackLength){ 512, 0 }, false), two = draw_lengths(N, (PackLength){ 512, 512 }, true);
    PackPlan *single = pack_plan(N, one.capacity, length_of, &one, 0),
             *both = pack_plan(N, two.capacity, length_of, &two, 0);
    g_test_message("fill %.4f; %.4f and %.4f", fill(single->used.enc, single->all.enc),
                   fill(both->used.enc, both->all.enc), fill(both->used.dec, both->all.dec));
    g_assert_cmpfloat(fill(single->used.enc, single->all.enc), >, 0.99);
    g_assert_cmpfloat(fill(both->used.enc, both->all.enc), >, 0.97);
    g_assert_cmpfloat(fill(both->used.dec, both->all.dec), >, 0.97);
    pack_free(single);
    pack_free(both);
    g_free(one.of);
    g_free(two.of);
}

static void a_plan_depends_on_its_arguments_alone(void)
{
    Lengths lengths = draw_lengths(5000, (PackLength){ 100, 60 }, true);
    PackPlan *a = pack_plan(5000, lengths.capacity, length_of, &lengths, 0);
    PackPlan *b = pack_plan(5000, lengths.capacity, length_of, &lengths, 0);
    g_assert_cmpint(a->n_packed, ==, b->n_packed);
    assert_same(a->samples, b->samples, 5000 * sizeof *a->samples);
    pack_free(a);
    pack_free(b);
    g_free(lengths.of);
}

static PackLength third_of_a_row(G_GNUC_UNUSED const void *context, G_GNUC_UNUSED int64_t sample)
{
    return (PackLength){ 4, 1 };
}

/* The blocks are 2^20 samples: one sample more is packed on its own. */
static void blocks_do_not_share_rows(void)
{
    PackPlan *plan = pack_plan(PACK_BLOCK + 1, (PackLength){ 12, 4 }, third_of_a_row, NULL, 0);
    g_assert_cmpint(plan->n_packed, ==, (PACK_BLOCK + 2) / 3 + 1);
    g_assert_cmpint(plan->samples[plan->starts[plan->n_packed - 1]], ==, PACK_BLOCK);
    pack_free(plan);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pack/every_sample_has_one_row_and_no_row_overflows",
                    every_sample_has_one_row_and_no_row_overflows);
    g_test_add_func("/pack/rows_are_full", rows_are_full);
    g_test_add_func("/pack/a_plan_depends_on_its_arguments_alone", a_plan_depends_on_its_arguments_alone);
    g_test_add_func("/pack/blocks_do_not_share_rows", blocks_do_not_share_rows);
    return g_test_run();
}
