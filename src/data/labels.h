/* labels.h: kinds of labels that a classifier predicts, and lists of class names. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum LabelKind {
    LABELS_NONE,
    LABELS_SEQUENCE, /* one class per sequence */
    LABELS_VALUE,    /* one number per sequence (regression) */
    LABELS_TOKENS,   /* one class per word, predicted at the word's first token */
    LABELS_SPAN,     /* first and last token of an answer in a text; 0 and 0 mean that the text has no answer */
    LABELS_CHOICE    /* index of the right one of several sequences (multiple choice) */
} LabelKind;
extern const char *const label_kind_names[]; /* "none", "sequence", …, NULL */

/* Most sequences of one multiple-choice example. */
#define LABELS_MAX_CHOICES 64

/* The number of classes in a list of class names. */
int64_t labels_count(const char *names);
/* The index of class `name` in a list of class names; -1 if the list does not have it. */
int64_t labels_find(const char *names, const char *name);
/* The name of class number `label` in a list of class names, 0 <= label < labels_count. Free with g_free. */
char *labels_name(const char *names, int64_t label);
/* Whether labels of this kind are named classes: LABELS_SEQUENCE and LABELS_TOKENS. */
bool labels_have_names(LabelKind kind);
/* Checks a list of class names: a name that is empty, occurs twice or is not UTF-8 is a user's error, whose message
 * names `option`. NULL and "" are valid lists. */
bool labels_check(const char *names, const char *option, GError **error);
