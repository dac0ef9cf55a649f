/* unicode.h: categories of characters in Unicode 16, which Hugging Face's tokenizers use; GLib and PCRE2 of Debian 12
 * know only Unicode 14. */
#pragma once

#include <glib.h>

#define UNICODE_VERSION "16.0" /* version of Unicode in unicode_type */

/* The general category of a character. */
GUnicodeType unicode_type(gunichar c);
/* c itself if GLib and PCRE2 give it its category of Unicode 16; otherwise a character of that category that they do
 * know, with as many bytes in UTF-8. */
gunichar unicode_known(gunichar c);
/* The lower-case form of a character in Unicode 17. */
gunichar unicode_lower(gunichar c);
