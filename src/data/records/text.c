/* text.c: texts, whose records are documents. */
#include "base/foreign.h"
#include "data/records/reader.h"

#include <string.h>

/* Whether the bytes from `end` on are the start of a character that continues beyond the text. */
static bool is_cut_character(const GString *text, const char *end)
{
    size_t left = (size_t)(text->str + text->len - end);
    return left > 0 && *end != 0 && g_utf8_get_char_validated(end, (gssize)left) == (gunichar)-2;
}

static bool fail_too_long(RecordReader *reader, const char *what, const char *remedy, GError **error)
{
    return lines_fail_too_long(reader->lines[0], reader->where->str, what, reader->source.longer, remedy, error);
}

/* ---- an empty line ends a document ---- */

/* Appends the current line to the document. */
static bool append_text_line(RecordReader *reader, GError **error)
{
    GString *document = reader->document, *line = reader->lines[0]->line;
    const char *bad = lines_find_bad_byte(line);
    if (bad || document->len == 0)
        reader_set_where(reader);
    if (bad)
        return foreign_fail_byte(reader->where->str, *bad, error);
    if (document->len + 1 + line->len > reader->lines[0]->most_bytes)
        return fail_too_long(reader, "a document", "; end it with a blank line", error);
    if (document->len > 0)
        g_string_append_c(document, '\n');
    g_string_append_len(document, line->str, (gssize)line->len);
    return true;
}

static Found next_block(RecordReader *reader, GError **error)
{
    g_string_truncate(reader->document, 0);
    for (;;) {
        Found found = lines_next(reader->lines[0], error);
        if (found == FOUND_TOO_LONG) {
            reader_set_where(reader);
            fail_too_long(reader, "a line", "", error);
        }
        bool ends = found == FOUND_END || (found == FOUND_RECORD && lines_is_blank(reader->lines[0]->line));
        reader->text_bytes = reader->document->len;
        if (ends && reader->text_bytes > 0)
            return FOUND_RECORD;
        if (found == FOUND_END)
            return FOUND_END;
        if (ends)
            reader->skipping = false;
        else if (found != FOUND_RECORD || (!reader->skipping && !append_text_line(reader, error))) {
            reader->skipping = true;
            return FOUND_ERROR;
        }
    }
}

/* ---- the file is a document ---- */

static int64_t count_lines(const char *text, size_t bytes)
{
    int64_t n = 0;
    for (const char *end = text + bytes; (text = memchr(text, '\n', (size_t)(end - text))); text++)
        n++;
    return n;
}

/* Sets the error for a byte of the document that is not text. */
static void fail_byte(RecordReader *reader, const char *bad, GError **error)
{
    reader->lines[0]->number += count_lines(reader->document->str, (size_t)(bad - reader->document->str));
    reader_set_where(reader);
    foreign_fail_byte(reader->where->str, *bad, error);
}

static Found next_file(RecordReader *reader, GError **error)
{
    GString *document = reader->document;
    bool too_long;
    if (reader->lines[0]->at_end)
        return FOUND_END;
    if (!lines_read_until(reader->lines[0], -1, document, &too_long, error))
        return FOUND_ERROR;
    const char *bad = lines_find_bad_byte(document);
    if (too_long && bad && is_cut_character(document, bad))
        /* Only the last character is incomplete, cut at most_bytes: the file is valid text that is too long. */
        bad = NULL;
    reader->lines[0]->number = 1;
    reader->broken |= too_long;
    reader->text_bytes = document->len;
    if (bad && reader->source.probe) {
        *reader->source.foreign = true;
        fail_user(error, "%s: not UTF-8 text", reader->path);
    } else if (bad) {
        fail_byte(reader, bad, error);
    } else if (too_long) {
        fail_too_long(reader, "a document", "; as .txt without --whole-file, blank lines end documents", error);
    }
    return bad || too_long ? FOUND_ERROR : FOUND_RECORD;
}

/* ---- the file is one document, or several if it is long ---- */

/* Where to cut a text longer than `most` bytes: after the last empty line in the second half of `most`, otherwise after
 * the last line there, otherwise after a character. */
static size_t find_cut(const GString *text, size_t most)
{
    static const char *const ends[] = { "\n\n", "\n" };
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        const char *half = text->str + most / 2;
        const char *end = g_strrstr_len(half, (gssize)(most - most / 2), ends[i]);
        if (end)
            return (size_t)(end - text->str) + strlen(ends[i]);
    }
    while (most > 1 && ((unsigned char)text->str[most] & 0xC0) == 0x80)
        most--;
    return most;
}

static Found next_part(RecordReader *reader, GError **error)
{
    GString *document = reader->document;
    Lines *lines = reader->lines[0];
    lines->number = lines->number > 0 ? lines->number + count_lines(document->str, reader->text_bytes) : 1;
    g_string_erase(document, 0, (gssize)reader->text_bytes);
    reader->text_bytes = 0;
    while (!lines->at_end && document->len <= lines->most_bytes) {
        g_string_append_len(document, lines->bytes + lines->begin, (gssize)(lines->end - lines->begin));
        if (!lines_refill(lines, error))
            return FOUND_ERROR;
    }
    reader_set_where(reader);
    if (document->len == 0)
        return FOUND_END;
    size_t n = document->len > lines->most_bytes ? find_cut(document, lines->most_bytes) : document->len;
    const char *bad;
    if (!g_utf8_validate(document->str, (gssize)n, &bad)) {
        reader->broken = true;
        fail_byte(reader, bad, error);
        return FOUND_ERROR;
    }
    if (reader->source.without_last_end && n == document->len && document->str[n - 1] == '\n')
        g_string_truncate(document, --n);
    reader->text_bytes = n;
    return FOUND_RECORD;
}

const RecordKind text_records = { .corpus_suffixes = { ".txt" },
                                  RECORD_READ(RETURNS_DROPPED, reader_open_lines, next_block) };
const RecordKind parts_records = { RECORD_READ(RETURNS_DROPPED, reader_open_lines, next_part) };
const RecordKind file_records = { RECORD_READ(RETURNS_DROPPED, reader_open_lines, next_file) };
