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
 * byte i comes from byte begin + i; else the map has `end` for all n bytes, as if each came from the whole range. */
static inline void offset_map_add(GArray *map, size_t n, size_t begin, size_t end)
{
    for (size_t i = 1; i <= n; i++) {
        const uint32_t from = (uint32_t)(n == end - begin ? begin + i : end);
        g_array_append_val(map, from);
    }
}

/* A text that is rewritten step by step, with an offset map to the original text. */
typedef struct MappedText {
    GString *text;
    GArray *map; /* offset map of `text`; NULL means that it is not wanted */
} MappedText;

static inline MappedText mapped_text_new(size_t bytes, gboolean with_map)
{
    return (MappedText){ g_string_sized_new(bytes + bytes / 4 + 16), with_map ? offset_map_new() : NULL };
}

/* A copy of a text, which is its own original. */
static inline MappedText mapped_text_of(const char *text, size_t bytes, gboolean with_map)
{
    MappedText whole = mapped_text_new(bytes, with_map);
    g_string_append_len(whole.text, text, (gssize)bytes);
    if (with_map)
        offset_map_add(whole.map, bytes, 0, bytes);
    return whole;
}

static inline void mapped_text_clear(MappedText *mapped)
{
    if (mapped->text)
        g_string_free(mapped->text, TRUE);
    g_clear_pointer(&mapped->map, g_array_unref);
    mapped->text = NULL;
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MappedText, mapped_text_clear)

/* Appends n bytes that stand for bytes [begin, end) of `from`. */
static inline void mapped_text_put(MappedText *out, const MappedText *from, const char *bytes, size_t n, size_t begin,
                                   size_t end)
{
    g_string_append_len(out->text, bytes, (gssize)n);
    for (size_t i = 1; out->map && i <= n; i++) {
        const uint32_t at = offset_map_at(from->map, n == end - begin ? begin + i : end);
        g_array_append_val(out->map, at);
    }
}

static inline void mapped_text_keep(MappedText *out, const MappedText *from, size_t begin, size_t end)
{
    mapped_text_put(out, from, from->text->str + begin, end - begin, begin, end);
}
