/* charsmap.h: SentencePiece's precompiled_charsmap: a map from byte strings to their normalized form. Its bytes: u32
 * size of the trie in bytes; a double-array trie (Darts) of u32 units; NUL-terminated normalized forms. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct CharsMap {
    uint32_t *units;
    size_t n_units;      /* 0 means an empty map, which changes no text */
    char *texts;         /* the normalized forms */
    uint8_t copies[128]; /* 1 for an ASCII character that the map keeps if another one or the end of the text follows */
} CharsMap;

/* Whether these bytes are a valid map, outside which no search reads. A map of 0 bytes is valid and empty. */
bool charsmap_is_valid(const char *data, size_t bytes);
/* Initialises a map with a copy of bytes that charsmap_is_valid has accepted. */
void charsmap_init(CharsMap *map, const char *data, size_t bytes);
void charsmap_clear(CharsMap *map);

/* Finds the longest key that `text` starts with. Returns its normalized form and sets *key_bytes to the length of the
 * key; NULL if no key matches. */
const char *charsmap_find(const CharsMap *map, const char *text, size_t bytes, size_t *key_bytes);
/* Appends the normalized form of UTF-8 text to `out`: from left to right, the longest key that matches is replaced;
 * characters without a matching key are copied. */
void charsmap_apply(const CharsMap *map, const char *text, size_t bytes, GString *out);
