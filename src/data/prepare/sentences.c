#include "data/prepare/prepare_pipeline.h"

#include <string.h>

/* Abbreviations in lower case, without the final full stop. */
static const char *const abbreviations[] = {
    "mr",  "mrs", "ms",  "dr",  "prof", "rev", "gen",  "col", "sgt",  "capt", "lt",     "hon", "st",
    "jr",  "sr",  "vs",  "cf",  "e.g",  "i.e", "no",   "nos", "fig",  "figs", "eq",     "eqs", "sec",
    "vol", "pp",  "ed",  "eds", "al",   "inc", "ltd",  "co",  "corp", "dept", "approx", "jan", "feb",
    "mar", "apr", "jun", "jul", "aug",  "sep", "sept", "oct", "nov",  "dec",  "u.s",    "u.k", "ph.d",
};

static bool is_wide_stop(gunichar c)
{
    return c == 0x3002 || c == 0xff01 || c == 0xff1f || c == 0xff61; /* 。！？｡ */
}

static bool is_stop(gunichar c)
{
    return c == '.' || c == '!' || c == '?' || c == 0x2026; /* … */
}

static bool closes(gunichar c)
{
    GUnicodeType type = g_unichar_type(c);
    return c == '"' || c == '\'' || c == 0x2019 || c == 0xbb || type == G_UNICODE_CLOSE_PUNCTUATION ||
           type == G_UNICODE_FINAL_PUNCTUATION;
}

/* Whether the word before the full stop at `stop` is an initial or an abbreviation. */
static bool is_abbreviated(const char *begin, const char *stop)
{
    const char *word = stop;
    while (word > begin && (g_ascii_isalpha(word[-1]) || (word[-1] == '.' && word < stop)))
        word--;
    size_t n = (size_t)(stop - word);
    if (n == 1 && g_ascii_isupper(*word))
        return true;
    for (size_t i = 0; i < G_N_ELEMENTS(abbreviations); i++)
        if (strlen(abbreviations[i]) == n && g_ascii_strncasecmp(abbreviations[i], word, n) == 0)
            return true;
    return false;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && g_unichar_isspace(g_utf8_get_char(p)))
        p = g_utf8_next_char(p);
    return p;
}

static const char *skip_closing(const char *p, const char *end)
{
    while (p < end && (closes(g_utf8_get_char(p)) || is_stop(g_utf8_get_char(p)) || is_wide_stop(g_utf8_get_char(p))))
        p = g_utf8_next_char(p);
    return p;
}

/* Whether a sentence ends with the character at p. *after becomes the end of that character, after the end of a
 * sentence also including closing quotes and brackets. */
static bool ends_at(const char *begin, const char *p, const char *end, const char **after)
{
    gunichar c = g_utf8_get_char(p);
    *after = g_utf8_next_char(p);
    if (!is_stop(c) && !is_wide_stop(c))
        return false;
    *after = skip_closing(*after, end);
    if (is_wide_stop(c) || *after == end)
        return true;
    const char *next = skip_space(*after, end);
    if (next == *after)
        return false;
    if (next < end && g_unichar_islower(g_utf8_get_char(next)))
        return false;
    return c != '.' || !is_abbreviated(begin, p);
}

static bool is_empty_line(const char *p, const char *end)
{
    if (*p != '\n')
        return false;
    for (p++; p < end && (*p == ' ' || *p == '\t' || *p == '\r'); p++)
        ;
    return p < end && *p == '\n';
}

bool sentence_next(const char **at, const char *end, bool keep_newlines, const char **sentence, size_t *bytes)
{
    const char *begin = skip_space(*at, end), *after = begin;
    if (begin == end)
        return false;
    for (const char *p = begin; p < end && !is_empty_line(p, end); p = after)
        if (ends_at(begin, p, end, &after))
            break;
    while (after > begin && g_ascii_isspace(after[-1]))
        after--;
    const char *next = skip_space(after, end);
    if (keep_newlines && memchr(after, '\n', (size_t)(next - after)))
        after = next;
    *at = next;
    *sentence = begin;
    *bytes = (size_t)(after - begin);
    return true;
}
