/* trie.h: a map from byte strings (keys) to numbers: a double-array trie (Aoe 1989), in which each step from byte to
 * byte reads one unit of an array. One pass over a text finds all keys that the text starts with; no library that loam
 * links can do this. Read-only once built. */
#pragma once

#include <glib.h>
#include <stdint.h>

/* A node of the trie. */
typedef struct TrieUnit {
    uint32_t base;   /* the child for byte c, if there is one, is unit base + c */
    uint32_t parent; /* the unit whose child this is; UINT32_MAX means that the unit is unused */
    int32_t value;   /* value of the key that ends at this unit; -1 means that no key ends here */
} TrieUnit;

typedef struct Trie {
    TrieUnit *units; /* (n_units) unit 0 is the root; a base is at most n_units - 256, so that base + c is in range */
    uint32_t n_units;
} Trie;

typedef struct TrieKey {
    const char *text; /* any bytes */
    uint32_t bytes;
    int32_t value; /* >= 0 */
} TrieKey;

/* Builds a trie of n keys, and sorts `keys`. Of equal keys the largest value counts; an empty key's is the root's. */
void trie_init(Trie *trie, TrieKey *keys, size_t n);
void trie_clear(Trie *trie);

/* The child of a unit for a byte; 0 means that there is none, since the root is not a child. */
static inline uint32_t trie_step(const Trie *trie, uint32_t unit, unsigned char byte)
{
    uint32_t to = trie->units[unit].base + byte;
    return trie->units[to].parent == unit ? to : 0;
}

/* The value of a key; -1 if the trie does not have the key. */
static inline int32_t trie_find(const Trie *trie, const char *text, size_t bytes)
{
    uint32_t unit = 0;
    for (size_t i = 0; i < bytes; i++)
        if ((unit = trie_step(trie, unit, (unsigned char)text[i])) == 0)
            return -1;
    return trie->units[unit].value;
}

/* Finds the longest key that `text` starts with: returns its length in bytes and sets *value; 0 if there is none. */
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
