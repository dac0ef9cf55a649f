/* unicode.h: categories of characters in Unicode 16, the version that Hugging Face's tokenizers use, since GLib and
 * PCRE2 of Debian 12 know only Unicode 14. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define UNICODE_VERSION "16.0" /* version of Unicode that unicode_type knows */

/* The general category of a character. */
GUnicodeType unicode_type(gunichar c);
/* Unicode's property White_Space. */
static inline bool is_white_space(gunichar c)
{
    return g_unichar_isspace(c) || c == 0x0b || c == 0x85;
}
/* A stand-in for c in a text that GLib or PCRE2 will match: c itself if their older Unicode gives c the category that
 * it has in Unicode 16, otherwise another character of that category, with as many bytes in UTF-8. */
gunichar unicode_known(gunichar c);
/* The lower-case form of a character in Unicode 17, a later version than that of the categories (UNICODE_VERSION). */
gunichar unicode_lower(gunichar c);
