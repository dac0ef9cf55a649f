/* unicode.h: categories of characters by Unicode 16, which Hugging Face's tokenizers go by, where GLib and PCRE2 know
 * an older version. */
#pragma once

#include <glib.h>

#define UNICODE_VERSION "16.0" /* of the categories */

GUnicodeType unicode_type(gunichar c);
/* A character of the same category and of as many bytes in UTF-8 that GLib and PCRE2 know since Unicode 14; c itself
 * where they take it for what it is. */
gunichar unicode_known(gunichar c);
/* In lower case, as Unicode 17 has it. */
gunichar unicode_lower(gunichar c);
