#include "base/byte_stream.h"

#include "base/file.h"
#include "base/text.h"

#include <bzlib.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lzma.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define STORED_BYTES ((size_t)1 << 17)
#define WINDOW_LOG   31        /* the largest window that zstd has: 2 GiB; xz's is limited to it, too */
#define GZIP_WINDOW  (15 + 16) /* windowBits of zlib: the largest window, with gzip's header */

/* State of a decoder; after the last two it decodes nothing more. */
typedef enum Step {
    STEP_INSIDE,  /* within a member: the file must not end here */
    STEP_END,     /* between two members */
    STEP_UNKNOWN, /* what begins is no member */
    STEP_DAMAGED
} Step;

typedef struct Decoder Decoder;

struct ByteStream {
    char *path;
    int fd;
    const Decoder *decoder; /* NULL means that the file is not compressed */
    uint64_t offset,
        bytes;    /* bytes of the file that were read; its size when it was opened, 0 if it has none (a pipe) */
    char *stored; /* compressed bytes, of which [begin, end) have not been decompressed yet */
    size_t begin, end;
    Step step;          /* result of the last step */
    const char *reason; /* of STEP_UNKNOWN and STEP_DAMAGED */
    int64_t members;    /* members decompressed so far */
    union {
        z_stream gzip;
        ZSTD_DStream *zstd;
        lzma_stream xz;
        bz_stream bzip2;
    };
};

/* A format. Its files are members, one after the other, that are called frames or streams in some formats. */
struct Decoder {
    const char *suffix, *name, *file, *member;
    bool (*open)(ByteStream *stream); /* returns false if there is no memory */
    void (*close)(ByteStream *stream);
    /* Decompresses stored bytes to `out`, which has room for *n bytes; *n becomes the number of bytes written. No
     * stored bytes mean that the file has ended. */
    Step (*step)(ByteStream *stream, char *out, size_t *n);
};

/* `call` of a decoder whose state *z names input and output as zlib does. */
#define DECODE(z, call)                                                                                                \
    do {                                                                                                               \
        (z)->next_in = (void *)(stream->stored + stream->begin);                                                       \
        (z)->avail_in = (unsigned)(stream->end - stream->begin);                                                       \
        (z)->next_out = (void *)out;                                                                                   \
        (z)->avail_out = (unsigned)*n;                                                                                 \
        call;                                                                                                          \
        stream->begin = stream->end - (z)->avail_in;                                                                   \
        *n -= (z)->avail_out;                                                                                          \
    } while (0)

/* ---- gzip: gzread of zlib is not used, because it silently ends the file at corrupt bytes after a member ---- */

static bool gzip_open(ByteStream *stream)
{
    return inflateInit2(&stream->gzip, GZIP_WINDOW) == Z_OK;
}

static void gzip_close(ByteStream *stream)
{
    inflateEnd(&stream->gzip);
}

static Step gzip_step(ByteStream *stream, char *out, size_t *n)
{
    z_stream *z = &stream->gzip;
    int code;
    DECODE(z, code = inflate(z, Z_NO_FLUSH));
    if (code == Z_STREAM_END)
        inflateReset(z);
    if (code == Z_STREAM_END || code == Z_OK || code == Z_BUF_ERROR)
        return code == Z_STREAM_END ? STEP_END : STEP_INSIDE;
    stream->reason = z->msg ? z->msg : "no memory";
    return strcmp(stream->reason, "incorrect header check") == 0 ? STEP_UNKNOWN : STEP_DAMAGED;
}

/* ---- zstd ---- */

static bool zstd_open(ByteStream *stream)
{
    stream->zstd = ZSTD_createDStream();
    /* Files of zstd --long=31, whose window of 2 GiB is taken from memory as far as it is filled. */
    return !ZSTD_isError(ZSTD_DCtx_setParameter(stream->zstd, ZSTD_d_windowLogMax, WINDOW_LOG));
}

