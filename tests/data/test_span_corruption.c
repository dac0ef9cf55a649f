#include "data/objectives/objectives.h"

#include "data/objective_test.h"

#include <math.h>

enum { V = 32100, EOS = 1 };

static ObjectiveConfig config_of(int64_t input_length)
{
    return (ObjectiveConfig){ .input_length = input_length,
                              .noise_density = 0.15,
                              .eos = EOS,
                              .first_sentinel = V - 1,
                              .n_sentinels = 100,
                              .own = OWN(SpanCorruptionSettings, 3) };
}

static Philox random_numbers(uint64_t stream)
{
    return philox_open(philox_key(42, PHILOX_OBJECTIVE, 0), stream);
}

static void lengths_are_those_of_the_reference(void)
{
    const int64_t table[][5] = { { 64, 70, 14, 10, 3 },
                                 { 128, 141, 29, 21, 7 },
                                 { 256, 284, 58, 43, 14 },
                                 { 512, 568, 114, 85, 28 },
                                 { 1024, 1137, 229, 171, 57 } };
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        ObjectiveConfig config = config_of(table[i][0]);
        g_autoptr(GError) error = NULL;
        g_assert_true(span_corruption_objective.plan(&config, &error));
        g_assert_cmpint(config.raw_length, ==, table[i][1]);
        g_assert_cmpint(config.target_length, ==, table[i][2]);
        g_assert_cmpint(span_corruption_noise(table[i][1], 0.15), ==, table[i][3]);
        g_assert_cmpint(span_corruption_spans(table[i][3], 3), ==, table[i][4]);
    }
}

/* The helper of the reference as it is written there: f64, no clamps. */
static int64_t reference_raw_length(int64_t input_length, double density, double span)
{
    int64_t raw = input_length - 1;
    for (;;) {
        double noise = rint((double)(raw + 1) * density), spans = rint(noise / span);
        if (raw + 1 - (int64_t)noise + (int64_t)spans + 1 > input_length)
            return raw;
        raw++;
    }
}

static void raw_length_equals_the_f64_helper_within_reach(void)
{
    for (int64_t length = 16; length <= 1809; length++) {
        ObjectiveConfig config = config_of(length);
        g_assert_true(span_corruption_objective.plan(&config, NULL));
        g_assert_cmpint(config.raw_length, ==, reference_raw_length(length, 0.15, 3));
    }
}

static void raw_length_is_at_most_the_given_one(void)
{
    const int64_t given[][3] = { { 40, 40, 9 }, { 568, 568, 114 }, { 600, 568, 114 } }; /* given, planned, target */
    for (size_t i = 0; i < G_N_ELEMENTS(given); i++) {
        ObjectiveConfig config = config_of(512);
        config.raw_length = given[i][0];
        g_assert_true(span_corruption_objective.plan(&config, NULL));
        g_assert_cmpint(config.raw_length, ==, given[i][1]);
        g_assert_cmpint(config.target_length, ==, given[i][2]);
    }
}

static void lengths_beyond_the_sentinels_are_refused(void)
{
    ObjectiveConfig last = config_of(1809), beyond = config_of(1810), far = config_of(2048);
    g_autoptr(GError) error = NULL, far_error = NULL;
    g_assert_true(span_corruption_objective.plan(&last, NULL));
    g_assert_false(span_corruption_objective.plan(&beyond, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "needs 101 sentinels"));
    g_assert_false(span_corruption_objective.plan(&far, &far_error));
    g_assert_nonnull(strstr(far_error->message, "needs 114 sentinels"));
    g_assert_nonnull(strstr(far_error->message, "up to 1809 tokens"));
}

static void target_length_must_hold_the_targets(void)
{
    ObjectiveConfig short_by_one = config_of(512), roomy = config_of(512);
    g_autoptr(GError) error = NULL;
    short_by_one.target_length = 113;
    g_assert_false(span_corruption_objective.plan(&short_by_one, &error));
    g_assert_nonnull(strstr(error->message, "114"));
    roomy.target_length = 200;
    g_assert_true(span_corruption_objective.plan(&roomy, NULL));
    g_assert_cmpint(roomy.target_length, ==, 200);
}

static void a_density_that_takes_the_whole_corpus_is_refused(void)
{
    ObjectiveConfig config = config_of(1000000);
    g_autoptr(GError) error = NULL;
    config.noise_density = 0.999;
    config.own = OWN(SpanCorruptionSettings, 10000);
    g_assert_false(span_corruption_objective.plan(&config, &error));
    g_assert_nonnull(strstr(error->message, "data.noise_density=0.999"));
}

