/* span_corruption.h: T5's objective (Raffel et al. 2020): random spans of the text are masked. In the inputs each
 * masked span is replaced by a sentinel; the targets are, for each span, its sentinel followed by the tokens of the
 * span. */
#pragma once

#include "data/objectives/objective.h"

typedef struct SpanCorruptionSettings {
    double mean_span_length; /* average number of tokens in a masked span */
} SpanCorruptionSettings;

/* How many of `length` tokens are masked, as in T5's random_spans_noise_mask: length * density, rounded half to even in
 * f32; at least 1 and at most length - 1. */
int64_t span_corruption_noise(int64_t length, double density);
/* Number of masked spans: n_noise / mean_span_length rounded half to even in f32; at least 1 and at most n_noise. */
int64_t span_corruption_spans(int64_t n_noise, double mean_span_length);
/* Draws mask (length): true for masked tokens. Masked spans and spans that are kept alternate, beginning with one that
 * is kept; their lengths are drawn uniformly from all possible divisions. */
void span_corruption_mask(Philox *rng, int64_t length, double density, double mean_span_length, bool *mask);
/* Makes the example of n tokens with this mask (n). In the inputs each run of masked tokens is replaced by a sentinel;
 * in the targets each run of tokens that are not masked is replaced by a sentinel. EOS ends both. */
void span_corruption_apply(const ObjectiveConfig *config, const bool *mask, const int32_t *tokens, int64_t n,
                           Example *out);
/* Undoes the masking: sets `out` (raw_length) to the original tokens, without EOS, by putting the targets back into the
 * inputs. A sentinel may occur several times in the inputs. Unless `spans` is NULL, it (raw_length) becomes for each
 * original token the index of the sentinel that replaced it, counted from 0; -1 for a token that was not masked.
 * Returns the number of tokens, or -1 if inputs and targets do not fit together. */
int64_t span_corruption_splice(const ObjectiveConfig *config, const Example *example, int32_t *out, int32_t *spans);
