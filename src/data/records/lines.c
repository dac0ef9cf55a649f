#include "data/records/lines.h"

#include "base/file.h"
#include "base/foreign.h"
#include "base/text.h"
#include "data/records/records.h"

#include <inttypes.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)1 << 17) /* bytes that are read from a file at a time */

/* ---- bytes ---- */

size_t record_drop_returns(char *text, size_t bytes)
{
    char *out = text;
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *found = memchr(at, '\r', (size_t)(end - at));
        size_t n = (size_t)((found ? found : end) - at), kept = found && (found + 1 == end || found[1] != '\n');
        memmove(out, at, n + kept);
        out += n + kept;
        at += n + (found != NULL);
    }
    return (size_t)(out - text);
}

/* Makes the line ends in the first `bytes` bytes of the chunk LF; returns the number of bytes that are left. */
static size_t convert_returns(Lines *lines, size_t bytes)
{
    if (lines->returns == RETURNS_KEPT)
        return bytes;
    const size_t left = record_drop_returns(lines->chunk, bytes);
    lines->crlf |= left < bytes;
    char *at = lines->chunk, *end = at + left;
    while (lines->returns == RETURNS_END && at < end && (at = memchr(at, '\r', (size_t)(end - at))))
        *at++ = '\n';
    return left;
}

static bool is_interrupted(const Lines *lines)
{
    return lines->interrupted && *lines->interrupted;
}

/* Whether the bytes that were read last have been read a second time: the others of the file follow. */
static bool leave_again(Lines *lines)
{
    if (!lines->again)
        return false;
    g_string_free(lines->again, true);
    lines->again = NULL;
    lines->bytes = lines->chunk;
    lines->begin = lines->kept_begin;
    lines->end = lines->kept_end;
    return lines->begin < lines->end;
}

bool lines_refill(Lines *lines, GError **error)
{
    size_t held = lines->held_return, n = 0;
    if (leave_again(lines))
        return true;
    lines->begin = lines->end = 0;
    lines->at_end = is_interrupted(lines);
    if (lines->at_end)
        return true;
    lines->chunk[0] = '\r'; /* overwritten unless a CR at the end of the last chunk was kept back */
    lines->broken = lines->late || (!lines->whole && !byte_stream_read(lines->stream, lines->chunk + held,
                                                                       CHUNK_BYTES - held, &n, error));
    if (lines->late)
        g_propagate_error(error, g_steal_pointer(&lines->late));
    if (lines->broken)
        return false;
    lines->at_end = held + n == 0;
    lines->held_return = lines->returns != RETURNS_KEPT && n > 0 && lines->chunk[held + n - 1] == '\r';
    lines->end = convert_returns(lines, held + n - lines->held_return);
    return true;
}

/* Fills the first chunk, so that what is told from it does not depend on how the bytes come through a pipe. */
static bool read_start(Lines *lines, GError **error)
{
    for (size_t n; !lines->whole && lines->end < CHUNK_BYTES && !is_interrupted(lines); lines->end += n) {
        if (!byte_stream_read(lines->stream, lines->chunk + lines->end, CHUNK_BYTES - lines->end, &n, &lines->late))
            break;
        lines->whole = n == 0;
    }
    lines->at_end = lines->end == 0;
    const bool failed = lines->late && lines->at_end;
    if (failed)
        g_propagate_error(error, g_steal_pointer(&lines->late));
    return !failed;
}

/* Handles a file that is not text by its first bytes, or a Git LFS pointer to a large file that was not downloaded. */
static bool check_first_bytes(const Lines *lines, bool *foreign, GError **error)
{
    const bool pointer = io_is_lfs_pointer(lines->chunk, lines->end);
    const bool good = pointer ? io_fail_lfs_pointer(lines->path, error)
                              : foreign_check_start(lines->path, lines->chunk, lines->end, error);
    if (foreign)
        *foreign = !good;
    return good;
}

static void take_start(Lines *lines)
{
    const size_t mark = lines->returns == RETURNS_END ? 0 : text_mark_bytes(lines->chunk, lines->end);
    lines->end -= mark;
    memmove(lines->chunk, lines->chunk + mark, lines->end);
    const char *found = lines->end ? memchr(lines->chunk, '\r', lines->end) : NULL;
    lines->cr =
        found && (lines->whole || found + 1 < lines->chunk + lines->end) && !memchr(lines->chunk, '\n', lines->end);
    if (lines->cr)
        lines->returns = RETURNS_END;
    lines->held_return = lines->returns != RETURNS_KEPT && lines->end > 0 && lines->chunk[lines->end - 1] == '\r';
    lines->end = convert_returns(lines, lines->end - lines->held_return);
}

Lines *lines_open(const char *path, Returns returns, size_t most_bytes, const volatile sig_atomic_t *interrupted,
                  bool *foreign, GError **error)
{
    ByteStream *stream = byte_stream_open(path, error);
    if (!stream)
        return NULL;
    Lines *lines = g_new0(Lines, 1);
    *lines = (Lines){ .path = g_strdup(path),
                      .returns = returns,
                      .most_bytes = most_bytes ? most_bytes : LINES_MOST_BYTES,
                      .interrupted = interrupted,
                      .stream = stream,
                      .chunk = g_malloc(CHUNK_BYTES),
                      .line = g_string_new(NULL) };
    lines->bytes = lines->chunk;
    if (read_start(lines, error) && check_first_bytes(lines, foreign, error))
        take_start(lines);
    else
        g_clear_pointer(&lines, lines_close);
    return lines;
}

