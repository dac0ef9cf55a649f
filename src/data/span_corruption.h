/* span_corruption.h: the two entries of span corruption in the table of objectives; its parts are in objective.h. */
#pragma once

#include "data/objective.h"

bool span_corruption_plan(ObjectiveConfig *config, GError **error);
void span_corruption_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens,
                             int64_t n, Example *out);
