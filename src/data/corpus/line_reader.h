/* line_reader.h: the lines of a text file as Python splits them: each ends with "\n", "\r\n" or "\r", the last one
 * perhaps without. Plain, .gz or .zst. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct LineReader LineReader;

LineReader *line_reader_open(const char *path, GError **error);
void line_reader_close(LineReader *reader);
/* The next line without its end, NUL-terminated, valid until the next call; the caller may change it. NULL at the end
 * (error unset) or on an error that names file and line: more than 64 MiB, a NUL byte, bytes that are not UTF-8. */
char *line_reader_next(LineReader *reader, size_t *bytes, GError **error);
