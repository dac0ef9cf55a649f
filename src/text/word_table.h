/* word_table.h: counts how often each word occurs: an open-addressing hash table without an allocation per word. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Words that are too long to train a tokenizer on, such as base64 or a file without a space, are left out. */
#define LONG_WORD_BYTES 4096 /* longest word that is trained on, near SentencePiece's longest sentence (4192) */
#define LONG_WORD_TEXT  "4,096 bytes"

typedef struct WordEntry {
    uint64_t hash;
    int64_t count;
    size_t begin;   /* offset of the word in WordTable.text */
    uint32_t bytes; /* length of the word */
} WordEntry;

typedef struct WordTable {
    WordEntry *entries; /* (n) in the order of first occurrence; memory is allocated for `room` entries */
    size_t n, room;
    char *text; /* (text_bytes) the words, one after another; memory is allocated for text_room bytes */
    size_t text_bytes, text_room;
    uint32_t *slots;  /* (n_slots) the hash table: index of an entry + 1; 0 means an empty slot */
    size_t n_slots;   /* a power of two */
    int64_t left_out; /* words that the caller did not add, as they are too long */
} WordTable;

/* Makes an empty table. */
void word_table_init(WordTable *table);
void word_table_clear(WordTable *table);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(WordTable, word_table_clear)
/* Removes all words but keeps the memory. */
void word_table_empty(WordTable *table);
/* Adds `count` to the count of a word, which has less than 4 GiB. */
void word_table_add(WordTable *table, const char *word, size_t bytes, int64_t count);
/* Adds all words of another table with their counts. */
void word_table_add_all(WordTable *table, const WordTable *from);
/* Removes the words that occurred `count` times or less. */
void word_table_prune(WordTable *table, int64_t count);
const char *word_table_word(const WordTable *table, size_t entry); /* the text of an entry, not NUL-terminated */
/* Logs how many words were left out for their length. any: whether other text is left to train on; otherwise it fails.
 * longest: the length that is allowed, such as LONG_WORD_TEXT. */
bool word_table_report_long(int64_t left_out, const char *longest, bool any, GError **error);
