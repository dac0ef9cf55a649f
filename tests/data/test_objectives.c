/* The objectives beside span corruption, each as a function of its arguments. */
#include "data/objectives/objectives.h"

#include "data/objective_test.h"
#include "text/tokenizer.h"

#include <math.h>

enum { V = 200, EOS = 1, FIRST_SENTINEL = V - 1, CLS = 2, SEP = 3, MASK = 4, TEXT = 5, TEXT_END = 100, PARTS = 60 };

static bool continues[V];

static ObjectiveConfig config_of(int64_t input_length)
{
    return (ObjectiveConfig){ .input_length = input_length,
                              .noise_density = 0.15,
                              .eos = EOS,
                              .first_sentinel = FIRST_SENTINEL,
                              .n_sentinels = 100,
                              .cls = CLS,
                              .sep = SEP,
                              .mask = MASK,
                              .vocab = V,
                              .continues = continues };
}

static Philox numbers(uint32_t purpose, uint64_t sample)
{
    return philox_open(philox_key(42, purpose, 0), sample);
}

/* Ids from PARTS on continue a word. */
static void draw_text(int32_t *tokens, int64_t n, uint64_t sample)
{
    Philox rng = numbers(PHILOX_SAMPLING, sample);
    for (int64_t i = 0; i < n; i++)
        tokens[i] = TEXT + (int32_t)philox_below(&rng, TEXT_END - TEXT);
}

/* The objective's settings are in config->own. */
static const Objective *plan(const char *name, ObjectiveConfig *config)
{
    g_autoptr(GError) error = NULL;
    const Objective *objective = objective_named(name);
    g_assert_true(objective->plan(config, &error));
    g_assert_no_error(error);
    return objective;
}

static const Objective *planned(const char *name, ObjectiveConfig *config)
{
    static const ObjectiveSettings settings = { .mlm = { .whole_word = true, .max_ngram = 1 } };
    config->own = objective_config(objective_index(name), &settings).own;
    return plan(name, config);
}

/* The example of a sample, whose lengths must be those that were foretold. */
static Choice make(const Objective *objective, const ObjectiveConfig *config, uint64_t sample, const int32_t *tokens,
                   int64_t n, Example *out)
{
    Choice choice = { .sample = (int64_t)sample,
                      .rng = numbers(PHILOX_CHOICE, sample),
                      .pair_rng = numbers(PHILOX_SAMPLING, sample / 2) };
    Philox rng = numbers(PHILOX_OBJECTIVE, sample);
    if (objective->choose)
        objective->choose(config, n, &choice);
    objective->apply(config, &choice, &rng, &(Text){ .tokens = tokens, .n = n }, out);
    if (objective->choose)
        g_assert_cmpint(out->n_inputs, ==, objective->streams == STREAMS_DECODER ? choice.n_targets : choice.n_inputs);
    if (objective->choose && objective->streams == STREAMS_BOTH)
        g_assert_cmpint(out->n_targets, ==, choice.n_targets);
    g_assert_cmpint(out->n_inputs, <=,
                    objective->streams == STREAMS_DECODER ? objective_dec_length(objective, config)
                                                          : objective_enc_length(objective, config));
    if (objective->streams == STREAMS_BOTH)
        g_assert_cmpint(out->n_targets, <=, config->target_length);
    return choice;
}

/* ---- encoder and decoder ---- */

static void prefix_lm_halves_make_the_text(void)
{
    ObjectiveConfig config = config_of(32);
    config.raw_length = 31;
    const Objective *objective = planned("prefix_lm", &config);
    int cuts[32] = { 0 };
    int32_t tokens[31];
    Example out;
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < 6000; sample++) {
        int64_t n = sample % 2 ? 31 : 2 + (int64_t)(sample % 30);
        draw_text(tokens, n, sample);
        make(objective, &config, sample, tokens, n, &out);
        int64_t cut = out.n_inputs - 1;
        g_assert_cmpint(out.n_inputs + out.n_targets, ==, n + 2);
        assert_same(out.inputs, tokens, (size_t)cut * 4);
        assert_same(out.targets, tokens + cut, (size_t)(n - cut) * 4);
        g_assert_cmpint(out.inputs[out.n_inputs - 1], ==, EOS);
        g_assert_cmpint(out.targets[out.n_targets - 1], ==, EOS);
        cuts[cut] += n == 31;
    }
    g_assert_cmpint(cuts[0] + cuts[31], ==, 0);
    for (int cut = 1; cut < 31; cut++) /* 3000 draws of 30: 100 each, deviation 10 */
        g_assert_cmpint(ABS(cuts[cut] - 100), <, 45);
    example_clear(&out);
}

