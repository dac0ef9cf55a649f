/* corpus_lines.c: the lines of text files, one after another, as Python splits them: each ends with "\n", "\r\n" or
 * "\r", the last one perhaps without. */
#include "base/foreign.h"
#include "data/corpus/corpus_reading.h"

#include <inttypes.h>
#include <string.h>

#define MOST_BYTES ((size_t)64 << 20) /* longest line in bytes */

typedef struct Lines {
    const char *path;
    ByteStream *stream;
    char *chunk; /* bytes [begin, end) have not been read yet */
    size_t begin, end;
    bool after_return; /* the byte before was "\r": a "\n" that follows belongs to it */
    int64_t number;    /* number of the current line, counted from 1 */
    GString *line;
} Lines;

/* Fills an empty chunk; *any is false at the end of the file. */
static bool refill(Lines *lines, bool *any, GError **error)
{
    if (lines->begin == lines->end) {
        const bool first = byte_stream_offset(lines->stream) == 0;
        lines->begin = 0;
        if (!byte_stream_read(lines->stream, lines->chunk, CORPUS_CHUNK_BYTES, &lines->end, error) ||
            (first && !foreign_check_start(lines->path, lines->chunk, lines->end, error)))
            return false;
    }
    *any = lines->begin < lines->end;
    return true;
}

/* Moves bytes of the chunk to the line, up to the end of the line or all of them; true if the line has ended. */
static bool take(Lines *lines)
{
    const char *from = lines->chunk + lines->begin;
    size_t n = lines->end - lines->begin;
    const char *newline = memchr(from, '\n', n);
    if (newline)
        n = (size_t)(newline - from);
    const char *carriage_return = memchr(from, '\r', n);
    if (carriage_return)
        n = (size_t)(carriage_return - from);
    g_string_append_len(lines->line, from, (gssize)n);
    lines->after_return = carriage_return != NULL;
    bool ends = newline || carriage_return;
    lines->begin += n + ends;
    return ends;
}

static bool check(const Lines *lines, GError **error)
{
    if (lines->line->len > MOST_BYTES)
        return fail_user(error, "%s:%" PRId64 ": a line longer than 64 MiB", lines->path, lines->number);
    const char *bad = corpus_find_bad_byte(lines->line);
    if (!bad)
        return true;
    g_autofree char *where = g_strdup_printf("%s:%" PRId64, lines->path, lines->number);
    return foreign_fail_byte(where, *bad, error);
}

/* Reads the next line; *found is false at the end of the file. */
static bool next_line(Lines *lines, bool *found, GError **error)
{
    bool ends = false, any = true;
    g_string_truncate(lines->line, 0);
    lines->number++;
    while (!ends && lines->line->len <= MOST_BYTES) {
        if (!refill(lines, &any, error))
            return false;
        if (!any)
            break;
        if (lines->after_return && lines->chunk[lines->begin] == '\n') {
            lines->begin++;
            lines->after_return = false;
            continue;
        }
        ends = take(lines);
    }
    *found = ends || lines->line->len > 0;
    return check(lines, error);
}

static bool each_line_of(const char *path, const volatile sig_atomic_t *interrupted, CorpusLineFn use, void *context,
                         GError **error)
{
    Lines lines = { .path = path, .stream = byte_stream_open(path, error) };
    bool good = lines.stream != NULL, found = good;
    lines.chunk = g_malloc(CORPUS_CHUNK_BYTES);
    lines.line = g_string_new(NULL);
    while (good && found) {
        good = next_line(&lines, &found, error) && (!found || use(context, lines.line->str, lines.line->len, error)) &&
               (!found || !interrupted || !*interrupted || fail_user(error, "interrupted; nothing was written"));
    }
    byte_stream_close(lines.stream);
    g_string_free(lines.line, true);
    g_free(lines.chunk);
    return good;
}

bool corpus_each_line(char *const *paths, int n_paths, const volatile sig_atomic_t *interrupted, CorpusLineFn use,
                      void *context, GError **error)
{
    g_autoptr(GPtrArray) files = corpus_files_list(paths, n_paths, CORPUS_BY_NAME, error);
    for (guint i = 0; files && i < files->len; i++)
        if (!each_line_of(((CorpusFile *)files->pdata[i])->path, interrupted, use, context, error))
            return false;
    return files != NULL;
}
