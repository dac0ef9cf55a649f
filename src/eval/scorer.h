/* scorer.h: the log-probability that a model gives to a target, given an input. */
#pragma once

#include "model/model.h"

typedef struct Scorer Scorer;
typedef struct Score {
    double logprob; /* natural, of the whole target */
    int64_t tokens; /* of the target */
    bool greedy;    /* every target token is the most likely one after the tokens before it */
} Score;

Scorer *scorer_open(Model *model);
void scorer_close(Scorer *scorer);
/* log p(targets | inputs). Inputs and targets include the EOS that they end with, if any; an encoder-decoder's decoder
 * starts with the decoder start of model_roles. Buffers grow with the longest pair seen so far. */
bool scorer_score(Scorer *scorer, const int32_t *inputs, int64_t n_inputs, const int32_t *targets, int64_t n_targets,
                  Score *out, GError **error);
