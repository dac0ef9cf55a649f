/* mapped_text.h: a text that is rewritten step by step, with an offset map to the original text. */
#pragma once

#include "text/offset_map.h"

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
