/* mlm.h: masked language modelling on an encoder (BERT). A sample is [CLS] text [SEP]; some of its tokens are masked,
 * and the model predicts each masked token at its own position. With sentence pairs a sample is [CLS] A [SEP] B [SEP],
 * and a label says how text B relates to text A. */
#pragma once

#include "data/objectives/objective.h"

/* Sentence-pair task: none; sentence-order prediction (SOP, ALBERT: label 1 means that A and B, halves of one text, are
 * swapped); next-sentence prediction (NSP, BERT: label 1 means that B is from another document). */
typedef enum SentencePairs { PAIRS_NONE, PAIRS_ORDER, PAIRS_NEXT } SentencePairs;
extern const char *const sentence_pairs_names[];

typedef struct MlmSettings {
    bool whole_word;                   /* all pieces of a word are masked together */
    int sentence_pairs;                /* SentencePairs */
    double short_sequence_probability; /* fraction of the samples that are cut to a random length */
    int64_t max_ngram; /* largest number of consecutive words that are masked together; n words have a probability
                          proportional to 1/n */
} MlmSettings;

/* The settings of the objective mlm in config->own. */
const MlmSettings *mlm_settings(const ObjectiveConfig *config);
/* Starts an example: inputs and targets both become [CLS] a [SEP] b [SEP], or [CLS] a [SEP] without sentence pairs. All
 * weights are 0, since no token is masked yet. */
void mlm_join(const ObjectiveConfig *config, Text a, Text b, Example *out);
/* Whether an id is [CLS] or [SEP]. */
bool mlm_is_special(const ObjectiveConfig *config, int32_t id);
