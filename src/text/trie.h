/* trie.h: a map from byte strings to numbers, as a double-array trie (Aoe 1989), in which following one byte reads one
 * unit. One pass over a text finds all keys that it starts with; no library that loam links can do that. Read-only once
 * built. */
#pragma once

#include <glib.h>
#include <stdint.h>

typedef struct TrieUnit {
    uint32_t base;   /* the child along byte c, if there is one, is unit base + c */
    uint32_t parent; /* UINT32_MAX means a free unit */
    int32_t value;   /* value of the key that ends at this unit; -1 means that no key does */
} TrieUnit;

typedef struct Trie {
    TrieUnit *units; /* unit 0 is the root; every base is at most n_units - 256, so that base + c is always in range */
    uint32_t n_units;
} Trie;

typedef struct TrieKey {
    const char *text; /* any bytes */
    uint32_t bytes;
    int32_t value; /* >= 0 */
} TrieKey;

/* Builds the trie; sorts `keys`. Of equal keys the largest value counts; an empty key gives the root its value. */
void trie_init(Trie *trie, TrieKey *keys, size_t n);
void trie_clear(Trie *trie);

/* The child of a unit along a byte; 0 means there is none (the root is nobody's child). */
static inline uint32_t trie_step(const Trie *trie, uint32_t unit, unsigned char byte)
{
    uint32_t to = trie->units[unit].base + byte;
    return trie->units[to].parent == unit ? to : 0;
}

/* The value of exactly this key; -1 if there is no such key. */
static inline int32_t trie_find(const Trie *trie, const char *text, size_t bytes)
{
    uint32_t unit = 0;
    for (size_t i = 0; i < bytes; i++)
        if ((unit = trie_step(trie, unit, (unsigned char)text[i])) == 0)
            return -1;
    return trie->units[unit].value;
}

/* Length in bytes of the longest key that text starts with, and its value; 0 if there is none. */
static inline size_t trie_longest(const Trie *trie, const char *text, size_t bytes, int32_t *value)
{
    size_t found = 0;
    uint32_t unit = 0;
    for (size_t i = 0; i < bytes && (unit = trie_step(trie, unit, (unsigned char)text[i])); i++)
        if (trie->units[unit].value >= 0) {
            *value = trie->units[unit].value;
            found = i + 1;
        }
    return found;
}
