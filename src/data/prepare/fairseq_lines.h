/* fairseq_lines.h: what fairseq-preprocess --only-source makes of lines: FOLDER/dict.txt, train.*, valid.*, valid1.*,
 * …, test.*. Every line is a sequence, empty ones too, that ends in </s>. Its tokens are words, which stand between
 * white space and have ids by a dictionary, all this to the byte; or the pieces of a tokenizer with its own ids. */
#pragma once

#include "text/tokenizer.h"

#include <signal.h>
#include <stdint.h>

typedef struct FairseqLinesOptions {
    const char *out;                          /* FOLDER */
    char **train, **valid, **test;            /* paths, NULL-terminated or NULL; all of train are one set */
    const Tokenizer *tok;                     /* NULL: words, and the next four are for them */
    const char *dictionary;                   /* NULL: built of the words of train */
    int64_t min_count;                        /* rarer words are left out of the dictionary */
    int64_t most_ids;                         /* ids in the dictionary at most, four specials included; 0: all */
    int64_t factor;                           /* its size is filled up to a multiple of this */
    bool specials;                            /* of the tokenizer, read in the text */
    const volatile sig_atomic_t *interrupted; /* NULL, or what a signal handler sets to stop the run cleanly */
} FairseqLinesOptions;

typedef struct FairseqLinesSet {
    char *prefix;
    int64_t sentences, tokens, unknown; /* tokens: with the ends of lines */
} FairseqLinesSet;

typedef struct FairseqLinesStats {
    int64_t dictionary; /* ids */
    GPtrArray *sets;    /* of FairseqLinesSet *; g_ptr_array_unref */
} FairseqLinesStats;

bool fairseq_lines_run(const FairseqLinesOptions *options, FairseqLinesStats *stats, GError **error);
