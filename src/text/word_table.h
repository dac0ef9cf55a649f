/* word_table.h: how often each word occurs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct WordEntry {
    uint64_t hash;
    int64_t count;
    size_t begin; /* in the table's text */
    uint32_t bytes;
} WordEntry;

typedef struct WordTable {
    WordEntry *entries; /* in the order in which the words came */
    size_t n, room;
    char *text;
    size_t text_bytes, text_room;
    uint32_t *slots; /* number of an entry + 1; 0: empty */
    size_t n_slots;  /* a power of two */
} WordTable;

void word_table_init(WordTable *table);
void word_table_clear(WordTable *table);
/* Forgets every word, and keeps the room for the next. */
void word_table_empty(WordTable *table);
/* A word of less than 4 GiB, `count` times more. */
void word_table_add(WordTable *table, const char *word, size_t bytes, int64_t count);
/* Every word of another table. */
void word_table_add_all(WordTable *table, const WordTable *from);
/* Forgets the words that occurred no more than `count` times. */
void word_table_prune(WordTable *table, int64_t count);
const char *word_table_word(const WordTable *table, size_t entry);
