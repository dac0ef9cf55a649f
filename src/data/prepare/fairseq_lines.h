/* fairseq_lines.h: makes datasets of lines, as fairseq-preprocess --only-source does: FOLDER/dict.txt, train.*,
 * valid.*, valid1.*, …, test.*. Every line, empty or not, is a sequence that ends in </s>. Its tokens are the words
 * between white space with the ids of a dictionary, in files with the same bytes as fairseq's; or the pieces of a
 * tokenizer with the tokenizer's ids. */
#pragma once

#include "text/tokenizer.h"

#include <signal.h>
#include <stdint.h>

typedef struct FairseqLinesOptions {
    const char *out;               /* FOLDER */
    char **train, **valid, **test; /* paths, NULL-terminated or NULL; all paths of `train` are one dataset */
    const Tokenizer *tok;          /* NULL means words; the next four fields are only used then */
    const char *dictionary;        /* path of a dictionary; NULL means that one is built from the words of `train` */
    int64_t min_count;             /* words with a smaller count are left out of the dictionary */
    int64_t most_ids;              /* most ids of the dictionary, including four special ones; 0 means no limit */
    int64_t factor;                /* the dictionary is padded to a multiple of this size */
    bool specials;                 /* special tokens of the tokenizer that are written in the text become their ids */
    const volatile sig_atomic_t
        *interrupted; /* a flag that a signal handler sets to stop with an error; NULL means none */
} FairseqLinesOptions;

typedef struct FairseqLinesSet {
    char *prefix;      /* path prefix of the dataset */
    int64_t sentences; /* number of lines */
    int64_t tokens;    /* number of tokens, with </s> */
    int64_t unknown;   /* number of tokens that are <unk> */
} FairseqLinesSet;

typedef struct FairseqLinesStats {
    int64_t dictionary; /* number of ids of the dictionary */
    GPtrArray *sets;    /* of FairseqLinesSet *; g_ptr_array_unref */
} FairseqLinesStats;

bool fairseq_lines_run(const FairseqLinesOptions *options, FairseqLinesStats *stats, GError **error);
