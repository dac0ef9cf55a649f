/* compressions.h: the formats that are decompressed as they are read, and what makes files of them. */
#pragma once

#include <bzlib.h>
#include <glib.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* Each returns the size of the member that it writes, which has a checksum, to `out`. */

static inline size_t compress_gzip(const char *text, size_t bytes, char *out, size_t capacity)
{
    z_stream z = { 0 };
    g_assert_cmpint(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), ==, Z_OK);
    z.next_in = (Bytef *)text;
    z.avail_in = (uInt)bytes;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)capacity;
    g_assert_cmpint(deflate(&z, Z_FINISH), ==, Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

static inline size_t compress_zstd(const char *text, size_t bytes, char *out, size_t capacity)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    g_assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)));
    size_t n = ZSTD_compress2(zstd, out, capacity, text, bytes);
    g_assert_false(ZSTD_isError(n));
    ZSTD_freeCCtx(zstd);
    return n;
}

static inline size_t compress_xz(const char *text, size_t bytes, char *out, size_t capacity)
{
    size_t n = 0;
    g_assert_cmpint(
        lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, bytes, (uint8_t *)out, &n, capacity),
        ==, LZMA_OK);
    return n;
}

static inline size_t compress_bzip2(const char *text, size_t bytes, char *out, size_t capacity)
{
    unsigned n = (unsigned)capacity;
    g_assert_cmpint(BZ2_bzBuffToBuffCompress(out, &n, (char *)text, (unsigned)bytes, 1, 0, 0), ==, BZ_OK);
    return n;
}

static const struct Compression {
    const char *file, *name;
    size_t (*compress)(const char *text, size_t bytes, char *out, size_t capacity);
    const char *second; /* the error about what follows the first member and is no second one */
} compressions[] = {
    { "a.txt.gz", "gzip", compress_gzip, "damaged gzip data: what follows member 1 is no other one (near byte " },
    { "a.txt.zst", "zstd", compress_zstd, "damaged zstd data: what follows frame 1 is no other one (near byte " },
    { "a.txt.xz", "xz", compress_xz, "damaged xz data near byte " },
    { "a.txt.bz2", "bzip2", compress_bzip2, "damaged bzip2 data: what follows stream 1 is no other one (near byte " },
};
