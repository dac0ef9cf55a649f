/* score.h: what a model thinks of given targets. */
#pragma once

#include "model/model.h"

typedef struct Scorer Scorer;
typedef struct Score {
    double logprob; /* of the whole target, natural */
    int64_t tokens; /* of the target */
    bool greedy;    /* each token is the likeliest one after those before it */
} Score;

Scorer *scorer_open(Model *model);
void scorer_close(Scorer *scorer);
/* log p(targets | inputs), both with the EOS they are to have; a T5's decoder starts as model_roles says. Memory grows
 * with the longest seen so far. */
bool scorer_score(Scorer *scorer, const int32_t *inputs, int64_t n_inputs, const int32_t *targets, int64_t n_targets,
                  Score *out, GError **error);