static void noise_is_rounded_in_f32(void)
{
    int differ = 0, first[4] = { 0 };
    for (int length = 2; length < 70000; length++) {
        int64_t wide = CLAMP((int64_t)rint(length * 0.15), 1, length - 1);
        if (span_corruption_noise(length, 0.15) == wide)
            continue;
        if (differ < 4)
            first[differ] = length;
        differ++;
    }
    assert_same(first, ((int[]){ 190, 350, 390, 670 }), sizeof first);
    g_assert_cmpint(differ, ==, 677);
}

static void the_example_of_the_specification(void)
{
    ObjectiveConfig config = config_of(64);
    int32_t tokens[20], inputs[64], targets[64];
    bool mask[20] = { [4] = true, [5] = true, [19] = true };
    Example example = { .inputs = inputs, .targets = targets };
    g_assert_true(span_corruption_objective.plan(&config, NULL));
    for (int i = 0; i < 20; i++)
        tokens[i] = 101 + i;
    span_corruption_apply(&config, mask, tokens, 20, &example);

    const int32_t want_inputs[] = { 101, 102, 103, 104, 32099, 107, 108, 109, 110,   111,
                                    112, 113, 114, 115, 116,   117, 118, 119, 32098, EOS };
    const int32_t want_targets[] = { 32099, 105, 106, 32098, 120, EOS };
    g_assert_cmpint(example.n_inputs, ==, G_N_ELEMENTS(want_inputs));
    assert_same(inputs, want_inputs, sizeof want_inputs);
    g_assert_cmpint(example.n_targets, ==, G_N_ELEMENTS(want_targets));
    assert_same(targets, want_targets, sizeof want_targets);
}

static int count_runs(const bool *mask, int64_t n)
{
    int runs = 0;
    for (int64_t i = 0; i < n; i++)
        runs += mask[i] && (i == 0 || !mask[i - 1]);
    return runs;
}

static void masks_hold_exactly_the_planned_noise(void)
{
    bool mask[568];
    for (uint64_t sample = 0; sample < 500; sample++) {
        Philox rng = random_numbers(sample);
        span_corruption_mask(&rng, 568, 0.15, 3, mask);
        int noise = 0;
        for (int i = 0; i < 568; i++)
            noise += mask[i];
        g_assert_cmpint(noise, ==, 85);
        g_assert_cmpint(count_runs(mask, 568), ==, 28);
        g_assert_false(mask[0]);
        g_assert_true(mask[567]);
    }
}

/* Length 12, density 1/2, spans of 2: 6 noise tokens in 3 spans and 6 others in 3, so 10 x 10 pairs of compositions
 * of 6 into 3, each equally likely. 99 degrees of freedom: chi2 has mean 99, deviation 14. */
static void compositions_are_uniform(void)
{
    enum { DRAWS = 100000 };
    int counts[4096] = { 0 }, distinct = 0;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        Philox rng = random_numbers(draw);
        bool mask[12];
        span_corruption_mask(&rng, 12, 0.5, 2, mask);
        unsigned bits = 0;
        for (int i = 0; i < 12; i++)
            bits |= (unsigned)mask[i] << i;
        counts[bits]++;
    }
    double chi2 = 0;
    for (int bits = 0; bits < 4096; bits++) {
        if (counts[bits] == 0)
            continue;
        distinct++;
        chi2 += pow(counts[bits] - DRAWS / 100.0, 2) / (DRAWS / 100.0);
    }
    g_assert_cmpint(distinct, ==, 100);
    g_assert_cmpfloat(chi2, <, 99 + 4 * 14);
    g_assert_cmpfloat(chi2, >, 99 - 4 * 14);
}

static void check_splice(ObjectiveConfig config, uint64_t sample)
{
    g_autofree int32_t *tokens = g_new(int32_t, config.raw_length);
    g_autofree int32_t *inputs = g_new(int32_t, config.input_length);
    g_autofree int32_t *targets = g_new(int32_t, config.target_length);
    g_autofree int32_t *spliced = g_new(int32_t, config.input_length + config.target_length);
    Example example = { .inputs = inputs, .targets = targets };
    Philox rng = random_numbers(sample);
    int64_t n = 1 + (int64_t)philox_below(&rng, (uint64_t)config.raw_length);
    for (int64_t i = 0; i < n; i++)
        tokens[i] = (int32_t)philox_below(&rng, V - 100);
    span_corruption_objective.apply(&config, NULL, &rng, &(Text){ .tokens = tokens, .n = n }, &example);

    g_assert_cmpint(example.n_inputs, <=, config.input_length);
    g_assert_cmpint(example.n_targets, <=, config.target_length);
    int64_t n_spliced = span_corruption_splice(&config, &example, spliced, NULL);
    g_assert_cmpint(n_spliced, ==, n);
    assert_same(spliced, tokens, (size_t)n * 4);
}

