/* labels.h: what a classifier learns of a text, and the names of classes. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum LabelKind {
    LABELS_NONE,
    LABELS_SEQUENCE, /* a class of each sequence */
    LABELS_VALUE,    /* a number of each sequence (regression) */
    LABELS_TOKENS,   /* a class of some tokens of a sequence: of the first one of each word */
    LABELS_SPAN,     /* first and last token of an answer; both token 0 where there is no answer */
    LABELS_CHOICE    /* the right one of several sequences */
} LabelKind;
extern const char *const label_kind_names[]; /* "none", "sequence", …, NULL */

#define LABELS_MAX_CHOICES 64

/* Names of classes are one text, "negative,positive"; NULL and "" hold none. */
int64_t labels_count(const char *names);
/* The class of this name; -1 means none. */
int64_t labels_find(const char *names, const char *name);
/* The name of a class below labels_count. g_free. */
char *labels_name(const char *names, int64_t label);
/* Whether this kind has named classes. */
bool labels_have_names(LabelKind kind);
/* An error that names `option` where a name is empty, stands twice or is not UTF-8. NULL and "" are no error. */
bool labels_check(const char *names, const char *option, GError **error);
