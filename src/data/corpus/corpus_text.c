/* corpus_text.c: documents of plain text files. */
#include "base/foreign.h"
#include "data/corpus/corpus_reading.h"

#include <string.h>

/* Whether the bytes from `end` on are the start of a character that continues beyond the text. */
static bool is_cut_character(const GString *text, const char *end)
{
    size_t left = (size_t)(text->str + text->len - end);
    return left > 0 && *end != 0 && g_utf8_get_char_validated(end, (gssize)left) == (gunichar)-2;
}

/* Appends corpus->line to the document. */
static bool append_line(Corpus *corpus, GError **error)
{
    GString *document = corpus->document, *line = corpus->line;
    const char *bad = corpus_find_bad_byte(line);
    if (bad || document->len == 0)
        corpus_set_where(corpus);
    if (bad)
        return foreign_fail_byte(corpus->where->str, *bad, error);
    if (document->len + 1 + line->len > corpus->max_bytes)
        return corpus_fail_too_long(corpus, "a document", "; end it with a blank line", error);
    if (document->len > 0)
        g_string_append_c(document, '\n');
    g_string_append_len(document, line->str, (gssize)line->len);
    return true;
}

Found corpus_next_block(Corpus *corpus, GError **error)
{
    g_string_truncate(corpus->document, 0);
    for (;;) {
        Found found = corpus_read_line(corpus, error);
        if (found == FOUND_ERROR) {
            corpus->skipping = true;
            return FOUND_ERROR;
        }
        bool ends = found == FOUND_END || corpus_is_blank(corpus->line);
        if (ends && corpus->document->len > 0)
            return corpus_take_document(corpus);
        if (found == FOUND_END)
            return FOUND_END;
        if (ends) {
            corpus->skipping = false;
        } else if (!corpus->skipping && !append_line(corpus, error)) {
            corpus->skipping = true;
            return FOUND_ERROR;
        }
    }
}

Found corpus_next_whole_file(Corpus *corpus, GError **error)
{
    GString *document = corpus->document;
    bool too_long, probe = corpus->file->probe;
    if (corpus->at_end)
        return FOUND_END;
    g_string_truncate(document, 0);
    if (!corpus_read_until(corpus, -1, document, &too_long, error))
        return FOUND_ERROR;
    const char *bad = corpus_find_bad_byte(document);
    if (too_long && bad && is_cut_character(document, bad))
        /* Only the last character is incomplete, cut at max_bytes: the file is valid text that is too long. */
        bad = NULL;
    if (bad && probe) {
        g_autofree char *why = g_strconcat(corpus->file->path, ": not UTF-8 text", NULL);
        corpus_ignore(corpus, why);
        return FOUND_END;
    }
    if (bad) {
        corpus->line_number = 1;
        for (const char *byte = document->str; byte < bad; byte++)
            corpus->line_number += *byte == '\n';
        corpus_set_where(corpus);
        foreign_fail_byte(corpus->where->str, *bad, error);
        return FOUND_ERROR;
    }
    if (too_long) {
        corpus->broken = true;
        corpus_fail_too_long(corpus, "a document", "; as .txt without --whole-file, blank lines end documents", error);
        return FOUND_ERROR;
    }
    return corpus_take_document(corpus);
}

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

static int64_t count_lines(const char *text, size_t bytes)
{
    int64_t n = 0;
    for (const char *end = text + bytes; (text = memchr(text, '\n', (size_t)(end - text))); text++)
        n++;
    return n;
}

Found corpus_next_whole_text(Corpus *corpus, GError **error)
{
    GString *document = corpus->document;
    corpus->line_number =
        corpus->line_number > 0 ? corpus->line_number + count_lines(document->str, corpus->text_bytes) : 1;
    g_string_erase(document, 0, (gssize)corpus->text_bytes);
    corpus->text_bytes = 0;
    while (!corpus->at_end && document->len <= corpus->max_bytes) {
        g_string_append_len(document, corpus->chunk + corpus->begin, (gssize)(corpus->end - corpus->begin));
        if (!corpus_refill(corpus, error))
            return FOUND_ERROR;
    }
    corpus_set_where(corpus);
    if (document->len == 0)
        return FOUND_END;
    size_t n = document->len > corpus->max_bytes ? find_cut(document, corpus->max_bytes) : document->len;
    const char *bad;
    if (!g_utf8_validate(document->str, (gssize)n, &bad)) {
        corpus->line_number += count_lines(document->str, (size_t)(bad - document->str));
        corpus_set_where(corpus);
        corpus->broken = true;
        foreign_fail_byte(corpus->where->str, *bad, error);
        return FOUND_ERROR;
    }
    if (corpus->options.without_last_end && n == document->len && document->str[n - 1] == '\n') {
        n--;
        g_string_truncate(document, n);
    }
    corpus->text = document->str;
    corpus->text_bytes = n;
    return FOUND_DOCUMENT;
}
