/* sentences.h: where sentences end, by rules of our own. A sentence ends
 * - after 。！？｡ and the closing quotes and brackets that follow;
 * - after . ! ? … and what closes, before white space, unless a small letter comes next, or the . follows a single
 *   capital (an initial) or a known abbreviation (Dr., e.g., No. …);
 * - at an empty line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The next sentence of UTF-8 text [*at, end), which moves *at behind it; false where only white space is left. The
 * sentence has no white space at its ends; with keep_newlines what follows it stays, if a newline is in it. */
bool sentence_next(const char **at, const char *end, bool keep_newlines, const char **sentence, size_t *bytes);
