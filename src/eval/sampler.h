/* sampler.h: chooses the next token from one row of logits. Pure functions over host memory. */
#pragma once

#include <stdint.h>

typedef struct Sampling {
    double temperature; /* 0 means greedy: the most likely token; top_k and top_p are then ignored */
    int64_t top_k;      /* sample from the k most likely tokens; 0 means all */
    double top_p; /* sample from the smallest set of most likely tokens with this share of top_k's mass; 1 means all */
    double repetition_penalty; /* > 1 makes tokens of the prompt and of the answer less likely; 1 means none */
} Sampling;

/* Divides positive logits of the ids by the penalty, multiplies negative by it, once per id (Keskar et al. 2019). */
void sampler_penalize(float *logits, const int32_t *ids, int64_t n_ids, double penalty);
/* log Σ exp(logits). */
double sampler_log_sum(const float *logits, int64_t vocab);
/* Samples a token from softmax(logits / temperature), restricted by top_k and top_p, by the inverse of its cumulative
 * distribution at `uniform` in [0, 1). */
int32_t sampler_pick(const float *logits, int64_t vocab, const Sampling *sampling, double uniform);
