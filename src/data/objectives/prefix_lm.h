/* prefix_lm.h: a document's chunk is cut at a random place; the inputs are what comes before it, the targets the rest
 * (t5-experiments.md §2). On a decoder alone (_alone) both are one sequence: the tokens before the cut see each other
 * in both directions, the last of them predicts the first of the rest. */
#pragma once

#include "data/objectives/objective.h"

bool prefix_lm_plan(ObjectiveConfig *config, GError **error);
void prefix_lm_choose(const ObjectiveConfig *config, int64_t n, Choice *choice);
void prefix_lm_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens,
                       int64_t n, Example *out);

bool prefix_lm_alone_plan(ObjectiveConfig *config, GError **error);
void prefix_lm_alone_choose(const ObjectiveConfig *config, int64_t n, Choice *choice);
void prefix_lm_alone_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens,
                             int64_t n, Example *out);
