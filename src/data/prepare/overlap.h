/* overlap.h: which documents repeat a document of an evaluation set. Texts are compared as sequences of words
 * (words.h). A document is an exact duplicate if its words are those of a document of the set, and a near one if it
 * contains at least a share of the different n-grams of such a document. A document of fewer than n words has no
 * n-grams. */
#pragma once

#include "data/corpus/corpus.h"

typedef enum Overlap { OVERLAP_NONE, OVERLAP_EXACT, OVERLAP_NEAR } Overlap;

typedef struct OverlapOptions {
    char *const *paths; /* NULL-terminated: files and folders of evaluation sets, as corpus_open reads them */
    char **fields;      /* of JSON objects: the fields that are the text, joined by newlines; NULL means `text` */
    int64_t n;          /* words of an n-gram */
    double share;       /* of the n-grams of a document of the set, above 0 */
} OverlapOptions;

typedef struct OverlapIndex OverlapIndex; /* read-only; thread-safe */
OverlapIndex *overlap_open(const OverlapOptions *options, GError **error);
void overlap_close(OverlapIndex *index);
int64_t overlap_documents(const OverlapIndex *index); /* of the evaluation sets, those without a word left out */
Overlap overlap_find(const OverlapIndex *index, const char *text, size_t bytes);