static void prefix_lm_cuts_targets_to_their_length(void)
{
    ObjectiveConfig config = config_of(32);
    config.target_length = 4;
    config.raw_length = 31;
    const Objective *objective = planned("prefix_lm", &config);
    int32_t tokens[31];
    Example out;
    example_init(&out, &config);
    draw_text(tokens, 31, 0);
    for (uint64_t sample = 0; sample < 50; sample++) {
        make(objective, &config, sample, tokens, 31, &out);
        g_assert_cmpint(out.targets[out.n_targets - 1], ==, EOS);
    }
    example_clear(&out);
}

/* The text, one token on, and EOS; no loss on what the prefix predicts of itself. */
static void prefix_lm_on_a_decoder_alone_is_one_sequence(void)
{
    ObjectiveConfig config = config_of(32);
    const Objective *objective = objective_for(objective_index("prefix_lm"), true);
    int prefixes[33] = { 0 };
    int32_t tokens[32];
    Example out;
    g_assert_true(objective->streams == STREAMS_DECODER && objective->plan(&config, NULL));
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < 6000; sample++) {
        int64_t n = sample % 2 ? 32 : 2 + (int64_t)(sample % 31);
        draw_text(tokens, n, sample);
        Choice choice = make(objective, &config, sample, tokens, n, &out);
        g_assert_cmpint(choice.n_inputs, ==, 0);
        g_assert_cmpint(out.n_inputs, ==, n);
        assert_same(out.inputs, tokens, (size_t)n * 4);
        assert_same(out.targets, tokens + 1, (size_t)(n - 1) * 4);
        g_assert_cmpint(out.targets[n - 1], ==, EOS);
        for (int64_t i = 0; i < n; i++) {
            g_assert_true(out.weights[i] == (i >= out.prefix_length - 1 ? 1 : 0));
            g_assert_true(out.starts_sequence[i] == (i == 0) && out.position_ids[i] == i && out.token_types[i] == 0);
        }
        prefixes[out.prefix_length] += n == 32;
    }
    g_assert_cmpint(prefixes[0] + prefixes[32], ==, 0);
    for (int prefix = 1; prefix < 32; prefix++) /* 3000 draws of 31, and 96 others */
        g_assert_cmpint(ABS(prefixes[prefix] - 100), <, 45);
    example_clear(&out);
}

static void check_spliced(const ObjectiveConfig *config, const Example *example, const int32_t *tokens, int64_t n)
{
    int32_t out[2000];
    g_assert_cmpint(span_corruption_splice(config, example, out, NULL), ==, n);
    assert_same(out, tokens, (size_t)n * 4);
}

static void iid_denoising_splices_and_keeps_its_density(void)
{
    ObjectiveConfig config = config_of(128);
    config.raw_length = 127;
    const Objective *objective = planned("iid_denoising", &config);
    enum { SAMPLES = 2000 };
    int64_t masked = 0;
    int32_t tokens[127];
    Example out;
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        int64_t n = sample < 1000 ? 127 : 1 + (int64_t)(sample % 127);
        draw_text(tokens, n, sample);
        make(objective, &config, sample, tokens, n, &out);
        check_spliced(&config, &out, tokens, n);
        for (int64_t i = 0; sample < 1000 && i < out.n_targets; i++)
            masked += out.targets[i] < TEXT_END && out.targets[i] != EOS;
    }
    /* 126,000 draws of 0.15: deviation 127. */
    g_assert_cmpfloat(fabs((double)masked - 126000 * 0.15), <, 5 * 127);
    example_clear(&out);
}

static void iid_denoising_ends_its_noise_where_sentinels_end(void)
{
    ObjectiveConfig config = config_of(128);
    config.raw_length = 127;
    config.n_sentinels = 3;
    const Objective *objective = planned("iid_denoising", &config);
    int32_t tokens[127];
    Example out;
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < 100; sample++) {
        draw_text(tokens, 127, sample);
        make(objective, &config, sample, tokens, 127, &out);
        check_spliced(&config, &out, tokens, 127);
    }
    example_clear(&out);
}

