/* mlm.h: masked language modelling on an encoder (BERT): [CLS] text [SEP]; some tokens are masked and predicted at
 * their positions. With sentence pairs: [CLS] A [SEP] B [SEP], and a label says how B relates to A. */
#pragma once

#include "data/objectives/objective.h"

/* Sentence-pair task: none; sentence-order prediction (SOP, ALBERT: label 1 means that A and B, halves of one text, are
 * swapped); next-sentence prediction (NSP, BERT: label 1 means that B is from another document). */
typedef enum SentencePairs { PAIRS_NONE, PAIRS_ORDER, PAIRS_NEXT } SentencePairs;
extern const char *const sentence_pairs_names[];

typedef struct MlmSettings {
    bool whole_word;                   /* the pieces of a word are masked together */
    int sentence_pairs;                /* SentencePairs */
    double short_sequence_probability; /* fraction of the samples that are cut to a random length */
    int64_t max_ngram; /* words masked together: 1 … max_ngram, n with probability proportional to 1/n */
} MlmSettings;

extern const Objective mlm_objective;

const MlmSettings *mlm_settings(const ObjectiveConfig *config);
/* Sets both inputs and targets to [CLS] a [SEP] b [SEP], or to [CLS] a [SEP] without sentence pairs; weights are 0,
 * since nothing is masked yet. */
void mlm_join(const ObjectiveConfig *config, Text a, Text b, Example *out);
/* Whether an id is [CLS] or [SEP]. */
bool mlm_is_special(const ObjectiveConfig *config, int32_t id);
