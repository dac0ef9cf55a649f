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
/* Checks that `names` can be other names of a model's classes `old`, class by class: a name that another class has in
 * `old` is a user's error. Lists of another length, or an empty one, rename nothing. */
bool labels_check_renamed(const char *old, const char *names, GError **error);
/* Logs "no -> bad, yes -> good" for the classes that `names` calls otherwise than `old`. */
void labels_tell_renamed(const char *old, const char *names);
/* The name without what a reader may overlook: its case, white space at its ends and the length and kind of that
 * within it, and how a character (NFKC) or a whole number (1.0) is written. Characters without width count as white
 * space, or with `joined` as nothing. Two names with an equal key look alike. g_free. */
char *labels_key(const char *name, bool joined);
/* Finds two names (char *) that look alike; *a and *b become what labels_shown makes of them; g_free. */
bool labels_find_alike(const GPtrArray *names, char **a, char **b);
/* The name in quotes, in which characters that nobody sees are written as "[U+00A0]": white space other than a blank,
 * those without width, and accents beside the letter that they could be one character with. g_free. */
char *labels_shown(const char *name);