/* UL2, table 1: the seven denoisers, of three modes; the sentinels from 97 on, the last one first, say which. */
enum { UL2_DENOISERS = 7, UL2_SEQUENTIAL = 1 };
static const int ul2_modes[UL2_DENOISERS] = { 0, 0, 1, 2, 2, 2, 2 };
static const double ul2_weights[UL2_DENOISERS] = { 1 / 6., 1 / 6., 1 / 3., 1 / 12., 1 / 12., 1 / 12., 1 / 12. };

static int64_t ul2_drawn(const Choice *choice)
{
    return *(const int64_t *)(const void *)&choice->own;
}

/* UL2, table 1: lengths for inputs of 512, here without the mode token that the paper leaves out. */
static void ul2_takes_the_denoisers_of_the_paper(void)
{
    ObjectiveConfig config = config_of(512);
    config.target_length = 380; /* rows are not filled by design */
    const Objective *objective = planned("ul2", &config);
    enum { SAMPLES = 6000 };
    int counts[UL2_DENOISERS] = { 0 };
    g_autofree int32_t *tokens = g_new(int32_t, config.raw_length);
    Example out;
    example_init(&out, &config);
    g_assert_cmpint(config.raw_length, ==, 567);
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        draw_text(tokens, config.raw_length, sample);
        Choice choice = make(objective, &config, sample, tokens, config.raw_length, &out);
        int64_t denoiser = ul2_drawn(&choice);
        counts[denoiser]++;
        g_assert_cmpint(out.inputs[0], ==, objective_sentinel(&config, config.n_sentinels + 2 - ul2_modes[denoiser]));
        const Example rest = { .inputs = out.inputs + 1,
                               .targets = out.targets,
                               .n_inputs = out.n_inputs - 1,
                               .n_targets = out.n_targets,
                               .label = -1 };
        check_spliced(&config, &rest, tokens, config.raw_length);
        if (ul2_modes[denoiser] == UL2_SEQUENTIAL) { /* one span at the end */
            g_assert_cmpint(rest.inputs[rest.n_inputs - 2], ==, FIRST_SENTINEL);
            assert_same(rest.inputs, tokens, (size_t)(rest.n_inputs - 2) * 4);
        }
    }
    for (int i = 0; i < UL2_DENOISERS; i++) {
        double want = SAMPLES * ul2_weights[i];
        g_assert_cmpfloat(fabs(counts[i] - want), <, 5 * sqrt(want));
    }
    example_clear(&out);
}

static void ul2_takes_texts_of_any_length(void)
{
    ObjectiveConfig config = config_of(40);
    const Objective *objective = planned("ul2", &config);
    int32_t tokens[100];
    Example out;
    example_init(&out, &config);
    for (int64_t n = 1; n <= config.raw_length; n++)
        for (uint64_t sample = 0; sample < 40; sample++) {
            draw_text(tokens, n, sample);
            make(objective, &config, sample, tokens, n, &out);
            const Example rest = { .inputs = out.inputs + 1,
                                   .targets = out.targets,
                                   .n_inputs = out.n_inputs - 1,
                                   .n_targets = out.n_targets,
                                   .label = -1 };
            check_spliced(&config, &rest, tokens, n);
        }
    example_clear(&out);
}

/* Rows of samples that follow each other in the text, every denoiser by its share of three rows. */
static void ul2_fills_its_rows_by_design(void)
{
    static const int64_t lengths[] = { 64, 100, 512, 700, 2048, 4096 };
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        ObjectiveConfig config = config_of(lengths[i]);
        const Objective *objective = planned("ul2", &config);
        int64_t at = 0, rows = 30, samples = rows * config.packed_samples, used[2] = { 0 };
        int counts[UL2_DENOISERS] = { 0 };
        for (int64_t row = 0, sample = 0; row < rows; row++) {
            int64_t n_inputs = 0, n_targets = 0;
            for (; sample < (row + 1) * config.packed_samples; sample++) {
                Choice choice = { .sample = sample };
                int64_t begin, n;
                objective->cut(&config, sample, &begin, &n);
                g_assert_cmpint(begin, ==, at);
                objective->choose(&config, n, &choice);
                counts[ul2_drawn(&choice)]++;
                n_inputs += choice.n_inputs;
                n_targets += choice.n_targets;
                at += n;
            }
            g_assert_cmpint(n_inputs, <=, config.input_length);
            g_assert_cmpint(n_targets, <=, config.target_length);
            used[0] += n_inputs;
            used[1] += n_targets;
        }
        g_assert_cmpfloat((double)used[0] / (double)(rows * config.input_length), >, 0.99);
        g_assert_cmpfloat((double)used[1] / (double)(rows * config.target_length), >, 0.97);
        for (int k = 0; k < UL2_DENOISERS; k++)
            g_assert_cmpfloat_with_epsilon(counts[k], ul2_weights[k] * (double)samples, 1e-6);
    }
}

