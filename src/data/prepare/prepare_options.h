/* prepare_options.h: the options of loam prepare. */
#pragma once

#include "data/corpus/corpus.h"
#include "data/prepare/programs.h"

#include <signal.h>

typedef struct PrepareOptions {
    CorpusOptions corpus;
    const char *out;                /* path prefix of the dataset */
    double valid;                   /* share of documents to hold out, chosen by a hash of their text */
    int workers;                    /* threads that tokenize; 0 means every core */
    bool append_eod;                /* EOS after every document */
    bool specials;                  /* special tokens in the text are recognised */
    bool fairseq;                   /* write fairseq's files into the folder `out`: dict.txt, train.*, valid.* */
    bool split_sentences;           /* each sentence is a sequence; otherwise each document is one */
    bool keep_newlines;             /* with split_sentences: white space after a sentence belongs to it if it has
                                       a newline */
    int64_t min_tokens, max_tokens; /* shorter and longer documents are left out; 0 means no limit */
    bool keep_duplicates;           /* otherwise a document is left out if its text was seen before (xxh3-128) */
    const ProgramOptions *programs; /* parse documents and cut them into segments, each a document of the dataset; NULL
                                       means that documents are text */
    const volatile sig_atomic_t
        *interrupted; /* NULL, or a flag that a signal handler sets to end the run with an error */
} PrepareOptions;
