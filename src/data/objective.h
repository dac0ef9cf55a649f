/* objective.h: an objective turns a span of raw tokens into a training example: a pure function of its arguments. */
#pragma once

#include "base/error.h"
#include "base/philox.h"

typedef struct ObjectiveConfig {
    int64_t input_length, target_length; /* what the model sees, EOS included */
    int64_t raw_length;                  /* tokens of the source that one sample takes: objective_plan fills it */
    double noise_density, mean_span_length;
    int32_t eos, first_sentinel; /* id of sentinel 0; sentinel i is first_sentinel - i */
    int32_t n_sentinels;
} ObjectiveConfig;

typedef struct Example {
    int32_t *inputs, *targets; /* caller's memory: input_length and target_length */
    int64_t n_inputs, n_targets;
} Example;

/* Derives raw_length, and target_length where it is 0, from input_length, density and span length: 512 -> 568 / 114.
 * Refuses lengths whose spans outnumber the sentinels (1,809 with 100), and a target_length that cannot hold the
 * targets. */
typedef bool (*ObjectivePlanFn)(ObjectiveConfig *config, GError **error);
/* n <= raw_length tokens in. */
typedef void (*ObjectiveFn)(const ObjectiveConfig *config, Philox *rng, const int32_t *tokens, int64_t n, Example *out);

typedef struct Objective {
    const char *name;
    ObjectivePlanFn plan;
    ObjectiveFn apply;
} Objective;
extern const Objective objectives[]; /* ends with name NULL */
extern const char *const objective_names[];

/* t5x.md §1, t5-experiments.md §2. n_noise is rounded in f32, half to even; both counts are split by a uniform
 * composition. */
int64_t span_corruption_noise(int64_t length, double density);
int64_t span_corruption_spans(int64_t n_noise, double mean_span_length);
void span_corruption_mask(Philox *rng, int64_t length, double density, double mean_span_length, bool *mask);
void span_corruption_apply(const ObjectiveConfig *config, const bool *mask, const int32_t *tokens, int64_t n,
                           Example *out);
/* Splices targets back into inputs: the original tokens (without EOS), or -1 if they do not fit together. */
int64_t span_corruption_splice(const ObjectiveConfig *config, const Example *example, int32_t *out);
