/* fairseq_lines.h: datasets of lines, as fairseq-preprocess --only-source makes them: FOLDER/dict.txt, train.*,
 * valid.*, valid1.*, …, test.*. Every line, empty or not, is a sequence that ends in </s>. Its tokens are words between
 * white space with the ids of a dictionary, byte for byte as in fairseq; or the pieces of a tokenizer with its own ids.
 */
#pragma once

#include "text/tokenizer.h"

#include <signal.h>
#include <stdint.h>

typedef struct FairseqLinesOptions {
    const char *out;               /* FOLDER */
    char **train, **valid, **test; /* paths, NULL-terminated or NULL; all paths of `train` are one dataset */
    const Tokenizer *tok;          /* NULL means words, and only then the next four fields count */
    const char *dictionary;        /* path of a dictionary; NULL means one built of the words of `train` */
    int64_t min_count;             /* less frequent words are left out of the dictionary */
    int64_t most_ids;              /* ids of the dictionary at most, four specials included; 0 means all */
    int64_t factor;                /* the dictionary is filled up to a multiple of this size */
    bool specials;                 /* special tokens of the tokenizer are recognised in the text */
    const volatile sig_atomic_t
        *interrupted; /* NULL, or a flag that a signal handler sets to end the run with an error */
} FairseqLinesOptions;

typedef struct FairseqLinesSet {
    char *prefix;      /* path prefix of the dataset */
    int64_t sentences; /* lines */
    int64_t tokens;    /* </s> included */
    int64_t unknown;   /* tokens that are <unk> */
} FairseqLinesSet;

typedef struct FairseqLinesStats {
    int64_t dictionary; /* ids */
    GPtrArray *sets;    /* of FairseqLinesSet *; g_ptr_array_unref */
} FairseqLinesStats;

bool fairseq_lines_run(const FairseqLinesOptions *options, FairseqLinesStats *stats, GError **error);
