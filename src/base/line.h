/* line.h: reads a text file line by line. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#define LINE_MOST_BYTES ((size_t)64 << 20) /* the longest line */

/* Reads the next line of a file, with its newline; at the end of the file `line` becomes empty. Fails at a line of more
 * than LINE_MOST_BYTES, without reading on, and if the file cannot be read. */
bool line_read(GString *line, FILE *file, GError **error);
