/* clm.h: causal language modelling over a stream of documents with EOD between them. clm: the targets of a sample are
 * its tokens moved by one, and neighbours share a token (Megatron). full_lm: the targets are the sample, its inputs
 * begin with EOD (T5's). */
#pragma once

#include "data/objectives/objective.h"

bool clm_plan(ObjectiveConfig *config, GError **error);
void clm_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens, int64_t n,
                 Example *out);
bool full_lm_plan(ObjectiveConfig *config, GError **error);
void full_lm_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens, int64_t n,
                     Example *out);