static void zstd_close(ByteStream *stream)
{
    ZSTD_freeDStream(stream->zstd);
}

static Step zstd_step(ByteStream *stream, char *out, size_t *n)
{
    ZSTD_outBuffer buffer = { out, *n, 0 };
    ZSTD_inBuffer in = { stream->stored, stream->end, stream->begin };
    const size_t left = ZSTD_decompressStream(stream->zstd, &buffer, &in);
    stream->begin = in.pos;
    *n = buffer.pos;
    if (!ZSTD_isError(left))
        return left == 0 ? STEP_END : STEP_INSIDE;
    stream->reason = ZSTD_getErrorName(left);
    return ZSTD_getErrorCode(left) == ZSTD_error_prefix_unknown ? STEP_UNKNOWN : STEP_DAMAGED;
}

/* ---- xz: to liblzma all streams of a file, and zeros that fill it up to a multiple of four bytes, are one ---- */

static bool xz_open(ByteStream *stream)
{
    return lzma_stream_decoder(&stream->xz, (uint64_t)1 << WINDOW_LOG, LZMA_CONCATENATED) == LZMA_OK;
}

static void xz_close(ByteStream *stream)
{
    lzma_end(&stream->xz);
}

/* liblzma sees only the whole header of a stream, 12 bytes; of a file that is shorter, the first bytes are compared. */
static Step xz_step(ByteStream *stream, char *out, size_t *n)
{
    lzma_stream *z = &stream->xz;
    lzma_ret code;
    static const char magic[6] = "\xfd\x37zXZ";
    if (z->total_in == 0 && memcmp(stream->stored + stream->begin, magic, MIN(stream->end - stream->begin, 6)) != 0) {
        stream->reason = "no header";
        return STEP_UNKNOWN;
    }
    DECODE(z, code = lzma_code(z, z->avail_in > 0 ? LZMA_RUN : LZMA_FINISH));
    if (code == LZMA_STREAM_END || code == LZMA_OK || code == LZMA_BUF_ERROR)
        return code == LZMA_STREAM_END ? STEP_END : STEP_INSIDE;
    stream->reason = code == LZMA_FORMAT_ERROR     ? "no header"
                     : code == LZMA_OPTIONS_ERROR  ? "options that liblzma does not know"
                     : code == LZMA_MEMLIMIT_ERROR ? "a dictionary of more than 2 GiB"
                     : code == LZMA_MEM_ERROR      ? "no memory"
                                                   : "incorrect data";
    return code == LZMA_FORMAT_ERROR ? STEP_UNKNOWN : STEP_DAMAGED;
}

/* ---- bzip2 ---- */

static bool bzip2_open(ByteStream *stream)
{
    return BZ2_bzDecompressInit(&stream->bzip2, 0, 0) == BZ_OK;
}

static void bzip2_close(ByteStream *stream)
{
    BZ2_bzDecompressEnd(&stream->bzip2);
}

static Step bzip2_step(ByteStream *stream, char *out, size_t *n)
{
    bz_stream *z = &stream->bzip2;
    int code;
    DECODE(z, code = BZ2_bzDecompress(z));
    if (code == BZ_OK)
        return STEP_INSIDE;
    stream->reason = code == BZ_DATA_ERROR_MAGIC ? "no header" : code == BZ_DATA_ERROR ? "incorrect data" : "no memory";
    if (code == BZ_STREAM_END)
        bzip2_close(stream);
    if (code == BZ_STREAM_END && bzip2_open(stream))
        return STEP_END;
    return code == BZ_DATA_ERROR_MAGIC ? STEP_UNKNOWN : STEP_DAMAGED;
}

static const Decoder decoders[] = {
    { ".gz", "gzip", "a gzip file", "member", gzip_open, gzip_close, gzip_step },
    { ".zst", "zstd", "a zstd file", "frame", zstd_open, zstd_close, zstd_step },
    { ".xz", "xz", "an xz file", "stream", xz_open, xz_close, xz_step },
    { ".bz2", "bzip2", "a bzip2 file", "stream", bzip2_open, bzip2_close, bzip2_step },
};