/* ---- a decoder alone ---- */

static const int32_t documents[] = { 11, 12, EOS, 13, EOS, 14, 15 };

static void clm_moves_targets_by_one(void)
{
    ObjectiveConfig config = config_of(6);
    const Objective *objective = planned("clm", &config);
    Example out;
    example_init(&out, &config);
    make(objective, &config, 0, documents, 7, &out);
    g_assert_cmpint(config.raw_length, ==, 7);
    g_assert_cmpint(out.n_inputs, ==, 6);
    assert_same(out.inputs, documents, 6 * 4);
    assert_same(out.targets, documents + 1, 6 * 4);
    assert_same(out.position_ids, ((int32_t[]){ 0, 1, 2, 3, 4, 5 }), 6 * 4);
    assert_same(out.weights, ((float[]){ 1, 1, 1, 1, 1, 1 }), 6 * 4);
    assert_same(out.starts_sequence, ((bool[]){ true, false, false, false, false, false }), 6);
    example_clear(&out);
}

static void clm_ends_attention_positions_and_loss_at_eod(void)
{
    ObjectiveConfig config = config_of(6);
    config.own = OWN(ClmSettings, true, true, true);
    const Objective *objective = plan("clm", &config);
    Example out;
    example_init(&out, &config);
    make(objective, &config, 0, documents, 7, &out);
    assert_same(out.starts_sequence, ((bool[]){ true, false, false, true, false, true }), 6);
    assert_same(out.position_ids, ((int32_t[]){ 0, 1, 2, 0, 1, 0 }), 6 * 4);
    assert_same(out.weights, ((float[]){ 1, 1, 0, 1, 0, 1 }), 6 * 4);
    example_clear(&out);
}

static void full_lm_predicts_its_first_token_too(void)
{
    ObjectiveConfig config = config_of(7);
    const Objective *objective = planned("full_lm", &config);
    Example out;
    example_init(&out, &config);
    make(objective, &config, 0, documents, 7, &out);
    assert_same(out.inputs, ((int32_t[]){ EOS, 11, 12, EOS, 13, EOS, 14 }), 7 * 4);
    assert_same(out.targets, documents, 7 * 4);
    example_clear(&out);
}

/* ---- an encoder alone ---- */

typedef struct MlmCounts {
    int64_t predicted, hidden, kept, random;
} MlmCounts;

/* Adds what became of the predicted tokens of an example. */
static void count_hidden(const Example *out, MlmCounts *counts)
{
    for (int64_t i = 0; i < out->n_inputs; i++) {
        if (out->weights[i] == 0)
            continue;
        counts->predicted++;
        counts->hidden += out->inputs[i] == MASK;
        counts->kept += out->inputs[i] == out->targets[i];
        counts->random += out->inputs[i] != MASK && out->inputs[i] != out->targets[i];
    }
}

static bool near_share(int64_t count, int64_t all, double share)
{
    return fabs((double)count - (double)all * share) < 3 * sqrt((double)all * share * (1 - share));
}

