#include "data/corpus/corpus_reading.h"

#include "base/log.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

bool corpus_interrupted(const Corpus *corpus)
{
    return corpus->options.interrupted && *corpus->options.interrupted;
}

size_t corpus_drop_returns(char *text, size_t bytes)
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

bool corpus_refill(Corpus *corpus, GError **error)
{
    size_t held = corpus->held_return, n = 0;
    corpus->begin = corpus->end = 0;
    corpus->at_end = corpus_interrupted(corpus);
    if (corpus->at_end)
        return true;
    corpus->chunk[0] = '\r'; /* overwritten unless a CR at the end of the last chunk was kept back */
    corpus->broken = !byte_stream_read(corpus->stream, corpus->chunk + held, CORPUS_CHUNK_BYTES - held, &n, error);
    if (corpus->broken)
        return false;
    corpus->at_end = held + n == 0;
    corpus->held_return = n > 0 && corpus->chunk[held + n - 1] == '\r';
    size_t bytes = held + n - corpus->held_return;
    corpus->end = corpus_drop_returns(corpus->chunk, bytes);
    corpus->crlf |= corpus->end < bytes;
    return true;
}

bool corpus_read_until(Corpus *corpus, int delimiter, GString *to, bool *too_long, GError **error)
{
    const bool skips = delimiter >= 0 && corpus->options.skip_errors;
    bool done = false;
    *too_long = false;
    for (size_t length = 0; !done && !corpus->at_end;) {
        const char *bytes = corpus->chunk + corpus->begin;
        size_t n = corpus->end - corpus->begin;
        const char *found = delimiter < 0 || n == 0 ? NULL : memchr(bytes, delimiter, n);
        if (found) {
            n = (size_t)(found - bytes) + 1;
            done = true;
        }
        if (*too_long || to->len + n > corpus->max_bytes + 1)
            *too_long = true;
        else
            g_string_append_len(to, bytes, (gssize)n);
        corpus->begin += n;
        length += n;
        corpus->endless = length > CORPUS_MOST_SKIPPED;
        if (*too_long && (!skips || corpus->endless))
            return true;
        if (!done && !corpus_refill(corpus, error))
            return false;
    }
    return true;
}

void corpus_set_where(Corpus *corpus)
{
    g_string_printf(corpus->where, "%s:%" PRId64, corpus->file->path, corpus->line_number);
}

bool corpus_fail_too_long(Corpus *corpus, const char *what, const char *remedy, GError **error)
{
    g_autofree char *limit = text_bytes(corpus->endless ? CORPUS_MOST_SKIPPED : corpus->max_bytes);
    if (corpus->endless)
        remedy = "; so long a line is not skipped";
    return fail_user(error, "%s: %s longer than %s%s%s", corpus->where->str, what, limit, corpus->options.longer,
                     remedy);
}

Found corpus_read_line(Corpus *corpus, GError **error)
{
    GString *line = corpus->line;
    bool too_long;
    if (corpus->at_end)
        return FOUND_END;
    g_string_truncate(line, 0);
    corpus->line_number++;
    if (!corpus_read_until(corpus, '\n', line, &too_long, error))
        return FOUND_ERROR;
    if (too_long) {
        corpus_set_where(corpus);
        corpus_fail_too_long(corpus, "a line", "", error);
        return FOUND_ERROR;
    }
    if (corpus->at_end && line->len == 0)
        return FOUND_END;
    if (line->len > 0 && line->str[line->len - 1] == '\n')
        g_string_truncate(line, line->len - 1);
    return FOUND_DOCUMENT;
}

bool corpus_is_blank(const GString *line)
{
    return strspn(line->str, " \t\r\f\v") == line->len;
}

const char *corpus_find_bad_byte(const GString *text)
{
    const char *end;
    return g_utf8_validate(text->str, (gssize)text->len, &end) ? NULL : end;
}

void corpus_ignore(Corpus *corpus, const char *why)
{
    if (corpus->counts.ignored++ < CORPUS_NAMED)
        log_warning("left out: %s", why);
}

Found corpus_take_document(Corpus *corpus)
{
    corpus->text = corpus->document->str;
    corpus->text_bytes = corpus->document->len;
    return FOUND_DOCUMENT;
}
