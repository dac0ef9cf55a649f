/* fairseq_words.h: what fairseq-preprocess --only-source makes of lines of words: FOLDER/dict.txt, train.*, valid.*,
 * valid1.*, …, test.*, to the byte. A word is what stands between white space; every line is a sequence, empty ones
 * too, that ends in </s>. */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdint.h>

typedef struct FairseqWordsOptions {
    const char *out;                          /* FOLDER */
    char **train, **valid, **test;            /* paths, NULL-terminated or NULL; all of train are one set */
    const char *dictionary;                   /* NULL: built of the words of train */
    int64_t min_count;                        /* rarer words are left out of the dictionary */
    int64_t most_ids;                         /* ids in the dictionary at most, four specials included; 0: all */
    int64_t factor;                           /* its size is filled up to a multiple of this */
    const volatile sig_atomic_t *interrupted; /* NULL, or what a signal handler sets to stop the run cleanly */
} FairseqWordsOptions;

typedef struct FairseqWordsSet {
    char *prefix;
    int64_t sentences, tokens, unknown; /* tokens: with the ends of lines */
} FairseqWordsSet;

typedef struct FairseqWordsStats {
    int64_t dictionary; /* ids */
    GPtrArray *sets;    /* of FairseqWordsSet *; g_ptr_array_unref */
} FairseqWordsStats;

bool fairseq_words_run(const FairseqWordsOptions *options, FairseqWordsStats *stats, GError **error);
