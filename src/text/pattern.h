/* pattern.h: the regular expressions of a tokenizer.json. They are Oniguruma's, in the syntax of Ruby; PCRE2, which
 * matches them here, reads some of them otherwise. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Compiles a pattern with the meaning that it has in Hugging Face's tokenizers; free with pcre2_code_free. NULL, with
 * an error that names the part, if it has a part that PCRE2 cannot express, or is wrong. */
pcre2_code *pattern_open(const char *pattern, GError **error);
/* The text to match: with characters of the same category and length for those that PCRE2 may not know, in `room`;
 * `text` itself if it has none. */
const char *pattern_text(GString *room, const char *text, size_t bytes);
/* pcre2_match, from byte `from` on, of a text that pattern_text returned. */
int pattern_match(const pcre2_code *code, const char *text, size_t bytes, size_t from, pcre2_match_data *match);
