/* prepare_options.h: what loam prepare is asked for. */
#pragma once

#include "data/corpus/corpus.h"

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
