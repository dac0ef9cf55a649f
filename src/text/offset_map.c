#include "text/offset_map.h"

#include <string.h>

/* Whether text can be normalized separately before and after the start of this character, because it neither composes
 * with the character before it nor is reordered. */
static gboolean starts_anew(gunichar c)
{
    return g_unichar_combining_class(c) == 0 && !g_unichar_ismark(c) && !(c >= 0x1160 && c <= 0x11ff);
}

char *offset_map_normalize(const char *text, size_t bytes, GNormalizeMode form, GArray **map, size_t *n)
{
    GString *out = g_string_sized_new(bytes);
    const char *at = text, *end = text + bytes;
    *map = offset_map_new();
    for (const char *stop; at < end; at = stop) {
        for (stop = g_utf8_next_char(at); stop < end && !starts_anew(g_utf8_get_char(stop));)
            stop = g_utf8_next_char(stop);
        g_autofree char *part = g_utf8_normalize(at, stop - at, form);
        size_t part_bytes = strlen(part);
        gboolean same = part_bytes == (size_t)(stop - at) && memcmp(part, at, part_bytes) == 0;
        g_string_append_len(out, part, (gssize)part_bytes);
        offset_map_add(*map, part_bytes, (size_t)((same ? at : stop) - text), (size_t)(stop - text));
    }
    *n = out->len;
    return g_string_free(out, FALSE);
}
