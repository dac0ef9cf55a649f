/* mlm.h: masked language modelling (BERT): [CLS] text [SEP], some tokens hidden and predicted in place; with
 * data.sentence_pairs [CLS] A [SEP] B [SEP], and what B is to A is predicted too. A pair is cut where a sentence
 * begins, else where a word does. */
#pragma once

#include "data/objectives/objective.h"

/* Tokens of a sample beside its text. */
int64_t mlm_specials(const ObjectiveConfig *config);
/* [CLS] a [SEP] b [SEP], or [CLS] a [SEP] where pairs are not asked for: inputs, which are the targets too, segments
 * and places. Nothing is hidden yet. */
void mlm_join(const ObjectiveConfig *config, Text a, Text b, Example *out);
/* Tokens that stand for nothing of the text. */
bool mlm_is_special(const ObjectiveConfig *config, int32_t id);

bool mlm_plan(ObjectiveConfig *config, GError **error);
void mlm_choose(const ObjectiveConfig *config, int64_t n, Choice *choice);
void mlm_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens, int64_t n,
                 Example *out);
