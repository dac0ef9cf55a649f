/* span_corruption.h: T5's objective: random spans of the text are masked; in the inputs each span becomes a sentinel,
 * and the targets are each sentinel followed by the tokens of its span. */
#pragma once

#include "data/objectives/objective.h"

typedef struct SpanCorruptionSettings {
    double mean_span_length; /* tokens of a masked span on average */
} SpanCorruptionSettings;

extern const Objective span_corruption_objective;

/* Number of masked tokens of `length` tokens, as in T5's random_spans_noise_mask: length * density, rounded half to
 * even in f32; at least 1 and at most length - 1. */
int64_t span_corruption_noise(int64_t length, double density);
/* Number of masked spans: n_noise / mean_span_length rounded half to even in f32; at least 1 and at most n_noise. */
int64_t span_corruption_spans(int64_t n_noise, double mean_span_length);
/* Draws mask (length): true for masked tokens. Masked and kept tokens are divided into spans uniformly at random; the
 * first span is kept. */
void span_corruption_mask(Philox *rng, int64_t length, double density, double mean_span_length, bool *mask);
/* Makes the example of n tokens with their mask. In the inputs each run of masked tokens becomes a sentinel, in the
 * targets each run of kept tokens; EOS ends both. */
void span_corruption_apply(const ObjectiveConfig *config, const bool *mask, const int32_t *tokens, int64_t n,
                           Example *out);
/* Puts the targets back into the inputs: the original tokens (without EOS) in `out` (raw_length). A sentinel may occur
 * several times in the inputs. Returns the number of tokens, or -1 if inputs and targets do not fit together. */
int64_t span_corruption_splice(const ObjectiveConfig *config, const Example *example, int32_t *out);
/* As span_corruption_splice; also sets spans (raw_length): for each token the sentinel that replaced it, counted from
 * 0; -1 for a kept token. */
int64_t span_corruption_splice_spans(const ObjectiveConfig *config, const Example *example, int32_t *out,
                                     int32_t *spans);