static void mlm_hides_80_10_10(void)
{
    ObjectiveConfig config = config_of(64);
    config.own = OWN(MlmSettings, .max_ngram = 1);
    const Objective *objective = plan("mlm", &config);
    int32_t tokens[62];
    MlmCounts counts = { 0 };
    Example out;
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < 5000; sample++) {
        draw_text(tokens, 62, sample);
        make(objective, &config, sample, tokens, 62, &out);
        g_assert_cmpint(out.inputs[0], ==, CLS);
        g_assert_cmpint(out.inputs[63], ==, SEP);
        assert_same(out.targets + 1, tokens, 62 * 4);
        g_assert_true(out.weights[0] == 0 && out.weights[63] == 0);
        count_hidden(&out, &counts);
    }
    g_assert_cmpint(counts.predicted, ==, 5000 * 9); /* round(0.15 × 62) */
    g_assert_true(near_share(counts.hidden, counts.predicted, 0.8 + 0.1 / V));
    g_assert_true(near_share(counts.kept, counts.predicted, 0.1 + 0.1 / V));
    g_assert_true(near_share(counts.random, counts.predicted, 0.1 * (V - 2) / V));
    example_clear(&out);
}

static void mlm_hides_whole_words(void)
{
    ObjectiveConfig config = config_of(64);
    const Objective *objective = planned("mlm", &config);
    int32_t tokens[62];
    int64_t cut_words = 0, predicted = 0;
    Example out;
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < 1000; sample++) {
        draw_text(tokens, 62, sample);
        make(objective, &config, sample, tokens, 62, &out);
        for (int i = 2; i < 63; i++) {
            cut_words += continues[out.targets[i]] && out.weights[i] != out.weights[i - 1];
            predicted += out.weights[i] > 0;
        }
    }
    g_assert_cmpint(cut_words, ==, 0);
    g_assert_cmpint(predicted, >, 8 * 1000);
    example_clear(&out);
}

/* A text of 62 tokens that all continue the word before them, every second one within a character. The budget is 9. */
static void mlm_hides_parts_of_a_text_without_spaces(void)
{
    const PieceStart kinds[] = { PIECE_CHAR, PIECE_UNSPACED };
    int32_t tokens[62];
    uint8_t starts[V] = { 0 };
    Example out;
    for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
        ObjectiveConfig config = config_of(64);
        const Objective *objective = planned("mlm", &config);
        config.piece_starts = starts;
        for (int i = 0; i < 62; i++) {
            tokens[i] = PARTS + i % 20;
            starts[tokens[i]] = (uint8_t)(i % 2 ? PIECE_INSIDE : kinds[k]);
        }
        example_init(&out, &config);
        for (uint64_t sample = 0; sample < 100; sample++) {
            int hidden = 0;
            make(objective, &config, sample, tokens, 62, &out);
            for (int i = 1; i < 63; i++) {
                hidden += out.weights[i] > 0;
                g_assert_true(starts[out.targets[i]] != PIECE_INSIDE || out.weights[i] == out.weights[i - 1]);
            }
            g_assert_cmpint(hidden, >=, 6);
            g_assert_cmpint(hidden, <=, 9);
        }
        example_clear(&out);
    }
}

/* Single-token words and a budget that always fits: n has p(n) = .5455, .2727, .1818. */
static void mlm_ngrams_have_the_shares_of_one_over_n(void)
{
    ObjectiveConfig config = config_of(1002);
    config.own = OWN(MlmSettings, .max_ngram = 3);
    config.noise_density = 0.003; /* 3 tokens: the first n-gram is never cut */
    const Objective *objective = plan("mlm", &config);
    g_autofree int32_t *tokens = g_new(int32_t, 1000);
    int64_t runs[4] = { 0 }, all = 0;
    Example out;
    example_init(&out, &config);
    draw_text(tokens, 1000, 1);
    for (uint64_t sample = 0; sample < 4000; sample++) {
        make(objective, &config, sample, tokens, 1000, &out);
        int64_t run = 0, longest = 0;
        for (int64_t i = 0; i < out.n_inputs; i++) {
            run = out.weights[i] > 0 ? run + 1 : 0;
            longest = MAX(longest, run);
        }
        runs[longest]++;
        all++;
    }
    /* 3 hidden at once: the first draw was 3, or two that lie side by side, which is rare. */
    g_assert_true(near_share(runs[3], all, 0.1818 + 0.004));
    /* 1 at most: the first draw is 1, and then no pair: the next is 1, too (2 and 3 give a pair). */
    g_assert_true(near_share(runs[1], all, 0.5455 * 0.5455));
    example_clear(&out);
}

