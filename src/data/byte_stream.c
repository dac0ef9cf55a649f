#include "data/byte_stream.h"

#include "base/git_lfs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define STORED_BYTES ((size_t)1 << 17)

typedef bool (*ReadFn)(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error);

struct ByteStream {
    char *path;
    int fd;
    ReadFn read;
    uint64_t offset;
    gzFile gzip; /* owns fd when not NULL */
    ZSTD_DStream *zstd;
    char *stored; /* zstd: compressed bytes not yet eaten */
    ZSTD_inBuffer in;
    bool inside_frame;
};

static bool read_fd(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    ssize_t got;
    do
        got = read(stream->fd, out, capacity);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail_errno(error, "cannot read", stream->path);
    *n = (size_t)got;
    return true;
}

static bool read_plain(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    if (!read_fd(stream, out, capacity, n, error))
        return false;
    stream->offset += *n;
    return true;
}

static bool read_gzip(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    int got = gzread(stream->gzip, out, (unsigned)MIN(capacity, STORED_BYTES)), code = Z_OK;
    const char *message = gzerror(stream->gzip, &code);
    if (code == Z_ERRNO)
        return fail_errno(error, "cannot read", stream->path);
    if (code == Z_BUF_ERROR)
        return fail_user(error, "%s: the file is cut short: its gzip data stop before their end", stream->path);
    if (got < 0 || code != Z_OK)
        return fail_user(error, "%s: damaged gzip data: %s", stream->path, message);
    if (gzdirect(stream->gzip))
        return fail_user(error, "%s: not a gzip file; rename it if it is not compressed", stream->path);
    stream->offset = (uint64_t)gzoffset(stream->gzip);
    *n = (size_t)got;
    return true;
}

static bool read_zstd(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    ZSTD_outBuffer buffer = { out, capacity, 0 };
    while (buffer.pos == 0) {
        if (stream->in.pos == stream->in.size) {
            size_t got = 0;
            if (!read_fd(stream, stream->stored, STORED_BYTES, &got, error))
                return false;
            stream->in = (ZSTD_inBuffer){ stream->stored, got, 0 };
            stream->offset += got;
            if (got == 0 && stream->inside_frame)
                return fail_user(error, "%s: the file is cut short: its zstd data stop before their end", stream->path);
            if (got == 0)
                break;
        }
        size_t left = ZSTD_decompressStream(stream->zstd, &buffer, &stream->in);
        if (ZSTD_isError(left))
            return fail_user(error, "%s: damaged zstd data: %s", stream->path, ZSTD_getErrorName(left));
        stream->inside_frame = left != 0;
    }
    *n = buffer.pos;
    return true;
}

/* A file whose name says that it is compressed, and which is text. */
static bool is_pointer(int fd, const char *path)
{
    char start[64];
    ssize_t n = pread(fd, start, sizeof start, 0);
    bool compressed = g_str_has_suffix(path, ".gz") || g_str_has_suffix(path, ".zst");
    return compressed && n > 0 && git_lfs_is_pointer(start, (size_t)n);
}

ByteStream *byte_stream_open(const char *path, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fail_errno(error, "cannot open", path);
        return NULL;
    }
    if (is_pointer(fd, path)) {
        close(fd);
        git_lfs_fail(path, error);
        return NULL;
    }
    ByteStream *stream = g_new0(ByteStream, 1);
    stream->path = g_strdup(path);
    stream->fd = fd;
    stream->read = read_plain;
    if (g_str_has_suffix(path, ".gz")) {
        stream->read = read_gzip;
        stream->gzip = gzdopen(fd, "rb");
        gzbuffer(stream->gzip, STORED_BYTES);
    } else if (g_str_has_suffix(path, ".zst")) {
        stream->read = read_zstd;
        stream->zstd = ZSTD_createDStream();
        stream->stored = g_malloc(STORED_BYTES);
        stream->inside_frame = true; /* an empty file is no zstd file */
    }
    return stream;
}

void byte_stream_close(ByteStream *stream)
{
    if (!stream)
        return;
    if (stream->gzip)
        gzclose(stream->gzip);
    else
        close(stream->fd);
    ZSTD_freeDStream(stream->zstd);
    g_free(stream->stored);
    g_free(stream->path);
    g_free(stream);
}

bool byte_stream_read(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    return stream->read(stream, out, capacity, n, error);
}

uint64_t byte_stream_offset(const ByteStream *stream)
{
    return stream->offset;
}
