/* beam.h: beam search for one prompt, apart from the model: it is fed the logits of its live hypotheses and says which
 * tokens to go on with. As in T5X: a finished hypothesis scores logp / ((5 + length) / 6)^alpha, EOS included in both,
 * and the search stops when no live one can still beat the worst of the finished. */
#pragma once

#include "eval/generation.h"
#include "model/token_roles.h"

typedef struct BeamOptions {
    int32_t beams;
    double length_penalty;     /* alpha */
    double repetition_penalty; /* over the hypothesis and `said` (n_said), the ids before it, borrowed */
    const int32_t *said;
    int64_t n_said;
    int64_t max_tokens;
    TokenList eos;
    int64_t vocab;
} BeamOptions;

typedef struct BeamSearch BeamSearch;

BeamSearch *beam_open(const BeamOptions *options);
void beam_close(BeamSearch *search);
/* logits (beams, V) of the live hypotheses, which it overwrites; at the first call all rows must be equal. New live
 * hypothesis i is old hypothesis from[i] plus tokens[i]. Returns false when the search is over. */
bool beam_advance(BeamSearch *search, float *logits, int32_t *from, int32_t *tokens);
/* The best n ≤ beams, best first: first the finished, then those that max_tokens cut off. Returns their number. */
int32_t beam_results(const BeamSearch *search, int32_t n, Generation *out);
