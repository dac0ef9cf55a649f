/* span_corruption.h: T5's objective: spans of the text become sentinels, the targets say what they stood for. */
#pragma once

#include "data/objectives/objective.h"

bool span_corruption_plan(ObjectiveConfig *config, GError **error);
void span_corruption_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens,
                             int64_t n, Example *out);

/* t5x.md §1, t5-experiments.md §2. n_noise is rounded in f32, half to even; both counts are split by a uniform
 * composition. */
int64_t span_corruption_noise(int64_t length, double density);
int64_t span_corruption_spans(int64_t n_noise, double mean_span_length);
void span_corruption_mask(Philox *rng, int64_t length, double density, double mean_span_length, bool *mask);
void span_corruption_apply(const ObjectiveConfig *config, const bool *mask, const int32_t *tokens, int64_t n,
                           Example *out);
/* Splices targets back into inputs: the original tokens (without EOS), or -1 if they do not fit together. */
int64_t span_corruption_splice(const ObjectiveConfig *config, const Example *example, int32_t *out);
