/* labelled.h: the objective "labels": texts and labels for a classifier. A document of the dataset is two sequences:
 * the token ids of the text, with special tokens; and its encoded labels: 32-bit numbers, each stored as
 * LABELLED_DIGITS ids of 4 bits, since any vocabulary has the ids 0 to 15. */
#pragma once

#include "data/labels.h"
#include "data/objectives/objective.h"

#define LABELLED_DIGITS 8

/* Encoded labels are these numbers, in this order: label, label_end, n; then two numbers for each sequence, its length
 * and the index of the first token of its second text (0 means no second text). With LABELS_TOKENS, one id per token
 * follows: the token's class + 1, or 0 for a token without a class. The label is a class, an index of a sequence or a
 * token, the bits of a float, or -1 if there is no label. */
typedef struct EncodedLabels {
    int32_t label, label_end;
    int32_t n; /* number of sequences; 1 except for LABELS_CHOICE */
} EncodedLabels;

/* Appends the LABELLED_DIGITS ids of a number to `encoded` (int32_t). */
void labelled_append(GArray *encoded, uint32_t number);

/* Adds to `counts` (number of classes) how often each class occurs in the encoded labels of one document of
 * LABELS_SEQUENCE or LABELS_TOKENS. */
void labelled_count(LabelKind kind, const int32_t *encoded, int64_t n_encoded, int64_t *counts);

extern const Objective labels_objective;
