/* labelled.h: the objective "labels": texts for the classifier of an encoder, and what is right of them. A document of
 * the dataset is a pair of sequences, the token ids of the text, special tokens included, and its encoded labels:
 * numbers of 32 bits, each written as LABELLED_DIGITS ids of 4 bits, which any vocabulary has. */
#pragma once

#include "data/labels.h"
#include "data/objectives/objective.h"

#define LABELLED_DIGITS 8

/* Encoded labels: label, label_end and number of sequences; of each sequence its length and the token at which its
 * second text begins (0 means none); of LABELS_TOKENS then an id a token, its class + 1, or 0 for none. The label is a
 * class, a number of a sequence or a token, the bits of a float, or -1 for none. */
typedef struct EncodedLabels {
    int32_t label, label_end;
    int32_t n; /* sequences; 1 but for LABELS_CHOICE */
} EncodedLabels;

void labelled_append(GArray *encoded, uint32_t number);

/* Adds to `counts` (classes) how often each class is a label in the encoded labels of a document of LABELS_SEQUENCE or
 * LABELS_TOKENS that the objective accepts. */
void labelled_count(LabelKind kind, const int32_t *encoded, int64_t n_encoded, int64_t *counts);

extern const Objective labels_objective;
