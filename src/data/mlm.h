/* mlm.h: masked language modelling (BERT): [CLS] text [SEP], some tokens hidden and predicted in place; with
 * sentence_order [CLS] A [SEP] B [SEP], and whether A and B changed places is predicted too. */
#pragma once

#include "data/objective.h"

bool mlm_plan(ObjectiveConfig *config, GError **error);
void mlm_choose(const ObjectiveConfig *config, int64_t n, Choice *choice);
void mlm_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens, int64_t n,
                 Example *out);
