/* sentences.h: splits text into sentences by rules. A sentence ends
 * - after 。！？｡ and the closing quotes and brackets that follow;
 * - after . ! ? … and the closing quotes and brackets that follow, before white space, unless the next letter is lower
 * case, or the . follows a single capital letter (an initial) or a known abbreviation (Dr., e.g., No. …);
 * - at an empty line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The next sentence of the UTF-8 text [*at, end), without white space at its ends; *at moves past it. False where only
 * white space is left. keep_newlines: white space that holds a newline belongs to the sentence before it. */
bool sentence_next(const char **at, const char *end, bool keep_newlines, const char **sentence, size_t *bytes);
