/* labelled.h: the objective "labels": texts and labels for a classifier. A document of the dataset is two sequences:
 * the token ids of the text, with special tokens; and the encoded labels of the text: 32-bit numbers, each stored as
 * LABELLED_DIGITS ids of 4 bits each, since any vocabulary has the ids 0 to 15. */
#pragma once

#include "data/labels.h"
#include "data/objectives/objective.h"

#define LABELLED_DIGITS 8

/* The first numbers of encoded labels: label, label_end, n. Two numbers for each sequence follow: its length in tokens,
 * and the index of the first token of its second text (0 means no second text). With LABELS_TOKENS, one id per token
 * follows: the token's class + 1, or 0 for a token without a class. `label` is a class, the index of a sequence or of a
 * token, or the bits of a float, depending on the LabelKind; -1 means no label. */
typedef struct EncodedLabels {
    int32_t label, label_end;
    int32_t n; /* number of sequences; LABELS_CHOICE has several, all other kinds 1 */
} EncodedLabels;

/* Appends the LABELLED_DIGITS ids of a number to `encoded` (int32_t). */
void labelled_append(GArray *encoded, uint32_t number);

/* Adds to `counts` (number of classes) how often each class occurs in the encoded labels of one document of
 * LABELS_SEQUENCE or LABELS_TOKENS. */
void labelled_count(LabelKind kind, const int32_t *encoded, int64_t n_encoded, int64_t *counts);
