/* vocab_builder/word_count.h: counts the words of a corpus with many threads in bounded memory. The counts do not
 * depend on the number of threads. */
#pragma once

#include "text/tokenizer_train.h"
#include "text/word_table.h"

/* The normalizer and pre-tokenizer of the tokenizer that is being trained. */
typedef struct WordSplitter {
    const void *context; /* shared by all threads, read-only */
    /* Adds every word of UTF-8 text to the table, with a count of 1 for each occurrence; one that is longer than
     * `longest` says only counts as WordTable.left_out. */
    void (*split)(const void *context, const char *text, size_t bytes, WordTable *words);
    const char *longest; /* "100 characters" */
} WordSplitter;

/* Adds the words of all texts to an initialised table. workers: number of threads; 0 means one per core. memory: bytes
 * that the words may use, in the table and later in the merge learner. When the table needs more, the words that were
 * rarest so far are removed; this happens after the same text in every run. If a removed word occurs again, its count
 * is too low; a warning gives the largest possible error. Words that were left out are logged. A corpus without words,
 * and text that is not UTF-8, are user's errors. */
bool word_count(WordTable *words, const WordSplitter *splitter, int workers, int64_t memory, TokenizerText next,
                void *context, GError **error);
