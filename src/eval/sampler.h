/* sampler.h: the next token from a row of logits. Pure functions over host memory. */
#pragma once

#include <stdint.h>

typedef struct Sampling {
    double temperature; /* 0 means the likeliest token; top_k and top_p are ignored */
    int64_t top_k;      /* 0: all; else from the k likeliest tokens alone */
    double top_p;       /* 1: all; else from the fewest likeliest tokens that hold this share of what top_k left */
    double repetition_penalty; /* 1: none; > 1 makes tokens that were read or said before less likely, at every
                                  temperature */
} Sampling;

/* Divides positive logits of the ids by the penalty and multiplies negative ones, each id once (Keskar et al. 2019). */
void sampler_penalize(float *logits, const int32_t *ids, int64_t n_ids, double penalty);
/* log Σ exp(logits). */
double sampler_log_sum(const float *logits, int64_t vocab);
/* A token of the distribution softmax(logits / temperature), cut by top_k and top_p; `uniform` in [0, 1) chooses. */
int32_t sampler_pick(const float *logits, int64_t vocab, const Sampling *sampling, double uniform);
