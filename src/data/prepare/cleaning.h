/* cleaning.h: which documents of a corpus are left out, by rules that are options of loam prepare. */
#pragma once

#include "data/prepare/overlap.h"

typedef enum Dropped {
    DROPPED_NOT,
    DROPPED_LICENCE,
    DROPPED_GENERATED,  /* the first lines say that a program wrote it */
    DROPPED_LONG_LINE,  /* minified, or data: a line is too long, */
    DROPPED_LONG_LINES, /* or lines are on average, */
    DROPPED_MARKS,      /* or too few characters are letters and digits */
    DROPPED_EXACT,      /* in an evaluation set */
    DROPPED_NEAR,
    DROPPED_REPEAT, /* nearly repeats a document before (repeats.h) */
    DROPPED_REASONS
} Dropped;

/* For people, and keys of JSON; of DROPPED_NOT they are NULL. */
extern const char *const dropped_reasons[DROPPED_REASONS], *const dropped_keys[DROPPED_REASONS];

/* 0, NULL or false means that a rule is not applied. */
typedef struct CleaningRules {
    bool generated;             /* leave out what says in its first CLEANING_LINES lines that it was generated */
    int64_t max_line, max_mean; /* characters of the longest line, and of lines on average */
    double min_letters;         /* share of the characters that are letters or digits */
    const char *licence_field;  /* of JSON objects: a licence, or a list of which all must be wanted */
    char **licences;            /* NULL-terminated: the wanted ones, upper and lower case alike */
    const OverlapIndex *overlap;
    bool repeats; /* leave out documents that nearly repeat one that was kept or left out by this rule before */
} CleaningRules;

#define CLEANING_LINES 10

/* The rules about the text alone. */
Dropped cleaning_check(const CleaningRules *rules, const char *text, size_t bytes);
/* Whether the licence of the corpus's current document is wanted; a document that is no JSON object is. An object
 * without the field is not. */
bool cleaning_has_licence(const CleaningRules *rules, const Corpus *corpus);
