/* overlap.h: finds documents of a corpus that repeat a document of an evaluation set. Texts are compared as sequences
 * of words (repeats.h). A document is an exact duplicate if it has the same words as a document of the set. It is a
 * near duplicate if it contains at least the fraction `share` of the distinct n-grams of words in a document of the
 * set. A document of fewer than n words has no n-grams. */
#pragma once

#include "data/corpus/corpus.h"

typedef enum Overlap { OVERLAP_NONE, OVERLAP_EXACT, OVERLAP_NEAR } Overlap;

typedef struct OverlapOptions {
    char *const *paths; /* NULL-terminated: files and folders of evaluation sets, as corpus_open reads them */
    char **fields;      /* fields of JSON objects, or columns of tables, that hold the text, joined by newlines; NULL
                           means the field `text` */
    int64_t n;          /* number of words in an n-gram */
    double share;       /* fraction of an evaluation document's n-grams that a near duplicate contains, above 0 */
    char delimiter;     /* of tables; 0 means that of the format */
} OverlapOptions;

typedef struct OverlapIndex OverlapIndex; /* read-only; thread-safe */
/* Reads the evaluation sets. */
OverlapIndex *overlap_open(const OverlapOptions *options, GError **error);
void overlap_close(OverlapIndex *index);
/* Number of documents in the evaluation sets that have at least one word. */
int64_t overlap_documents(const OverlapIndex *index);
/* Whether a text repeats a document of the evaluation sets. */
Overlap overlap_find(const OverlapIndex *index, const char *text, size_t bytes);
