/* beam.h: beam search for one prompt. It knows no model: the caller gives it the logits of its live hypotheses, and it
 * returns the tokens that continue them. As in T5X, a finished hypothesis scores logp / ((5 + length) / 6)^alpha, its
 * EOS included, and the search stops when no live hypothesis can still beat the worst of the finished ones. */
#pragma once

#include "eval/generation.h"
#include "model/special_tokens/special_tokens.h"

typedef struct BeamOptions {
    int32_t beams;
    double length_penalty;     /* alpha */
    double repetition_penalty; /* of the hypothesis' own tokens and of those in `said`; 1 means none */
    const int32_t *said;       /* (n_said) ids that precede every hypothesis; borrowed */
    int64_t n_said;
    int64_t max_tokens;
    TokenList eos;
    int64_t vocab; /* V */
} BeamOptions;

typedef struct BeamSearch BeamSearch;

BeamSearch *beam_open(const BeamOptions *options);
void beam_close(BeamSearch *search);
/* logits (beams, V) of the live hypotheses, may be overwritten; at the first call all rows are equal. New live
 * hypothesis i is old hypothesis from[i] followed by tokens[i]. Returns false when the search is over. */
bool beam_advance(BeamSearch *search, float *logits, int32_t *from, int32_t *tokens);
/* The same from the beam_top(options) most likely tokens of each live hypothesis, ids and logits (beams, beam_top), and
 * log_sums (beams) = log Σ exp of all its logits: see decoder_step_top. Only without a repetition penalty. */
bool beam_advance_top(BeamSearch *search, const int32_t *ids, const float *logits, const double *log_sums,
                      int32_t *from, int32_t *tokens);
int32_t beam_top(const BeamOptions *options);
/* The best n ≤ beams hypotheses, best first: finished ones, then those that reached max_tokens. Returns how many. */
int32_t beam_results(const BeamSearch *search, int32_t n, Generation *out);
