#include "data/records/byte_stream.h"

#include "base/git_lfs.h"
#include "base/whole.h"
#include "data/records/records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define STORED_BYTES ((size_t)1 << 17)
#define WINDOW_LOG   31        /* the largest window that zstd has: 2 GiB */
#define GZIP_WINDOW  (15 + 16) /* windowBits of zlib: the largest window, with gzip's header */

typedef bool (*ReadFn)(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error);

struct ByteStream {
    char *path;
    int fd;
    ReadFn read;
    uint64_t offset,
        bytes;    /* bytes of the file that were read; its size when it was opened, 0 if it has none (a pipe) */
    char *stored; /* compressed bytes, of which [begin, end) have not been decompressed yet */
    size_t begin, end;
    bool inside; /* within a member (gzip) or frame (zstd): the file must not end here */
    z_stream gzip;
    int64_t members; /* members (gzip) or frames (zstd) decompressed so far */
    bool damaged;    /* gzip: the data are corrupt from here on */
    ZSTD_DStream *zstd;
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
    stream->offset += *n;
    return *n > 0 || whole_check(stream->path, stream->offset, stream->bytes, error);
}

/* Reads compressed bytes if all have been decompressed; *any is false at the end of the file. */
static bool refill(ByteStream *stream, const char *format, bool *any, GError **error)
{
    if (stream->begin == stream->end) {
        stream->begin = stream->end = 0;
        if (!read_fd(stream, stream->stored, STORED_BYTES, &stream->end, error))
            return false;
    }
    *any = stream->begin < stream->end;
    return *any || !stream->inside ||
           fail_user(error, "%s: the file is cut short: its %s data stop before their end", stream->path, format);
}

static bool fail_gzip(const ByteStream *stream, GError **error)
{
    const char *reason = stream->gzip.msg ? stream->gzip.msg : "no memory";
    bool header = strcmp(reason, "incorrect header check") == 0;
    uint64_t at = stream->offset - (stream->end - stream->begin);
    if (header && stream->members == 0)
        return fail_user(error, "%s: not a gzip file; rename it if it is not compressed", stream->path);
    if (header)
        return fail_user(
            error, "%s: damaged gzip data: what follows member %" PRId64 " is no other one (near byte %" PRIu64 ": %s)",
            stream->path, stream->members, at, reason);
    return fail_user(error, "%s: damaged gzip data near byte %" PRIu64 ": %s", stream->path, at, reason);
}

/* Decompresses the members of a .gz one by one. zlib's gzread is not used, because it silently ends the file at corrupt
 * bytes after a member. */
static bool read_gzip(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    z_stream *gzip = &stream->gzip;
    bool any = true;
    gzip->next_out = (Bytef *)out;
    gzip->avail_out = (uInt)MIN(capacity, STORED_BYTES);
    const uInt room = gzip->avail_out;
    while (gzip->avail_out == room) {
        if (stream->damaged)
            return fail_gzip(stream, error);
        if (!refill(stream, "gzip", &any, error))
            return false;
        if (!any)
            break;
        if (!stream->inside)
            inflateReset(gzip);
        gzip->next_in = (Bytef *)stream->stored + stream->begin;
        gzip->avail_in = (uInt)(stream->end - stream->begin);
        int code = inflate(gzip, Z_NO_FLUSH);
        stream->begin = stream->end - gzip->avail_in;
        stream->inside = code != Z_STREAM_END;
        stream->members += code == Z_STREAM_END;
        stream->damaged = code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR;
    }
    *n = room - gzip->avail_out;
    return true;
}

static bool read_zstd(ByteStream *stream, char *out, size_t capacity, size_t *n, GError **error)
{
    ZSTD_outBuffer buffer = { out, capacity, 0 };
    bool any = true;
    while (buffer.pos == 0) {
        if (!refill(stream, "zstd", &any, error))
            return false;
        if (!any)
            break;
        ZSTD_inBuffer in = { stream->stored, stream->end, stream->begin };
        size_t left = ZSTD_decompressStream(stream->zstd, &buffer, &in);
        stream->begin = in.pos;
        if (ZSTD_getErrorCode(left) == ZSTD_error_prefix_unknown && stream->members == 0)
            return fail_user(error, "%s: not a zstd file; rename it if it is not compressed", stream->path);
        if (ZSTD_isError(left))
            return fail_user(error, "%s: damaged zstd data: %s", stream->path, ZSTD_getErrorName(left));
        stream->inside = left != 0;
        stream->members += left == 0;
    }
    *n = buffer.pos;
    return true;
}

/* Whether a file that is named as a compressed one is really a Git LFS pointer. */
static bool is_pointer(int fd, const char *path)
{
    char start[64];
    ssize_t n = pread(fd, start, sizeof start, 0);
    bool compressed = g_str_has_suffix(path, ".gz") || g_str_has_suffix(path, ".zst");
    return compressed && n > 0 && git_lfs_is_pointer(start, (size_t)n);
}

ByteStream *byte_stream_open(const char *path, GError **error)
{
    const bool is_stdin = strcmp(path, RECORD_STDIN) == 0;
    int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
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
    stream->bytes = is_stdin ? 0 : whole_size(fd); /* standard input may be past the start of a file */
    stream->read = read_fd;
    if (g_str_has_suffix(path, ".gz")) {
        stream->read = read_gzip;
        stream->damaged = inflateInit2(&stream->gzip, GZIP_WINDOW) != Z_OK;
    } else if (g_str_has_suffix(path, ".zst")) {
        stream->read = read_zstd;
        stream->zstd = ZSTD_createDStream();
        /* Files of zstd --long=31, whose window of 2 GiB is taken from memory as far as it is filled. */
        stream->damaged = ZSTD_isError(ZSTD_DCtx_setParameter(stream->zstd, ZSTD_d_windowLogMax, WINDOW_LOG));
    }
    stream->inside = stream->read != read_fd; /* an empty file that is named as a compressed one is truncated */
    stream->stored = stream->inside ? g_malloc(STORED_BYTES) : NULL;
    return stream;
}

void byte_stream_close(ByteStream *stream)
{
    if (!stream)
        return;
    if (stream->read == read_gzip)
        inflateEnd(&stream->gzip);
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
