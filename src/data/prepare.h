/* prepare.h: corpus to token dataset: PREFIX.bin, PREFIX.idx, PREFIX.json, and PREFIX-valid.* with documents held out.
 * Fields kept apart make a dataset each. The same input gives the same bytes whatever the number of workers. */
#pragma once

#include "data/corpus.h"
#include "text/tokenizer.h"

#include <signal.h>

typedef struct PrepareOptions {
    CorpusOptions corpus;
    const char *out;                          /* PREFIX */
    double valid;                             /* share of documents held out, chosen by a hash of their text; 0: none */
    int workers;                              /* 0: every core */
    bool append_eod;                          /* eos after every document */
    bool specials;                            /* special tokens in the text are read as such */
    bool fairseq;                             /* OUT is fairseq's folder: dict.txt, train.* and valid.* */
    bool split_sentences;                     /* one sequence a sentence; a document is several */
    bool keep_newlines;                       /* of sentences: the white space after them, if a newline is in it */
    int64_t min_tokens, max_tokens;           /* documents of fewer or more are dropped; 0: no limit */
    bool keep_duplicates;                     /* default: exact duplicates are dropped (xxh3-128 of the text) */
    const volatile sig_atomic_t *interrupted; /* NULL, or what a signal handler sets to stop the run cleanly */
} PrepareOptions;

#define PREPARE_FIELDS 16 /* at most, kept apart */

typedef struct PrepareCounts {
    int64_t documents, valid_documents, tokens, valid_tokens;
} PrepareCounts;

typedef struct PrepareStats {
    int64_t documents, valid_documents, duplicates, empty, skipped, tokens, valid_tokens;
    PrepareCounts fields[PREPARE_FIELDS]; /* the same of each field; without corpus.fields_apart one */
    int64_t too_short, too_long;
    int64_t passed_over;                /* files of folders that are no text */
    int64_t nuls;                       /* NUL characters of JSON, replaced by U+FFFD */
    int64_t text_files, text_documents; /* .txt, and the documents that they gave */
    uint64_t bytes;                     /* of text */
    double seconds;
} PrepareStats;

/* The prefix of a field's dataset: OUT, or OUT_FIELD_document (…_sentence where they are split) of fields kept apart.
 * g_free. */
char *prepare_prefix(const PrepareOptions *options, int field);
bool prepare_run(const Tokenizer *tok, char *const *paths, int n_paths, const PrepareOptions *options,
                 PrepareStats *stats, GError **error);
