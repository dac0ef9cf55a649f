/* vocab_builder/word_count.h: counts the words of a corpus with many threads in bounded memory. The counts do not
 * depend on the number of threads. */
#pragma once

#include "text/tokenizer_train.h"
#include "text/word_table.h"

/* The normalizer and pre-tokenizer of the tokenizer in training. */
typedef struct WordSplitter {
    const void *context; /* shared by all threads, read-only */
    /* Adds every word of UTF-8 text to the table, with a count of 1 for each occurrence. */
    void (*split)(const void *context, const char *text, size_t bytes, WordTable *words);
} WordSplitter;

typedef struct WordCountOptions {
    int workers;    /* threads; 0 means one for each core */
    int64_t memory; /* bytes for the words, in this table and later in the merge learner */
} WordCountOptions;

/* Adds the words of all texts to an initialised table. Where they would exceed the memory, the rarest words so far are
 * removed, always after the same text, so a word that comes back later is counted too low; a warning tells by how much
 * at most. */
bool word_count(WordTable *words, const WordSplitter *splitter, const WordCountOptions *options, TokenizerText next,
                void *context, GError **error);
