#include "format/parquet/codecs.h"

#include <brotli/decode.h>
#include <lz4.h>
#include <snappy-c.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define HADOOP_HEADER 8 /* two big-endian numbers before each block: its bytes, then those of its compressed form */

/* Returns whether the bytes decompress to exactly n. */
typedef bool (*DecompressFn)(const char *in, size_t bytes, char *out, size_t n);

static bool uncompressed(const char *in, size_t bytes, char *out, size_t n)
{
    if (bytes == n)
        memcpy(out, in, n);
    return bytes == n;
}

static bool snappy(const char *in, size_t bytes, char *out, size_t n)
{
    size_t promised, got = n;
    return snappy_uncompressed_length(in, bytes, &promised) == SNAPPY_OK && promised == n &&
           snappy_uncompress(in, bytes, out, &got) == SNAPPY_OK && got == n;
}

/* One or several members of gzip or zlib. */
static bool gunzip(const char *in, size_t bytes, char *out, size_t n)
{
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)in, .avail_in = (uInt)bytes, .next_out = (Bytef *)out, .avail_out = (uInt)n
    };
    if (inflateInit2(&stream, MAX_WBITS + 32) != Z_OK)
        return false;
    int state;
    do
        state = inflate(&stream, Z_FINISH);
    while (state == Z_STREAM_END && stream.avail_in > 0 && stream.avail_out > 0 && inflateReset(&stream) == Z_OK);
    inflateEnd(&stream);
    return state == Z_STREAM_END && stream.avail_out == 0;
}

static bool unbrotli(const char *in, size_t bytes, char *out, size_t n)
{
    size_t got = n;
    return BrotliDecoderDecompress(bytes, (const uint8_t *)in, &got, (uint8_t *)out) == BROTLI_DECODER_RESULT_SUCCESS &&
           got == n;
}

static bool unzstd(const char *in, size_t bytes, char *out, size_t n)
{
    return ZSTD_decompress(out, n, in, bytes) == n;
}

static bool lz4_block(const char *in, size_t bytes, char *out, size_t n)
{
    return LZ4_decompress_safe(in, out, (int)bytes, (int)n) == (int)n;
}

static uint32_t big_endian(const char *in)
{
    uint32_t value;
    memcpy(&value, in, sizeof value);
    return __builtin_bswap32(value);
}

/* The blocks that Hadoop writes; a single block without its numbers if they do not fit, as some programs write it. */
static bool lz4_hadoop(const char *in, size_t bytes, char *out, size_t n)
{
    size_t at = 0, done = 0;
    while (bytes - at >= HADOOP_HEADER) {
        const size_t plain = big_endian(in + at), packed = big_endian(in + at + 4);
        at += HADOOP_HEADER;
        if (packed > bytes - at || plain > n - done || !lz4_block(in + at, packed, out + done, plain))
            break;
        at += packed;
        done += plain;
    }
    return (at == bytes && done == n) || lz4_block(in, bytes, out, n);
}

/* By their numbers in the format; those without a function are not read. */
static const struct {
    const char *name;
    DecompressFn decompress;
} codecs[] = { { "no codec", uncompressed }, { "snappy", snappy },  { "gzip", gunzip }, { "LZO", NULL },
               { "brotli", unbrotli },       { "lz4", lz4_hadoop }, { "zstd", unzstd }, { "lz4 (raw)", lz4_block } };

bool codec_check(int codec, GError **error)
{
    const bool named = codec >= 0 && (size_t)codec < G_N_ELEMENTS(codecs);
    g_autofree char *number = g_strdup_printf("codec %d", codec);
    return (named && codecs[codec].decompress) ||
           fail_user(error, "compressed by %s, which loam does not read, but snappy, gzip, brotli, lz4 and zstd",
                     named ? codecs[codec].name : number);
}

bool codec_is_none(int codec)
{
    return codec == 0;
}

bool codec_decompress(int codec, const char *in, size_t bytes, char *out, size_t n, GError **error)
{
    return codecs[codec].decompress(in, bytes, out, n) ||
           fail_user(error, "a page is damaged: it does not decompress by %s to the %zu bytes that it should have",
                     codecs[codec].name, n);
}
