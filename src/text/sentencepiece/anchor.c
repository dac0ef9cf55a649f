#include "text/sentencepiece/model.h"

#include <string.h>

#define ANCHOR "\xee\x80\x80" /* U+E000, of the private use area */

GString *anchor_add(const char *text, size_t bytes, TextEdges edges)
{
    if (!edges.after_blank && !edges.before_blank)
        return NULL;
    GString *anchored = g_string_new(edges.after_blank ? ANCHOR : "");
    g_string_append_len(anchored, text, (gssize)bytes);
    return g_string_append(anchored, edges.before_blank ? ANCHOR : "");
}

/* Bytes of the space at the start or the end of a text; 0 if there is none. */
static size_t space_bytes(const GString *text, bool at_end)
{
    static const char *const spaces[] = { " ", SP_SPACE };
    for (size_t i = 0; i < G_N_ELEMENTS(spaces); i++)
        if (at_end ? g_str_has_suffix(text->str, spaces[i]) : g_str_has_prefix(text->str, spaces[i]))
            return strlen(spaces[i]);
    return 0;
}

static void cut_start(GString *text, GArray *map, size_t n)
{
    g_string_erase(text, 0, (gssize)n);
    if (map && n > 0)
        g_array_remove_range(map, 0, (guint)n);
}

static void cut_end(GString *text, GArray *map, size_t length)
{
    g_string_truncate(text, length);
    if (map)
        g_array_set_size(map, (guint)length + 1);
}

bool anchor_cut(GString *normal, GArray *map, size_t bytes, TextEdges edges, BlankSpace space)
{
    const size_t anchor = strlen(ANCHOR);
    if (edges.after_blank) {
        const char *found = strstr(normal->str, ANCHOR);
        if (found == NULL)
            return false;
        cut_start(normal, map, (size_t)(found - normal->str) + anchor);
    }
    if (edges.before_blank) {
        const char *found = g_strrstr_len(normal->str, (gssize)normal->len, ANCHOR);
        if (found == NULL)
            return false;
        cut_end(normal, map, (size_t)(found - normal->str));
    }
    if (edges.before_blank && space == BLANK_BEFORE)
        cut_end(normal, map, normal->len - space_bytes(normal, true));
    if (edges.after_blank && space == BLANK_AFTER)
        cut_start(normal, map, space_bytes(normal, false));
    for (guint i = 0; map && i < map->len; i++) {
        uint32_t *at = &g_array_index(map, uint32_t, i);
        *at -= edges.after_blank ? MIN(*at, (uint32_t)anchor) : 0;
        *at = MIN(*at, (uint32_t)bytes);
    }
    return true;
}
