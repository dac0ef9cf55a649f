/* iid_denoising.h: every token is noise by itself; runs of noise become sentinels, as in span corruption
 * (t5-experiments.md §2). */
#pragma once

#include "data/objectives/objective.h"

bool iid_denoising_plan(ObjectiveConfig *config, GError **error);
void iid_denoising_choose(const ObjectiveConfig *config, int64_t n, Choice *choice);
void iid_denoising_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens,
                           int64_t n, Example *out);
