/* sentences.h: splits text into sentences. The rules: a sentence ends
 * - after 。！？｡ and the closing quotes and brackets that follow;
 * - after . ! ? … and the closing quotes and brackets that follow, before white space, unless the next letter is lower
 * case, or the . follows a single capital letter (an initial) or a known abbreviation (Dr., e.g., No. …);
 * - at an empty line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Finds the next sentence of the UTF-8 text [*at, end), without white space at its ends, and moves *at past it. False
 * if only white space is left. keep_newlines: white space that contains a newline is part of the sentence before it. */
bool sentence_next(const char **at, const char *end, bool keep_newlines, const char **sentence, size_t *bytes);
