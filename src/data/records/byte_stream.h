/* byte_stream.h: the bytes of a file, decompressed if its name ends in .gz or .zst. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct ByteStream ByteStream;

ByteStream *byte_stream_open(const char *path, GError **error); /* opens a file for reading */
void byte_stream_close(ByteStream *stream);
/* Reads up to `capacity` bytes to `out`; *n becomes their number, which is 0 only at the end of the file. A compressed
 * file that ends too early is an error, and so is any file that has become shorter since it was opened. */
bool byte_stream_read(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error);
uint64_t byte_stream_offset(const ByteStream *stream); /* number of bytes of the file on disk (compressed bytes for .gz
                                                          and .zst) that have been read */
