/* scorer.h: log-probability of given targets under a model. */
#pragma once

#include "model/model.h"

typedef struct Scorer Scorer;
typedef struct Score {
    double logprob; /* natural logarithm, of the whole target */
    int64_t tokens; /* of the target */
    bool greedy;    /* each token is the likeliest one after those before it */
} Score;

Scorer *scorer_open(Model *model);
void scorer_close(Scorer *scorer);
/* log p(targets | inputs), both given with their EOS; a T5's decoder starts with the token of model_roles. Memory
 * grows with the longest sequence so far. */
bool scorer_score(Scorer *scorer, const int32_t *inputs, int64_t n_inputs, const int32_t *targets, int64_t n_targets,
                  Score *out, GError **error);