static void splicing_targets_into_inputs_gives_the_text(void)
{
    const double densities[] = { 0.001, 0.15, 0.5, 0.8, 0.999 }, spans[] = { 1, 1.5, 3, 32 };
    for (uint64_t sample = 0; sample < 4000; sample++) {
        Philox rng = random_numbers(sample + 1000000);
        ObjectiveConfig config = config_of(2 + (int64_t)philox_below(&rng, 100));
        config.noise_density = densities[philox_below(&rng, G_N_ELEMENTS(densities))];
        config.own = OWN(SpanCorruptionSettings, spans[philox_below(&rng, G_N_ELEMENTS(spans))]);
        if (span_corruption_objective.plan(&config, NULL))
            check_splice(config, sample);
    }
    ObjectiveConfig full = config_of(512);
    g_assert_true(span_corruption_objective.plan(&full, NULL));
    for (uint64_t sample = 0; sample < 1000; sample++)
        check_splice(full, sample);
}

static void splice_refuses_what_does_not_fit_together(void)
{
    ObjectiveConfig config = config_of(64);
    int32_t inputs[] = { 5, V - 1, 6, V - 2, EOS }, out[32];
    int32_t swapped[] = { V - 2, 8, V - 1, 7, EOS }, missing[] = { V - 1, 7, EOS };
    int32_t surplus[] = { V - 1, 7, V - 2, 8, V - 3, 9, EOS }, no_eos[] = { V - 1, 7, V - 2, 8 };
    Example example = { .inputs = inputs, .n_inputs = 5 };
    const struct {
        int32_t *targets;
        int64_t n;
    } bad[] = { { swapped, 5 }, { missing, 3 }, { surplus, 7 }, { no_eos, 4 }, { no_eos, 0 } };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        example.targets = bad[i].targets;
        example.n_targets = bad[i].n;
        g_assert_cmpint(span_corruption_splice(&config, &example, out, NULL), ==, -1);
    }
}

static void names_are_those_of_the_table(void)
{
    for (int i = 0; objective_names[i]; i++)
        for (int alone = 0; alone < 2; alone++) /* a variant has the name that was asked for */
            g_assert_cmpstr(objective_for(i, alone)->name, ==, objective_names[i]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/span_corruption/lengths_are_those_of_the_reference", lengths_are_those_of_the_reference);
    g_test_add_func("/span_corruption/raw_length_equals_the_f64_helper_within_reach",
                    raw_length_equals_the_f64_helper_within_reach);
    g_test_add_func("/span_corruption/raw_length_is_at_most_the_given_one", raw_length_is_at_most_the_given_one);
    g_test_add_func("/span_corruption/lengths_beyond_the_sentinels_are_refused",
                    lengths_beyond_the_sentinels_are_refused);
    g_test_add_func("/span_corruption/target_length_must_hold_the_targets", target_length_must_hold_the_targets);
    g_test_add_func("/span_corruption/a_density_that_takes_the_whole_corpus_is_refused",
                    a_density_that_takes_the_whole_corpus_is_refused);
    g_test_add_func("/span_corruption/noise_is_rounded_in_f32", noise_is_rounded_in_f32);
    g_test_add_func("/span_corruption/the_example_of_the_specification", the_example_of_the_specification);
    g_test_add_func("/span_corruption/masks_hold_exactly_the_planned_noise", masks_hold_exactly_the_planned_noise);
    g_test_add_func("/span_corruption/compositions_are_uniform", compositions_are_uniform);
    g_test_add_func("/span_corruption/splicing_targets_into_inputs_gives_the_text",
                    splicing_targets_into_inputs_gives_the_text);
    g_test_add_func("/span_corruption/splice_refuses_what_does_not_fit_together",
                    splice_refuses_what_does_not_fit_together);
    g_test_add_func("/objective/names_are_those_of_the_table", names_are_those_of_the_table);
    return g_test_run();
}
