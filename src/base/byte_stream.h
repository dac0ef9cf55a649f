/* byte_stream.h: the bytes of a file, decompressed if its name ends in .gz, .zst, .xz or .bz2. */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define BYTE_STREAM_STDIN "/dev/stdin" /* the path of standard input, which may also be a socket */

typedef struct ByteStream ByteStream;

char *byte_stream_stem(const char *path);                       /* the path without .gz, .zst, .xz or .bz2; g_free */
ByteStream *byte_stream_open(const char *path, GError **error); /* opens a file for reading */
void byte_stream_close(ByteStream *stream);
/* Reads up to `capacity` bytes to `out`; *n becomes their number, which is 0 only at the end of the file. A compressed
 * file that ends too early is an error, and so is any file that has become shorter since it was opened. */
bool byte_stream_read(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error);
/* Number of bytes of the file on disk (compressed bytes, if it is compressed) that have been read. */
uint64_t byte_stream_offset(const ByteStream *stream);
