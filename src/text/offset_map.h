/* offset_map.h: maps the bytes of a normalized text back to bytes of the original text. A map is a GArray of uint32_t:
 * the first i bytes of the normalized text come from the first map[i] bytes of the original. It has one element more
 * than the normalized text has bytes, and its elements never decrease. */
#pragma once

#include <glib.h>
#include <stdint.h>

/* Element i of the map, or the last element if the map has fewer elements. */
static inline uint32_t offset_map_at(const GArray *map, size_t i)
{
    return g_array_index(map, uint32_t, MIN(i, (size_t)map->len - 1));
}

/* The map of an empty text. Free with g_array_unref. */
static inline GArray *offset_map_new(void)
{
    GArray *map = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    const uint32_t start = 0;
    g_array_append_val(map, start);
    return map;
}

/* Appends n bytes of normalized text that come from bytes [begin, end) of the original. If n is end - begin, appended
 * byte i comes from byte begin + i; otherwise the map has `end` for all n bytes, as if each of them came from the whole
 * range. */
static inline void offset_map_add(GArray *map, size_t n, size_t begin, size_t end)
{
    for (size_t i = 1; i <= n; i++) {
        const uint32_t from = (uint32_t)(n == end - begin ? begin + i : end);
        g_array_append_val(map, from);
    }
}

/* Returns the text in one of Unicode's normal forms (NFC, …); *n becomes its length in bytes, *map its offset map. Free
 * the text with g_free, the map with g_array_unref. */
char *offset_map_normalize(const char *text, size_t bytes, GNormalizeMode form, GArray **map, size_t *n);