void lines_close(Lines *lines)
{
    if (!lines)
        return;
    leave_again(lines);
    g_clear_error(&lines->late);
    byte_stream_close(lines->stream);
    g_string_free(lines->line, true);
    g_free(lines->chunk);
    g_free(lines->path);
    g_free(lines);
}

/* ---- lines ---- */

bool lines_read_until(Lines *lines, int delimiter, GString *to, bool *too_long, GError **error)
{
    *too_long = false;
    for (bool done = false; !done && !lines->at_end;) {
        const char *bytes = lines->bytes + lines->begin;
        size_t n = lines->end - lines->begin;
        const char *found = delimiter < 0 || n == 0 ? NULL : memchr(bytes, delimiter, n);
        if (found) {
            n = (size_t)(found - bytes) + 1;
            done = true;
        }
        *too_long = to->len + n > lines->most_bytes + 1;
        if (*too_long)
            return true;
        g_string_append_len(to, bytes, (gssize)n);
        lines->begin += n;
        if (!done && !lines_refill(lines, error))
            return false;
    }
    return true;
}

/* Skips the rest of a line that was too long. */
static bool skip_rest(Lines *lines, GError **error)
{
    const char *newline = NULL;
    lines->too_long = false;
    for (size_t skipped = lines->most_bytes; !newline && !lines->at_end;) {
        const size_t n = lines->end - lines->begin;
        newline = n ? memchr(lines->bytes + lines->begin, '\n', n) : NULL;
        skipped += n;
        lines->begin = newline ? (size_t)(newline - lines->bytes) + 1 : lines->end;
        lines->endless = skipped > LINES_MOST_SKIPPED;
        if (lines->endless) {
            g_autofree char *where = g_strdup_printf("%s:%" PRId64, lines->path, lines->number);
            return lines_fail_too_long(lines, where, "a line", "", "", error);
        }
        if (!newline && !lines_refill(lines, error))
            return false;
    }
    return true;
}

Found lines_append(Lines *lines, GString *to, GError **error)
{
    const size_t before = to->len;
    if (lines->too_long && !skip_rest(lines, error))
        return FOUND_ERROR;
    if (lines->at_end)
        return FOUND_END;
    lines->number++;
    if (!lines_read_until(lines, '\n', to, &lines->too_long, error))
        return FOUND_ERROR;
    if (lines->too_long)
        return FOUND_TOO_LONG;
    return lines->at_end && to->len == before ? FOUND_END : FOUND_RECORD;
}

Found lines_next(Lines *lines, GError **error)
{
    GString *line = g_string_truncate(lines->line, 0);
    Found found = lines_append(lines, line, error);
    if (found == FOUND_RECORD && line->len > 0 && line->str[line->len - 1] == '\n')
        g_string_truncate(line, line->len - 1);
    return found;
}

void lines_unread(Lines *lines, const char *text, size_t n, int64_t number)
{
    lines->too_long = false;
    lines->number = number;
    if (n <= lines->begin) {
        lines->begin -= n;
    } else {
        lines->kept_begin = lines->begin;
        lines->kept_end = lines->end;
        lines->again = g_string_new_len(text, (gssize)n);
        lines->bytes = lines->again->str;
        lines->begin = 0;
        lines->end = n;
    }
    lines->at_end &= n == 0;
}

/* ---- what a line holds ---- */

bool lines_is_blank(const GString *line)
{
    return strspn(line->str, " \t\r\f\v") == line->len;
}

const char *lines_find_bad_byte(const GString *text)
{
    const char *end;
    return g_utf8_validate(text->str, (gssize)text->len, &end) ? NULL : end;
}

bool lines_fail_too_long(const Lines *lines, const char *where, const char *what, const char *longer,
                         const char *remedy, GError **error)
{
    g_autofree char *limit = text_bytes(lines->endless ? LINES_MOST_SKIPPED : lines->most_bytes);
    return fail_user(error, "%s: %s longer than %s%s%s", where, what, limit, longer,
                     lines->endless ? "; so long a line is not skipped" : remedy);
}

/* ---- every line of a file ---- */

static bool check_line(const Lines *lines, Found found, GError **error)
{
    if (found == FOUND_TOO_LONG)
        return fail_user(error, "%s:%" PRId64 ": a line longer than 64 MiB", lines->path, lines->number);
    const char *bad = lines_find_bad_byte(lines->line);
    if (!bad)
        return found != FOUND_ERROR;
    g_autofree char *where = g_strdup_printf("%s:%" PRId64, lines->path, lines->number);
    return foreign_fail_byte(where, *bad, error);
}

bool record_each_line(const char *path, const volatile sig_atomic_t *interrupted, RecordLineFn use, void *context,
                      GError **error)
{
    g_autoptr(Lines) lines = lines_open(path, RETURNS_END, 0, NULL, NULL, error);
    bool good = lines != NULL;
    for (Found found; good && (found = lines_next(lines, error)) != FOUND_END;)
        good = check_line(lines, found, error) && use(context, lines->line->str, lines->line->len, error) &&
               (!interrupted || !*interrupted || fail_user(error, "interrupted; nothing was written"));
    return good;
}
