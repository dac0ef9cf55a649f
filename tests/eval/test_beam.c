#include "base/philox.h"
#include "eval/beam.h"
#include "eval/sampler.h"

#include <math.h>
#include <string.h>

/* A model of a few tokens whose logits are a random function of everything said before; EOS is id 1. */
enum { EOS = 1, LONGEST = 6, MOST_BEAMS = 12, MOST_VOCAB = 4 };

typedef struct Toy {
    BeamOptions options;
    uint64_t seed;
    double eos_logit; /* added to EOS's */
} Toy;

typedef struct Said {
    int32_t ids[LONGEST];
    int64_t n;
    double logprob, score;
} Said;

static void toy_logits(const Toy *toy, const Said *said, float *logits)
{
    uint64_t prefix = 1;
    for (int64_t i = 0; i < said->n; i++)
        prefix = prefix * MOST_VOCAB + (uint64_t)said->ids[i];
    Philox rng = philox_open(philox_key(toy->seed, PHILOX_SAMPLING, 1), prefix);
    for (int64_t v = 0; v < toy->options.vocab; v++)
        logits[v] = (float)(2 * philox_normal(&rng) + (v == EOS ? toy->eos_logit : 0));
}

static void assert_ids(const Generation *found, const Said *said)
{
    g_assert_cmpint((int64_t)found->ids->len, ==, said->n);
    g_assert_true(said->n == 0 || memcmp(found->ids->data, said->ids, (size_t)said->n * sizeof *said->ids) == 0);
}

/* The k most likely tokens of each hypothesis, as decoder_step_top gives them. */
static bool advance_top(BeamSearch *search, const Toy *toy, const float *logits, int32_t *from, int32_t *tokens)
{
    int32_t ids[MOST_BEAMS * MOST_VOCAB], k = beam_top(&toy->options), vocab = (int32_t)toy->options.vocab;
    float values[MOST_BEAMS * MOST_VOCAB];
    double log_sums[MOST_BEAMS];
    for (int32_t b = 0; b < toy->options.beams; b++) {
        const float *row = logits + b * vocab;
        bool taken[MOST_VOCAB] = { false };
        log_sums[b] = sampler_log_sum(row, vocab);
        for (int32_t i = b * k; i < (b + 1) * k; i++) {
            int32_t best = -1;
            for (int32_t v = 0; v < vocab; v++)
                if (!taken[v] && (best < 0 || row[v] > row[best]))
                    best = v;
            taken[best] = true;
            ids[i] = best;
            values[i] = row[best];
        }
    }
    return beam_advance_top(search, ids, values, log_sums, from, tokens);
}

/* Searches by all logits and, where there is no penalty, by the most likely tokens alone go the same way. */
static int run(const Toy *toy, int32_t n, Generation *out, int32_t *n_out)
{
    BeamSearch *search = beam_open(&toy->options), *by_top = beam_open(&toy->options);
    Said said[MOST_BEAMS] = { 0 }, old[MOST_BEAMS];
    float logits[MOST_BEAMS * MOST_VOCAB];
    int32_t from[MOST_BEAMS], tokens[MOST_BEAMS], top_from[MOST_BEAMS], top_tokens[MOST_BEAMS],
        beams = toy->options.beams;
    int steps = 0;
    bool more = true;
    while (more) {
        for (int32_t b = 0; b < beams; b++)
            toy_logits(toy, &said[b], logits + b * toy->options.vocab);
        bool top_more = toy->options.repetition_penalty == 1 && advance_top(by_top, toy, logits, top_from, top_tokens);
        more = beam_advance(search, logits, from, tokens);
        if (toy->options.repetition_penalty == 1) {
            g_assert_cmpint(more, ==, top_more);
            g_assert_true(memcmp(from, top_from, (size_t)beams * sizeof *from) == 0);
            g_assert_true(memcmp(tokens, top_tokens, (size_t)beams * sizeof *tokens) == 0);
        }
        steps++;
        memcpy(old, said, sizeof said);
        for (int32_t b = 0; b < beams && more; b++) {
            said[b] = old[from[b]];
            said[b].ids[said[b].n++] = tokens[b];
        }
    }
    *n_out = beam_results(search, n, out);
    beam_close(search);
    beam_close(by_top);
    return steps;
}

/* Puts every answer that ends among the best n, by trying all. */
static void try_all(const Toy *toy, const Said *prefix, Said *best, int32_t n)
{
    float logits[MOST_VOCAB];
    if (prefix->n == toy->options.max_tokens)
        return;
    toy_logits(toy, prefix, logits);
    double log_sum = sampler_log_sum(logits, toy->options.vocab);
    for (int32_t v = 0; v < toy->options.vocab; v++) {
        Said next = *prefix;
        next.logprob += (double)logits[v] - log_sum;
        if (!token_list_has(&toy->options.eos, v)) {
            next.ids[next.n++] = v;
            try_all(toy, &next, best, n);
            continue;
        }
        next.score = next.logprob / pow((5 + (double)next.n + 1) / 6, toy->options.length_penalty);
        int32_t at = n - 1;
        if (next.score <= best[at].score)
            continue;
        for (; at > 0 && best[at - 1].score < next.score; at--)
            best[at] = best[at - 1];
        best[at] = next;
    }
}

