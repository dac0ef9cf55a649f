/* word_count.h: counts the words of a corpus with many threads, within a bound of memory. The counts are the same for
 * any number of threads. */
#pragma once

#include "text/tokenizer_train.h"
#include "text/word_table.h"

/* How text becomes words: what the encoder of a kind does before it looks for pieces. */
typedef struct WordSplitter {
    const void *context; /* shared by the threads, read only */
    /* Adds the words of UTF-8 text, once for each time they occur. */
    void (*split)(const void *context, const char *text, size_t bytes, WordTable *words);
} WordSplitter;

typedef struct WordCountOptions {
    int workers;    /* 0: every core */
    int64_t memory; /* bytes that the words may take, here and in the learning of merges */
} WordCountOptions;

/* The words of every text of `next`, in an initialised table. Where they outgrow the memory, the rarest so far are
 * forgotten (a warning says how often they occurred), always after the same text: a word that is kept may be counted
 * too low. */
bool word_count(WordTable *words, const WordSplitter *splitter, const WordCountOptions *options, TokenizerText next,
                void *context, GError **error);
