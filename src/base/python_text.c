#include "base/python_text.h"

#include <math.h>
#include <string.h>

bool python_is_space(gunichar c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
    switch (g_unichar_type(c)) {
    case G_UNICODE_SPACE_SEPARATOR:
    case G_UNICODE_LINE_SEPARATOR:
    case G_UNICODE_PARAGRAPH_SEPARATOR:
        return true;
    default:
        return c == 0x85;
    }
}

bool python_is_word(gunichar c)
{
    GUnicodeType type = g_unichar_type(c);
    return c == '_' || g_unichar_isalpha(c) || type == G_UNICODE_DECIMAL_NUMBER || type == G_UNICODE_LETTER_NUMBER ||
           type == G_UNICODE_OTHER_NUMBER;
}

bool python_is_punctuation(gunichar c)
{
    return c < 0x80 && g_ascii_ispunct((char)c);
}

/* ---- lower case ---- */

static bool is_cased(gunichar c)
{
    return g_unichar_isupper(c) || g_unichar_islower(c) || g_unichar_istitle(c);
}

/* Unicode's property Case_Ignorable: marks, format characters, modifiers, and punctuation that may be within a word. */
static bool is_case_ignorable(gunichar c)
{
    switch (g_unichar_type(c)) {
    case G_UNICODE_NON_SPACING_MARK:
    case G_UNICODE_ENCLOSING_MARK:
    case G_UNICODE_FORMAT:
    case G_UNICODE_MODIFIER_LETTER:
    case G_UNICODE_MODIFIER_SYMBOL:
        return true;
    default:
        return c < 0x80 ? c && strchr("'.:", (int)c)
                        : c == 0xb7 || (c >= 0x2018 && c <= 0x2019) || c == 0x2024 || c == 0x2027;
    }
}

/* Whether Σ ends a word: a cased letter is before it and none after it; ignorable characters do not count. */
static bool is_final_sigma(const char *text, const char *sigma)
{
    const char *at = sigma;
    gunichar c = 0;
    while (at > text && is_case_ignorable(c = g_utf8_get_char(at = g_utf8_prev_char(at))))
        ;
    if (sigma == text || is_case_ignorable(c) || !is_cased(c))
        return false;
    at = g_utf8_next_char(sigma);
    while (*at && is_case_ignorable(g_utf8_get_char(at)))
        at = g_utf8_next_char(at);
    return *at == '\0' || !is_cased(g_utf8_get_char(at));
}

/* Roman numerals and circled letters have a lower case in Unicode, but GLib does not treat them as letters. */
static gunichar to_lower(gunichar c)
{
    if (c >= 0x2160 && c <= 0x216f)
        return c + 0x10;
    if (c >= 0x24b6 && c <= 0x24cf)
        return c + 26;
    return g_unichar_tolower(c);
}

char *python_lower(const char *text)
{
    GString *lower = g_string_sized_new(strlen(text));
    for (const char *at = text; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);
        if (c == 0x130)
            g_string_append(lower, "i\xcc\x87");
        else if (c == 0x3a3)
            g_string_append_unichar(lower, is_final_sigma(text, at) ? 0x3c2 : 0x3c3);
        else
            g_string_append_unichar(lower, to_lower(c));
    }
    return g_string_free(lower, FALSE);
}

/* ---- words ---- */

bool python_next_word(const char **at, const char **word, size_t *bytes)
{
    const char *p = *at;
    while (*p && python_is_space(g_utf8_get_char(p)))
        p = g_utf8_next_char(p);
    *word = p;
    while (*p && !python_is_space(g_utf8_get_char(p)))
        p = g_utf8_next_char(p);
    *at = p;
    *bytes = (size_t)(p - *word);
    return *bytes > 0;
}

void python_collapse(char *text)
{
    const char *at = text, *word;
    char *to = text;
    size_t bytes;
    while (python_next_word(&at, &word, &bytes)) {
        if (to > text)
            *to++ = ' ';
        memmove(to, word, bytes);
        to += bytes;
    }
    *to = '\0';
}

/* ---- lines ---- */

char *python_strip(const char *text)
{
    const char *end = text + strlen(text);
    while (*text && python_is_space(g_utf8_get_char(text)))
        text = g_utf8_next_char(text);
    while (end > text && python_is_space(g_utf8_get_char(g_utf8_prev_char(end))))
        end = g_utf8_prev_char(end);
    return g_strndup(text, (gsize)(end - text));
}

char *python_drop_empty_lines(const char *text)
{
    GString *kept = g_string_new(NULL);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        const char *at = *line, *word;
        size_t bytes;
        if (python_next_word(&at, &word, &bytes))
            g_string_append_printf(kept, "%s%s", kept->len ? "\n" : "", *line);
    }
    return g_string_free(kept, false);
}

/* A text as Python's float reads it: decimal digits of any script become ASCII digits; single underscores between
 * digits, and white space around the text, are removed. g_free. */
static char *plain_digits(const char *text)
{
    g_autofree char *stripped = python_strip(text);
    GString *plain = g_string_new(NULL);
    for (const char *at = stripped; *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);
        const int digit = g_unichar_digit_value(c);
        const bool after = plain->len > 0 && g_ascii_isdigit(plain->str[plain->len - 1]);
        if (digit >= 0)
            g_string_append_c(plain, (char)('0' + digit));
        else if (c != '_' || !after || g_unichar_digit_value(g_utf8_get_char(at + 1)) < 0)
            g_string_append_unichar(plain, c);
    }
    return g_string_free(plain, false);
}

bool python_float(double *out, const char *text)
{
    char *end;
    g_autofree char *digits = plain_digits(text);
    *out = g_ascii_strtod(digits, &end);
    return end > digits && *end == '\0' && strcspn(digits, "xX") >= (size_t)(end - digits) && isfinite(*out);
}
