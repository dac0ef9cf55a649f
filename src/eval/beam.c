#include "eval/beam.h"

#include "base/check.h"
#include "eval/sampler.h"

#include <stdlib.h>

typedef struct Hypothesis {
    int32_t *ids; /* (max_tokens) its tokens, without EOS */
    int64_t n;
    double logprob, score; /* -INFINITY marks an empty slot */
} Hypothesis;

typedef struct Candidate {
    double logprob;
    int32_t from, token;
} Candidate;

struct BeamSearch {
    BeamOptions options;
    int64_t length;                     /* tokens of each live hypothesis */
    Hypothesis *live, *next, *finished; /* (beams) each; finished: in falling order of their scores */
    Candidate *candidates;              /* (beams × n_candidates) */
};

/* Candidates per hypothesis: enough that `beams` of them remain even if every EOS is among the candidates. */
static int64_t n_candidates(const BeamOptions *options)
{
    return MAX(2, 1 + options->eos.n) * (int64_t)options->beams;
}

static double penalty(const BeamSearch *search, int64_t length)
{
    return pow((5 + (double)length) / 6, search->options.length_penalty);
}

static Hypothesis *hypotheses_new(const BeamOptions *options)
{
    Hypothesis *all = g_new0(Hypothesis, options->beams);
    for (int32_t i = 0; i < options->beams; i++)
        all[i] = (Hypothesis){ .ids = g_new0(int32_t, options->max_tokens), .logprob = -INFINITY, .score = -INFINITY };
    return all;
}

static void hypotheses_free(Hypothesis *all, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        g_free(all[i].ids);
    g_free(all);
}

BeamSearch *beam_open(const BeamOptions *options)
{
    CHECK(options->beams >= 1 && options->vocab >= 1 && options->max_tokens >= 1, "%d beams", options->beams);
    BeamSearch *search = g_new0(BeamSearch, 1);
    search->options = *options;
    search->live = hypotheses_new(options);
    search->next = hypotheses_new(options);
    search->finished = hypotheses_new(options);
    search->candidates = g_new(Candidate, n_candidates(options) * options->beams);
    search->live[0].logprob = 0;
    return search;
}

void beam_close(BeamSearch *search)
{
    hypotheses_free(search->live, search->options.beams);
    hypotheses_free(search->next, search->options.beams);
    hypotheses_free(search->finished, search->options.beams);
    g_free(search->candidates);
    g_free(search);
}

/* Falling order of log-probability; ties go to the earlier hypothesis, then to the lower id. */
static int by_logprob(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->logprob != y->logprob)
        return x->logprob < y->logprob ? 1 : -1;
    if (x->from != y->from)
        return x->from - y->from;
    return x->token - y->token;
}

/* Applies the repetition penalty to the tokens of a hypothesis and of its prompt. */
static void penalize(const BeamSearch *search, const Hypothesis *hypothesis, float *logits)
{
    const BeamOptions *options = &search->options;
    if (options->repetition_penalty == 1)
        return;
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    g_array_append_vals(ids, options->said, (guint)options->n_said);
    g_array_append_vals(ids, hypothesis->ids, (guint)hypothesis->n);
    sampler_penalize(logits, (const int32_t *)(void *)ids->data, ids->len, options->repetition_penalty);
}

/* The `most` most likely continuations of hypothesis `from`, in any order; returns their number. */
static int64_t continuations(const BeamSearch *search, int32_t from, float *logits, int64_t most, Candidate *out)
{
    const Hypothesis *hypothesis = &search->live[from];
    int64_t n = 0;
    if (hypothesis->logprob == -INFINITY)
        return 0;
    penalize(search, hypothesis, logits);
    double base = hypothesis->logprob - sampler_log_sum(logits, search->options.vocab);
    for (int64_t token = 0; token < search->options.vocab; token++) {
        Candidate candidate = { base + (double)logits[token], from, (int32_t)token };
        if (n == most && by_logprob(&candidate, &out[most - 1]) > 0)
            continue;
        int64_t at = n < most ? n++ : most - 1;
        for (; at > 0 && by_logprob(&candidate, &out[at - 1]) < 0; at--)
            out[at] = out[at - 1];
        out[at] = candidate;
    }
    return n;
}

/* Copies hypothesis `from` to `to`, followed by `token` unless it is negative. */
static void extend(Hypothesis *to, const Hypothesis *from, int32_t token, double logprob, double score)
{
    for (int64_t i = 0; i < from->n; i++)
        to->ids[i] = from->ids[i];
    to->n = from->n;
    if (token >= 0)
        to->ids[to->n++] = token;
    to->logprob = logprob;
    to->score = score;
}

