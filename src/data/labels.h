/* labels.h: kinds of labels that a classifier predicts, and lists of class names. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum LabelKind {
    LABELS_NONE,
    LABELS_SEQUENCE, /* one class per sequence */
    LABELS_VALUE,    /* one number per sequence (regression) */
    LABELS_TOKENS,   /* one class per word, predicted at the word's first token */
    LABELS_SPAN,     /* first and last token of an answer; token 0 and 0 mean no answer */
    LABELS_CHOICE    /* which one of several sequences is right (multiple choice) */
} LabelKind;
extern const char *const label_kind_names[]; /* "none", "sequence", …, NULL */

#define LABELS_MAX_CHOICES 64

/* The names in a list of class names. A list is one string, "negative,positive"; NULL and "" are empty lists. "\," is a
 * comma inside a name, and "\\" a backslash; any other backslash stands for itself. Ends with NULL; g_strfreev. */
char **labels_split(const char *names);
/* The list with these names: the inverse of labels_split. g_free. */
char *labels_join(const char *const *names);
/* The number of classes. */
int64_t labels_count(const char *names);
/* The index of the class with this name; -1 if there is none. */
int64_t labels_find(const char *names, const char *name);
/* The name of class `label`, 0 <= label < labels_count. g_free. */
char *labels_name(const char *names, int64_t label);
/* Whether this kind has named classes. */
bool labels_have_names(LabelKind kind);
/* A user's error that names `option` if a name is empty, occurs twice or is not UTF-8. NULL and "" are valid. */
bool labels_check(const char *names, const char *option, GError **error);
