/* token_ranges.c: which characters of a text its tokens stand for, for answers that are spans of the text. */
#include "data/task/task.h"

#include <string.h>

/* Whether a character is white space or becomes no token. */
static bool is_left_out(const Tokenizer *tok, const char *at)
{
    const gunichar c = g_utf8_get_char(at);
    g_autoptr(GArray) ids = NULL;
    if (g_unichar_isspace(c) || g_unichar_isalnum(c) || g_ascii_isgraph(*at))
        return g_unichar_isspace(c);
    ids = g_array_new(false, false, sizeof(int32_t));
    return tokenizer_encode(tok, at, (size_t)(g_utf8_next_char(at) - at), false, ids, NULL) && ids->len == 0;
}

/* The start of the character of byte `at`, or the next start, for a token that is a part of a character. */
static uint32_t char_edge(const char *text, uint32_t at, int step)
{
    while (((unsigned char)text[at] & 0xc0) == 0x80)
        at = step < 0 ? at - 1 : at + 1;
    return at;
}

/* The range of a token that was found in bytes [from, to). A token of nothing but white space keeps it. */
static TokenRange trim_range(const Tokenizer *tok, const char *text, uint32_t from, uint32_t to)
{
    const TokenRange whole = { 0, char_edge(text, from, -1), char_edge(text, to, 1), 0 };
    const char *begin = text + whole.begin, *end = text + whole.end;
    while (begin < end && is_left_out(tok, begin))
        begin = g_utf8_next_char(begin);
    while (end > begin && is_left_out(tok, g_utf8_prev_char(end)))
        end = g_utf8_prev_char(end);
    return begin == end ? whole : (TokenRange){ 0, (uint32_t)(begin - text), (uint32_t)(end - text), 0 };
}

/* Extends a token over the accents behind it, up to byte `limit`. */
static void take_accents(const char *text, TokenRange *token, uint32_t limit)
{
    while (token->begin < token->end && token->end < limit && g_unichar_ismark(g_utf8_get_char(text + token->end)))
        token->end = (uint32_t)(g_utf8_next_char(text + token->end) - text);
    token->after = limit;
}

bool token_ranges_encode(const Tokenizer *tok, const char *text, GArray *ids, GArray *ranges, GError **error)
{
    g_autoptr(GArray) ends = g_array_new(false, false, sizeof(uint32_t));
    TokenRange *last = NULL;
    if (!tokenizer_encode_ends(tok, text, strlen(text), true, ids, ends, error))
        return false;
    g_array_set_size(ranges, ends->len);
    for (guint i = 0; i < ends->len; i++) {
        TokenRange *token = &g_array_index(ranges, TokenRange, i);
        *token = trim_range(tok, text, i ? g_array_index(ends, uint32_t, i - 1) : 0, g_array_index(ends, uint32_t, i));
        if (last)
            take_accents(text, last, token->begin);
        token->before = last ? last->end : 0;
        last = token;
    }
    if (last)
        take_accents(text, last, (uint32_t)strlen(text));
    return true;
}