/* Inserts a hypothesis that ended into the finished ones, if it is better than the worst of them. */
static void finish_hypothesis(BeamSearch *search, const Hypothesis *live, double logprob)
{
    int32_t at = search->options.beams - 1;
    double score = logprob / penalty(search, search->length + 1);
    Hypothesis *finished = search->finished, last = finished[at];
    if (score <= last.score)
        return;
    for (; at > 0 && finished[at - 1].score < score; at--)
        finished[at] = finished[at - 1];
    extend(&last, live, -1, logprob, score);
    finished[at] = last;
}

/* Whether no live hypothesis can beat the worst finished one, even with the same log-probability up to max_tokens. */
static bool settled(const BeamSearch *search)
{
    double best = -INFINITY;
    for (int32_t i = 0; i < search->options.beams; i++)
        best = fmax(best, search->live[i].logprob);
    if (best == -INFINITY || search->length == search->options.max_tokens)
        return true;
    return search->finished[search->options.beams - 1].score > best / penalty(search, search->options.max_tokens);
}

/* The live hypotheses become the best of n candidates. */
static bool advance(BeamSearch *search, int64_t n, int32_t *from, int32_t *tokens)
{
    const BeamOptions *options = &search->options;
    int32_t kept = 0;
    qsort(search->candidates, (size_t)n, sizeof *search->candidates, by_logprob);
    for (int64_t i = 0; i < MIN(n, n_candidates(options)); i++) {
        const Candidate *candidate = &search->candidates[i];
        const Hypothesis *origin = &search->live[candidate->from];
        if (token_list_has(&options->eos, candidate->token)) {
            finish_hypothesis(search, origin, candidate->logprob);
        } else if (kept < options->beams) {
            from[kept] = candidate->from;
            tokens[kept] = candidate->token;
            extend(&search->next[kept++], origin, candidate->token, candidate->logprob, -INFINITY);
        }
    }
    for (; kept < options->beams; kept++) {
        from[kept] = tokens[kept] = 0;
        search->next[kept].logprob = -INFINITY;
    }
    Hypothesis *old = search->live;
    search->live = search->next;
    search->next = old;
    search->length++;
    return !settled(search);
}

int32_t beam_top(const BeamOptions *options)
{
    const int64_t n_ids = options->n_ids > 0 ? MIN(options->n_ids, options->vocab) : options->vocab;
    return (int32_t)MIN(n_candidates(options), n_ids);
}

bool beam_advance(BeamSearch *search, float *logits, int32_t *from, int32_t *tokens)
{
    const BeamOptions *options = &search->options;
    int64_t n = 0;
    for (int32_t i = 0; i < options->beams; i++)
        n += continuations(search, i, logits + i * options->vocab, beam_top(options), search->candidates + n);
    return advance(search, n, from, tokens);
}

bool beam_advance_top(BeamSearch *search, const int32_t *ids, const float *logits, const double *log_sums,
                      int32_t *from, int32_t *tokens)
{
    const BeamOptions *options = &search->options;
    int64_t n = 0, each = beam_top(options);
    CHECK(options->repetition_penalty == 1, "a repetition penalty of %g needs all logits", options->repetition_penalty);
    for (int32_t i = 0; i < options->beams; i++) {
        if (search->live[i].logprob == -INFINITY)
            continue;
        double base = search->live[i].logprob - log_sums[i];
        for (int64_t k = i * each; k < (i + 1) * each; k++)
            search->candidates[n++] = (Candidate){ base + (double)logits[k], i, ids[k] };
    }
    return advance(search, n, from, tokens);
}

int32_t beam_results(const BeamSearch *search, int32_t n, Generation *out)
{
    const Hypothesis *finished = search->finished, *live = search->live;
    CHECK(n <= search->options.beams, "%d results of %d beams", n, search->options.beams);
    for (int32_t i = 0; i < n; i++) {
        bool ended = finished->score > -INFINITY;
        const Hypothesis *best = ended ? finished++ : live++;
        if (best->logprob == -INFINITY)
            return i;
        out[i] = (Generation){ .ids = g_array_new(false, false, sizeof(int32_t)),
                               .logprob = best->logprob,
                               .finished = ended };
        g_array_append_vals(out[i].ids, best->ids, (guint)best->n);
    }
    return n;
}
