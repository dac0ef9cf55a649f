#include "data/corpus/line_reader.h"

#include "data/corpus/byte_stream.h"

#include <inttypes.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)1 << 17)
#define MOST_BYTES  ((size_t)64 << 20)

struct LineReader {
    char *path;
    ByteStream *stream;
    char *chunk; /* bytes [begin, end) have not been read yet */
    size_t begin, end;
    bool after_return; /* the byte before was "\r": a "\n" that follows belongs to it */
    int64_t number;    /* of the current line, from 1 */
    GString *line;
};

LineReader *line_reader_open(const char *path, GError **error)
{
    ByteStream *stream = byte_stream_open(path, error);
    if (!stream)
        return NULL;
    LineReader *reader = g_new0(LineReader, 1);
    reader->path = g_strdup(path);
    reader->stream = stream;
    reader->chunk = g_malloc(CHUNK_BYTES);
    reader->line = g_string_new(NULL);
    return reader;
}

void line_reader_close(LineReader *reader)
{
    if (!reader)
        return;
    byte_stream_close(reader->stream);
    g_string_free(reader->line, true);
    g_free(reader->chunk);
    g_free(reader->path);
    g_free(reader);
}

/* Fills an empty chunk; *any is false at the end of the file. */
static bool refill(LineReader *reader, bool *any, GError **error)
{
    if (reader->begin == reader->end) {
        reader->begin = 0;
        if (!byte_stream_read(reader->stream, reader->chunk, CHUNK_BYTES, &reader->end, error))
            return false;
    }
    *any = reader->begin < reader->end;
    return true;
}

/* Moves bytes of the chunk to the line, up to its end or all of them; true where the line ends. */
static bool take(LineReader *reader)
{
    const char *from = reader->chunk + reader->begin;
    size_t n = reader->end - reader->begin;
    const char *newline = memchr(from, '\n', n);
    if (newline)
        n = (size_t)(newline - from);
    const char *carriage_return = memchr(from, '\r', n);
    if (carriage_return)
        n = (size_t)(carriage_return - from);
    g_string_append_len(reader->line, from, (gssize)n);
    reader->after_return = carriage_return != NULL;
    bool ends = newline || carriage_return;
    reader->begin += n + ends;
    return ends;
}

static bool check(const LineReader *reader, GError **error)
{
    const GString *line = reader->line;
    const char *bad;
    if (line->len > MOST_BYTES)
        return fail_user(error, "%s:%" PRId64 ": a line longer than 64 MiB", reader->path, reader->number);
    if (g_utf8_validate(line->str, (gssize)line->len, &bad))
        return true;
    if (*bad == '\0')
        return fail_user(error, "%s:%" PRId64 ": a NUL byte: not a text file", reader->path, reader->number);
    return fail_user(error, "%s:%" PRId64 ": not UTF-8 (byte 0x%02x)", reader->path, reader->number,
                     (unsigned char)*bad);
}

char *line_reader_next(LineReader *reader, size_t *bytes, GError **error)
{
    bool ends = false, any = true;
    g_string_truncate(reader->line, 0);
    reader->number++;
    while (!ends && reader->line->len <= MOST_BYTES) {
        if (!refill(reader, &any, error))
            return NULL;
        if (!any)
            break;
        if (reader->after_return && reader->chunk[reader->begin] == '\n') {
            reader->begin++;
            reader->after_return = false;
            continue;
        }
        ends = take(reader);
    }
    if ((!ends && reader->line->len == 0) || !check(reader, error))
        return NULL;
    *bytes = reader->line->len;
    return reader->line->str;
}
