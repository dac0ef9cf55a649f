#include "eval/sampler.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

typedef struct Candidate {
    double weight; /* exp((logit - largest logit) / temperature) */
    int32_t id;
} Candidate;

void sampler_penalize(float *logits, const int32_t *ids, int64_t n_ids, double penalty)
{
    if (penalty == 1 || n_ids == 0)
        return;
    g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (int64_t i = 0; i < n_ids; i++) {
        float *logit = logits + ids[i];
        if (g_hash_table_add(seen, GINT_TO_POINTER(ids[i])))
            *logit = (float)(*logit > 0 ? *logit / penalty : *logit * penalty);
    }
}

static int32_t likeliest(const float *logits, int64_t vocab)
{
    int64_t best = 0;
    for (int64_t i = 1; i < vocab; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

double sampler_log_sum(const float *logits, int64_t vocab)
{
    double top = logits[likeliest(logits, vocab)], sum = 0;
    for (int64_t i = 0; i < vocab; i++)
        sum += exp(logits[i] - top);
    return top + log(sum);
}

/* Falling order of weight; ties go to the lower id. */
static int by_weight(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Size of the smallest prefix of the sorted candidates that holds the share top_p of their weight. */
static int64_t nucleus(const Candidate *sorted, int64_t n, double top_p)
{
    double total = 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        total += sorted[i].weight;
    for (int64_t i = 0; i < n; i++) {
        sum += sorted[i].weight;
        if (sum >= top_p * total)
            return i + 1;
    }
    return n;
}

static int32_t draw_token(const Candidate *candidates, int64_t n, double uniform)
{
    double total = 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        total += candidates[i].weight;
    for (int64_t i = 0; i < n; i++) {
        sum += candidates[i].weight;
        if (uniform * total < sum)
            return candidates[i].id;
    }
    return candidates[n - 1].id;
}

int32_t sampler_pick(const float *logits, int64_t vocab, const Sampling *sampling, double uniform)
{
    int32_t best = likeliest(logits, vocab);
    if (sampling->temperature == 0)
        return best;
    g_autofree Candidate *candidates = g_new(Candidate, vocab);
    int64_t n = vocab;
    for (int64_t i = 0; i < vocab; i++)
        candidates[i] =
            (Candidate){ exp(((double)logits[i] - (double)logits[best]) / sampling->temperature), (int32_t)i };
    if (sampling->top_k > 0 || sampling->top_p < 1) {
        qsort(candidates, (size_t)vocab, sizeof *candidates, by_weight);
        n = sampling->top_k > 0 ? MIN(sampling->top_k, vocab) : vocab;
        n = nucleus(candidates, n, sampling->top_p);
    }
    return draw_token(candidates, n, uniform);
}
