/* line_reader.h: the lines of a text file as Python reads them: "\n", "\r\n" and "\r" end one, and a last line need not
 * be ended. Plain, .gz or .zst. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct LineReader LineReader;

LineReader *line_reader_open(const char *path, GError **error);
void line_reader_close(LineReader *reader);
/* The next line without its end, NUL-terminated, valid until the next call, to be changed at will; NULL at the end
 * (error unset) or on an error that names file and line: longer than 64 MiB, a NUL byte, bytes that are not UTF-8. */
char *line_reader_next(LineReader *reader, size_t *bytes, GError **error);
