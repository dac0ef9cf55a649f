/* codecs.h: decompresses pages. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Fails if pages of this codec, by its number in the format, are not read. */
bool codec_check(int codec, GError **error);
bool codec_is_none(int codec);
/* Decompresses `bytes` bytes to exactly `n` bytes of `out`. codec: one that codec_check accepts. */
bool codec_decompress(int codec, const char *in, size_t bytes, char *out, size_t n, GError **error);