static void mlm_sentence_order_swaps_half_of_the_time(void)
{
    ObjectiveConfig config = config_of(64);
    config.own = OWN(MlmSettings, .whole_word = true, .sentence_pairs = PAIRS_ORDER, .max_ngram = 1);
    const Objective *objective = plan("mlm", &config);
    int32_t tokens[61];
    int64_t swapped = 0;
    Example out;
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < 2000; sample++) {
        draw_text(tokens, 61, sample);
        make(objective, &config, sample, tokens, 61, &out);
        int64_t a = 1;
        while (out.targets[a] != SEP)
            a++;
        int64_t n_a = a - 1, n_b = 61 - n_a;
        g_assert_true(n_a > 0 && n_b > 0 && out.targets[63] == SEP && out.n_inputs == 64);
        assert_same(out.targets + 1, out.label ? tokens + n_b : tokens, (size_t)n_a * 4);
        assert_same(out.targets + a + 1, out.label ? tokens : tokens + n_a, (size_t)n_b * 4);
        g_assert_cmpint(out.token_types[a], ==, 0);
        g_assert_cmpint(out.token_types[a + 1], ==, 1);
        swapped += out.label;
    }
    g_assert_true(near_share(swapped, 2000, 0.5));
    example_clear(&out);
}

static void lengths_that_leave_no_room_are_refused(void)
{
    static const struct {
        const char *name, *phrase;
        int64_t input_length, target_length, raw_length;
    } cases[] = { { "prefix_lm", "data.input_length of 3", 2, 0, 0 },
                  { "iid_denoising", "data.target_length=2", 64, 2, 0 },
                  { "ul2", "longest denoiser", 64, 9, 0 },
                  { "clm", "data.target_length=9", 64, 9, 0 },
                  { "mlm", "no text between", 3, 0, 0 },
                  { "mlm", "data.raw_length=1", 64, 0, 1 } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        ObjectiveConfig config = config_of(cases[i].input_length);
        config.target_length = cases[i].target_length;
        config.raw_length = cases[i].raw_length;
        config.own = objective_config(objective_index(cases[i].name), &(ObjectiveSettings){ 0 }).own;
        g_assert_false(objective_named(cases[i].name)->plan(&config, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, cases[i].phrase));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (int id = PARTS; id < TEXT_END; id++)
        continues[id] = true;
    g_test_add_func("/prefix_lm/halves_make_the_text", prefix_lm_halves_make_the_text);
    g_test_add_func("/prefix_lm/cuts_targets_to_their_length", prefix_lm_cuts_targets_to_their_length);
    g_test_add_func("/prefix_lm/on_a_decoder_alone_is_one_sequence", prefix_lm_on_a_decoder_alone_is_one_sequence);
    g_test_add_func("/iid_denoising/splices_and_keeps_its_density", iid_denoising_splices_and_keeps_its_density);
    g_test_add_func("/iid_denoising/ends_its_noise_where_sentinels_end",
                    iid_denoising_ends_its_noise_where_sentinels_end);
    g_test_add_func("/ul2/takes_the_denoisers_of_the_paper", ul2_takes_the_denoisers_of_the_paper);
    g_test_add_func("/ul2/takes_texts_of_any_length", ul2_takes_texts_of_any_length);
    g_test_add_func("/ul2/fills_its_rows_by_design", ul2_fills_its_rows_by_design);
    g_test_add_func("/clm/moves_targets_by_one", clm_moves_targets_by_one);
    g_test_add_func("/clm/ends_attention_positions_and_loss_at_eod", clm_ends_attention_positions_and_loss_at_eod);
    g_test_add_func("/full_lm/predicts_its_first_token_too", full_lm_predicts_its_first_token_too);
    g_test_add_func("/mlm/hides_80_10_10", mlm_hides_80_10_10);
    g_test_add_func("/mlm/hides_whole_words", mlm_hides_whole_words);
    g_test_add_func("/mlm/hides_parts_of_a_text_without_spaces", mlm_hides_parts_of_a_text_without_spaces);
    g_test_add_func("/mlm/ngrams_have_the_shares_of_one_over_n", mlm_ngrams_have_the_shares_of_one_over_n);
    g_test_add_func("/mlm/sentence_order_swaps_half_of_the_time", mlm_sentence_order_swaps_half_of_the_time);
    g_test_add_func("/objective/lengths_that_leave_no_room_are_refused", lengths_that_leave_no_room_are_refused);
    return g_test_run();
}
