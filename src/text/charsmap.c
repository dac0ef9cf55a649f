#include "text/charsmap.h"

#include <string.h>

/* Darts' double array: from unit i, byte b leads to unit i ^ offset(unit i) ^ b, which is its child if its label is b.
 * With HAS_TEXT, unit i ^ offset(unit i) holds the offset of a text. */
#define HAS_TEXT 256u
#define LABEL    0x800000ffu
#define TEXT_AT  0x7fffffffu

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 512) >> 6);
}

bool charsmap_is_valid(const char *data, size_t bytes)
{
    uint32_t trie_bytes;
    if (bytes == 0)
        return true;
    if (bytes < sizeof trie_bytes)
        return false;
    memcpy(&trie_bytes, data, sizeof trie_bytes);
    if (trie_bytes == 0 || trie_bytes % 1024 != 0 || bytes - sizeof trie_bytes <= trie_bytes || data[bytes - 1] != 0)
        return false;
    size_t n = trie_bytes / sizeof(uint32_t);
    g_autofree uint32_t *units = g_memdup2(data + sizeof trie_bytes, trie_bytes);
    if (offset_of(units[0]) >= n) /* the root is always valid, whatever its label is */
        return false;
    uint64_t text_bytes = bytes - sizeof trie_bytes - trie_bytes;
    for (size_t i = 0; i < n; i++) {
        size_t target = i ^ offset_of(units[i]);
        if (units[i] >> 31)
            continue;
        if (target >= n || ((units[i] & HAS_TEXT) && (units[target] & TEXT_AT) >= text_bytes))
            return false;
    }
    return true;
}

const char *charsmap_find(const CharsMap *map, const char *text, size_t bytes, size_t *key_bytes)
{
    const char *found = NULL;
    if (map->n_units == 0)
        return NULL;
    size_t at = offset_of(map->units[0]);
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        uint32_t unit = map->units[at ^ byte];
        if ((unit & LABEL) != byte)
            break;
        at ^= byte ^ offset_of(unit);
        if (unit & HAS_TEXT) {
            found = map->texts + (map->units[at] & TEXT_AT);
            *key_bytes = i + 1;
        }
    }
    return found;
}

/* Whether a key that starts with c continues with an ASCII character. */
static bool has_ascii_child(const CharsMap *map, unsigned char c)
{
    if (map->n_units == 0)
        return false;
    size_t at = offset_of(map->units[0]) ^ c;
    uint32_t unit = map->units[at];
    if ((unit & LABEL) != c)
        return false;
    at ^= offset_of(unit);
    for (size_t next = 1; next < 128; next++)
        if ((map->units[at ^ next] & LABEL) == next)
            return true;
    return false;
}

void charsmap_init(CharsMap *map, const char *data, size_t bytes)
{
    *map = (CharsMap){ 0 };
    if (bytes > 0) {
        uint32_t trie_bytes;
        memcpy(&trie_bytes, data, sizeof trie_bytes);
        map->units = g_memdup2(data + sizeof trie_bytes, trie_bytes);
        map->n_units = trie_bytes / sizeof(uint32_t);
        map->texts = g_memdup2(data + sizeof trie_bytes + trie_bytes, bytes - sizeof trie_bytes - trie_bytes);
    }
    for (int c = 1; c < 128; c++) {
        size_t key_bytes;
        bool is_key = charsmap_find(map, &(char){ (char)c }, 1, &key_bytes) != NULL;
        map->copies[c] = !is_key && !has_ascii_child(map, (unsigned char)c);
    }
}

void charsmap_clear(CharsMap *map)
{
    g_free(map->units);
    g_free(map->texts);
    *map = (CharsMap){ 0 };
}

void charsmap_apply(const CharsMap *map, const char *text, size_t bytes, GString *out)
{
    const char *at = text, *end = text + bytes, *rest = text; /* bytes [rest, at) are copied unchanged */
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        if (c < 128 && map->copies[c] && (at + 1 == end || (signed char)at[1] >= 0)) {
            at++;
            continue;
        }
        size_t key_bytes;
        const char *normal = charsmap_find(map, at, (size_t)(end - at), &key_bytes);
        if (normal == NULL) {
            at += g_utf8_skip[c];
            continue;
        }
        g_string_append_len(out, rest, at - rest);
        g_string_append(out, normal);
        rest = at += key_bytes;
    }
    g_string_append_len(out, rest, at - rest);
}