/* The n best answers of the search are the n best of all; returns the steps it took. */
static int expect_best(const Toy *toy, int32_t n)
{
    Generation found[MOST_BEAMS] = { 0 };
    Said best[MOST_BEAMS], nothing = { 0 };
    int32_t n_found;
    for (int32_t i = 0; i < n; i++)
        best[i] = (Said){ .score = -INFINITY };
    try_all(toy, &nothing, best, n);
    int steps = run(toy, n, found, &n_found);
    g_assert_cmpint(n_found, ==, n);
    for (int32_t i = 0; i < n; i++) {
        if (best[i].score > -INFINITY) {
            g_assert_true(found[i].finished);
            assert_ids(&found[i], &best[i]);
            g_assert_cmpfloat_with_epsilon(found[i].logprob, best[i].logprob, 1e-9);
        }
        generation_clear(&found[i]);
    }
    return steps;
}

/* Wide enough to hold every hypothesis, so that nothing may be missed. */
static void a_wide_search_finds_the_best_of_all(void)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        double alpha = 0.3 * (double)(seed % 6);
        const BeamOptions three = { .beams = 4,
                                    .length_penalty = alpha,
                                    .repetition_penalty = 1,
                                    .max_tokens = 2,
                                    .eos = { 1, { EOS } },
                                    .vocab = 3 };
        BeamOptions long_three = three;
        long_three.beams = 12;
        long_three.max_tokens = 4;
        expect_best(&(Toy){ .options = three, .seed = seed }, 3);
        expect_best(&(Toy){ .options = long_three, .seed = seed }, 12);
        BeamOptions two_ends = long_three;
        two_ends.vocab = 4;
        two_ends.eos = (TokenList){ 2, { EOS, 3 } };
        expect_best(&(Toy){ .options = two_ends, .seed = seed }, 8);
    }
}

/* Ends are likely, so the four best are soon known to be the best: no later answer can beat them. */
static void a_search_stops_as_soon_as_nothing_can_win(void)
{
    int steps = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        const BeamOptions options = { .beams = 4,
                                      .length_penalty = 0.6,
                                      .repetition_penalty = 1,
                                      .max_tokens = 6,
                                      .eos = { 1, { EOS } },
                                      .vocab = 4 };
        steps += expect_best(&(Toy){ .options = options, .seed = seed, .eos_logit = 7 }, 1);
    }
    g_assert_cmpint(steps, <, 400);
    g_assert_cmpint(steps, >=, 200);
}

static void one_beam_is_greedy(void)
{
    const BeamOptions options = {
        .beams = 1, .length_penalty = 0.6, .repetition_penalty = 1, .max_tokens = 6, .eos = { 1, { EOS } }, .vocab = 4
    };
    const Toy toy = { .options = options, .seed = 3, .eos_logit = -20 };
    Said said = { 0 };
    float logits[MOST_VOCAB];
    while (said.n < 6) {
        toy_logits(&toy, &said, logits);
        const Sampling greedy = { 0 };
        said.ids[said.n++] = sampler_pick(logits, 4, &greedy, 0);
    }
    Generation found;
    int32_t n_found;
    g_assert_cmpint(run(&toy, 1, &found, &n_found), ==, 6);
    g_assert_cmpint(n_found, ==, 1);
    g_assert_false(found.finished);
    assert_ids(&found, &said);
    generation_clear(&found);
}

/* Beyond what exists there is nothing: one token that is not EOS gives one live hypothesis and one end a step. */
static void a_search_may_find_fewer_than_asked(void)
{
    const BeamOptions options = {
        .beams = 6, .length_penalty = 1, .repetition_penalty = 1, .max_tokens = 3, .eos = { 1, { EOS } }, .vocab = 2
    };
    Generation found[6] = { 0 };
    int32_t n_found;
    run(&(Toy){ .options = options, .seed = 1 }, 6, found, &n_found);
    g_assert_cmpint(n_found, ==, 4);
    g_assert_true(found[2].finished);
    g_assert_false(found[3].finished);
    g_assert_cmpuint(found[3].ids->len, ==, 3);
    g_assert_null(found[4].ids);
    for (int i = 0; i < 6; i++)
        generation_clear(&found[i]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/beam/a_wide_search_finds_the_best_of_all", a_wide_search_finds_the_best_of_all);
    g_test_add_func("/beam/a_search_stops_as_soon_as_nothing_can_win", a_search_stops_as_soon_as_nothing_can_win);
    g_test_add_func("/beam/one_beam_is_greedy", one_beam_is_greedy);
    g_test_add_func("/beam/a_search_may_find_fewer_than_asked", a_search_may_find_fewer_than_asked);
    return g_test_run();
}