static const Decoder *find_decoder(const char *path)
{
    for (size_t i = 0; i < G_N_ELEMENTS(decoders); i++)
        if (text_has_suffix(path, decoders[i].suffix))
            return &decoders[i];
    return NULL;
}

char *byte_stream_stem(const char *path)
{
    const Decoder *decoder = find_decoder(path);
    return g_strndup(path, strlen(path) - (decoder ? strlen(decoder->suffix) : 0));
}

/* ---- reading ---- */

static bool read_fd(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    ssize_t got;
    do
        got = read(stream->fd, out, capacity);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail_errno(error, "cannot read", stream->path);
    *n = (size_t)got;
    stream->offset += *n;
    return *n > 0 || io_check_whole(stream->path, stream->offset, stream->bytes, error);
}

static bool fail_step(const ByteStream *stream, GError **error)
{
    const Decoder *decoder = stream->decoder;
    const uint64_t at = stream->offset - (stream->end - stream->begin);
    if (stream->step == STEP_DAMAGED)
        return fail_user(error, "%s: damaged %s data near byte %" PRIu64 ": %s", stream->path, decoder->name, at,
                         stream->reason);
    if (stream->members == 0)
        return fail_user(error, "%s: not %s; rename it if it is not compressed", stream->path, decoder->file);
    return fail_user(error,
                     "%s: damaged %s data: what follows %s %" PRId64 " is no other one (near byte %" PRIu64 ": %s)",
                     stream->path, decoder->name, decoder->member, stream->members, at, stream->reason);
}

static bool read_decoded(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    for (*n = 0; *n == 0;) {
        if (stream->step >= STEP_UNKNOWN)
            return fail_step(stream, error);
        if (stream->begin == stream->end) {
            stream->begin = stream->end = 0;
            if (!read_fd(stream, stream->stored, STORED_BYTES, &stream->end, error))
                return false;
        }
        const bool at_end = stream->begin == stream->end;
        if (at_end && stream->step == STEP_END)
            return true;
        *n = MIN(capacity, STORED_BYTES);
        stream->step = stream->decoder->step(stream, out, n);
        stream->members += stream->step == STEP_END;
        if (at_end && *n == 0 && stream->step == STEP_INSIDE)
            return fail_user(error, "%s: the file is cut short: its %s data stop before their end", stream->path,
                             stream->decoder->name);
    }
    return true;
}

bool byte_stream_read(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    return (stream->decoder ? read_decoded : read_fd)(stream, out, capacity, n, error);
}

ByteStream *byte_stream_open(const char *path, GError **error)
{
    const bool is_stdin = strcmp(path, BYTE_STREAM_STDIN) == 0;
    const Decoder *decoder = find_decoder(path);
    int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(error, "cannot open", path);
    if (decoder && io_holds_lfs_pointer(fd)) {
        close(fd);
        io_fail_lfs_pointer(path, error);
        return NULL;
    }
    ByteStream *stream = g_new0(ByteStream, 1);
    stream->path = g_strdup(path);
    stream->fd = fd;
    stream->bytes = is_stdin ? 0 : io_size(fd); /* standard input may be past the start of a file */
    stream->decoder = decoder;
    if (decoder) {
        stream->stored = g_malloc(STORED_BYTES);
        stream->step = decoder->open(stream) ? STEP_INSIDE : STEP_DAMAGED;
        stream->reason = "no memory";
    }
    return stream;
}

void byte_stream_close(ByteStream *stream)
{
    if (!stream)
        return;
    if (stream->decoder)
        stream->decoder->close(stream);
    close(stream->fd);
    g_free(stream->stored);
    g_free(stream->path);
    g_free(stream);
}

uint64_t byte_stream_offset(const ByteStream *stream)
{
    return stream->offset;
}
