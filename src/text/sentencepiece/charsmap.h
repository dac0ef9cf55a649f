/* charsmap.h: SentencePiece's precompiled character map: a double array (Darts) from byte strings to their normal form.
 * It is a u32 length, the array's u32 units, and NUL-terminated texts. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

G_BEGIN_DECLS

typedef struct CharsMap {
    uint32_t *units;
    size_t n_units; /* 0: every character stays as it is */
    char *texts;
    uint8_t copies[128]; /* this ASCII character stays if another follows, or nothing */
} CharsMap;

/* Whether a walk through the map stays within it. No bytes at all are a map too. */
bool charsmap_is_sound(const char *data, size_t bytes);
/* Copies the bytes of a sound map. */
void charsmap_init(CharsMap *map, const char *data, size_t bytes);
void charsmap_clear(CharsMap *map);

/* The text of the longest key that `text` begins with, and that key's length; NULL if there is none. */
const char *charsmap_find(const CharsMap *map, const char *text, size_t bytes, size_t *key_bytes);
/* Appends to out the normal form of UTF-8 text, as the longest keys of the map give it. */
void charsmap_apply(const CharsMap *map, const char *text, size_t bytes, GString *out);

G_END_DECLS
