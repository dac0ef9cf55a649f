/* sentencepiece/normalize.c: the normalizer of a SentencePiece model, step by step as in the library. */
#include "text/offset_map.h"
#include "text/sentencepiece/model.h"

#include <string.h>

/* The normalized text so far. */
typedef struct Normal {
    const SpModel *model;
    const char *space; /* replaces a space */
    size_t space_bytes;
    GString *out;
    bool after_space; /* spaces that follow are dropped */
    GArray *map;      /* offset map of `out`; NULL means that it is not wanted */
} Normal;

/* Normalizes the start of text: returns the result, *part_bytes long, for its first *taken bytes. */
static const char *next_part(const SpModel *model, const char *text, size_t bytes, size_t *taken, size_t *part_bytes)
{
    *taken = *part_bytes = sp_symbol_bytes(model, text, bytes);
    if (*taken > 0)
        return text;
    const char *mapped = charsmap_find(&model->charsmap, text, bytes, taken);
    if (mapped == NULL)
        *taken = MIN((size_t)g_utf8_skip[(unsigned char)*text], bytes);
    *part_bytes = mapped ? strlen(mapped) : *taken;
    return mapped ? mapped : text;
}

/* Appends bytes of the normalized form of a part, whose first byte comes from byte `from` of the original text. */
static void put_normal(Normal *normal, const char *bytes, size_t n, size_t from, size_t n_from)
{
    g_string_append_len(normal->out, bytes, (gssize)n);
    if (normal->map)
        offset_map_add(normal->map, n, from, from + n_from);
}

/* Appends the normalized form of bytes [begin, begin + taken) of the original text; is_same: it is these bytes. */
static void put_part(Normal *normal, const char *part, size_t bytes, size_t begin, size_t taken, bool is_same)
{
    const char *start = part, *end = part + bytes;
    while (normal->after_space && part < end && *part == ' ')
        part++;
    if (part == end)
        return;
    normal->after_space = end[-1] == ' ' && normal->model->remove_extra_whitespaces;
    for (const char *stop; part < end; part = stop) {
        stop = *part == ' ' ? part + 1 : memchr(part, ' ', (size_t)(end - part));
        stop = stop ? stop : end;
        size_t from = is_same ? begin + (size_t)(part - start) : begin + taken;
        size_t n_from = is_same ? (size_t)(stop - part) : 0;
        if (*part == ' ')
            put_normal(normal, normal->space, normal->space_bytes, from, n_from);
        else
            put_normal(normal, part, (size_t)(stop - part), from, n_from);
    }
}

/* The end of the ASCII characters at `at` that normalization keeps: no spaces, no start of a user-defined symbol. */
static const char *skip_plain(const SpModel *model, const char *at, const char *end)
{
    for (; at < end && (signed char)*at > 0 && *at != ' ' && model->charsmap.copies[(uint8_t)*at]; at++)
        if ((at + 1 < end && (signed char)at[1] < 0) || trie_step(&model->symbols, 0, (uint8_t)*at))
            break;
    return at;
}

static bool gets_prefix(const SpModel *model, const char *text, size_t bytes, bool starts_text)
{
    bool spaced = *text == ' ' || (bytes >= strlen(SP_SPACE) && memcmp(text, SP_SPACE, strlen(SP_SPACE)) == 0);
    return model->add_dummy_prefix && !model->treat_whitespace_as_suffix && !(model->keeps_space && spaced) &&
           (starts_text || !model->first_only);
}

/* starts_text: as in TextEdges. */
static GString *normalize_map(const SpModel *model, const char *text, size_t bytes, bool starts_text, GArray **map)
{
    const char *space = model->escape_whitespaces ? SP_SPACE : " ", *at = text, *end = text + bytes;
    bool squeeze = model->remove_extra_whitespaces;
    Normal normal = { model,         space,
                      strlen(space), g_string_sized_new(bytes + bytes / 4 + 16),
                      squeeze,       map ? offset_map_new() : NULL };
    size_t taken, part_bytes;
    if (map)
        *map = normal.map;
    for (; squeeze && at < end; at += taken) {
        const char *part = next_part(model, at, (size_t)(end - at), &taken, &part_bytes);
        if (part_bytes != 1 || *part != ' ')
            break;
    }
    if (at == end)
        return normal.out;
    if (gets_prefix(model, at, (size_t)(end - at), starts_text))
        put_normal(&normal, space, normal.space_bytes, (size_t)(at - text), 0);
    for (; at < end; at += taken) {
        taken = (size_t)(skip_plain(model, at, end) - at);
        part_bytes = taken;
        const char *part = taken ? at : next_part(model, at, (size_t)(end - at), &taken, &part_bytes);
        put_part(&normal, part, part_bytes, (size_t)(at - text), taken, part == at);
    }
    while (squeeze && g_str_has_suffix(normal.out->str, space)) {
        g_string_truncate(normal.out, normal.out->len - normal.space_bytes);
        if (normal.map)
            g_array_set_size(normal.map, (guint)normal.out->len + 1);
    }
    if (model->add_dummy_prefix && model->treat_whitespace_as_suffix)
        put_normal(&normal, space, normal.space_bytes, bytes, 0);
    return normal.out;
}

GString *sp_normalize_edges(const SpModel *model, const char *text, size_t bytes, TextEdges edges, GArray **map)
{
    g_autoptr(GString) anchored = anchor_add(text, bytes, edges);
    if (anchored == NULL)
        return normalize_map(model, text, bytes, edges.starts_text, map);
    GString *normal = normalize_map(model, anchored->str, anchored->len, edges.starts_text, map);
    if (anchor_cut(normal, map ? *map : NULL, bytes, edges, sp_blank_space(model)))
        return normal;
    g_string_free(normal, TRUE);
    if (map)
        g_array_unref(*map);
    return normalize_map(model, text, bytes, edges.starts_text, map);
}
