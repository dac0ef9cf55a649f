/* scorer.h: computes the log-probability of a target, given an input. */
#pragma once

#include "model/model.h"

typedef struct Scorer Scorer;
typedef struct Score {
    double logprob; /* natural log-probability of the whole target */
    int64_t tokens; /* number of tokens of the target */
    bool greedy;    /* whether greedy decoding would produce the target: each of its tokens is the most likely one */
} Score;

Scorer *scorer_open(Model *model);
void scorer_close(Scorer *scorer);
/* Computes log p(targets | inputs). inputs and targets already contain the final EOS, if they have one. In an
 * encoder-decoder, the decoder starts with TokenRoles.decoder_start. Memory grows with the longest pair so far. */
bool scorer_score(Scorer *scorer, const int32_t *inputs, int64_t n_inputs, const int32_t *targets, int64_t n_targets,
                  Score *out, GError **error);
