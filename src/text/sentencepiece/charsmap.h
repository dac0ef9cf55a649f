/* sentencepiece/charsmap.h: SentencePiece's precompiled_charsmap: a map from byte strings to their normalized form. It
 * consists of the trie's size in bytes (u32), the double-array trie (Darts) of u32 units, and the normalized forms,
 * NUL-terminated. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

G_BEGIN_DECLS

typedef struct CharsMap {
    uint32_t *units;
    size_t n_units; /* 0 means an empty map, which changes nothing */
    char *texts;
    uint8_t copies[128]; /* 1 for ASCII characters that the map leaves unchanged when another ASCII character or the end
                            follows */
} CharsMap;

/* Whether the map is safe to search: no text makes a search read outside its bytes. Zero bytes are a valid, empty map.
 */
bool charsmap_is_valid(const char *data, size_t bytes);
/* Copies the bytes of a valid map. */
void charsmap_init(CharsMap *map, const char *data, size_t bytes);
void charsmap_clear(CharsMap *map);

/* The normalized form of the longest key that `text` starts with, and the length of this key; NULL if no key matches.
 */
const char *charsmap_find(const CharsMap *map, const char *text, size_t bytes, size_t *key_bytes);
/* Appends UTF-8 text to out with the longest matching key replaced at every position. */
void charsmap_apply(const CharsMap *map, const char *text, size_t bytes, GString *out);

G_END_DECLS
