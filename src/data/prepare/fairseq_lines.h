/* fairseq_lines.h: makes datasets of lines, as fairseq-preprocess --only-source does: FOLDER/dict.txt, train.*,
 * valid.*, valid1.*, …, test.*. Every line, empty or not, is a sequence that ends in </s>. Its tokens are either words
 * (split at white space, with the ids of a dictionary; the files have the same bytes as fairseq's) or the pieces of a
 * tokenizer, with the tokenizer's ids. */
#pragma once

#include "text/tokenizer.h"

#include <signal.h>
#include <stdint.h>

typedef struct FairseqLinesOptions {
    const char *out; /* FOLDER */
    char **train, **valid,
        **test; /* NULL-terminated lists of paths, or NULL; all paths of `train` become one dataset */
    const Tokenizer
        *tok; /* NULL means that tokens are words; dictionary, min_count, most_ids and factor are only used then */
    const char *dictionary; /* path of a dictionary; NULL means that one is built from the words of `train` */
    int64_t min_count;      /* words with a smaller count are left out of the dictionary */
    int64_t most_ids; /* largest number of ids in the dictionary, including the four special ones; 0 means no limit */
    int64_t factor;   /* the dictionary is padded until its number of ids is a multiple of `factor` */
    bool specials;    /* special tokens written in the text ("[MASK]") become their ids; false: they are encoded as
                         ordinary text */
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
    GPtrArray *sets;    /* of FairseqLinesSet *; free with g_ptr_array_unref */
} FairseqLinesStats;

/* The path prefixes of all datasets that fairseq_lines_run with these options writes, in its order: train, valid,
 * valid1, …, test, …, NULL-terminated; free with g_strfreev. */
char **fairseq_lines_prefixes(const FairseqLinesOptions *options);
/* Writes all datasets and the dictionary. *stats says what was written. */
bool fairseq_lines_run(const FairseqLinesOptions *options, FairseqLinesStats *stats, GError **error);
/* Writes FOLDER/dict.txt, a dictionary of fairseq in which every piece of a tokenizer has the same id as in the
 * tokenizer. Line i, counted from 0, has the piece with id i + 4 and its count, since fairseq gives the
 * ids 0 to 3 to <s>, <pad>, </s> and <unk>. If the tokenizer has other pieces at the ids 0 to 3, a warning names them.
 * counts: (tokenizer_size) the count of each id. */
bool fairseq_lines_write_identity(const Tokenizer *tok, const char *folder, const int64_t *counts, GError **error);
