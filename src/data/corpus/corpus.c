#include "data/corpus/corpus.h"

#include "base/git_lfs.h"
#include "base/log.h"
#include "base/text.h"
#include "data/corpus/byte_stream.h"
#include "data/corpus/corpus_files.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define CHUNK_BYTES        ((size_t)1 << 17)
#define STANDARD_MAX_BYTES ((int64_t)64 << 20)

struct Corpus {
    char **fields; /* at least one */
    bool whole_file, without_last_end, skip_errors, fields_apart;
    GArray *field_ends; /* of size_t, of the current document */
    const volatile sig_atomic_t *interrupted;
    size_t max_bytes;
    GPtrArray *files; /* of CorpusFile * */
    guint next_file;
    uint64_t total_bytes, finished_bytes;
    const char *longer;
    int64_t skipped, passed_over, nuls;
    int64_t text_files, text_documents;

    const CorpusFile *file; /* the open one, or NULL */
    CorpusKind kind;        /* of the open one, after a look at it */
    ByteStream *stream;
    char *chunk; /* bytes [begin, end) are not yet used */
    size_t begin, end;
    bool at_end, broken; /* broken: nothing more can be read from this file */
    bool passing;        /* the rest of a bad document is being passed over */
    int64_t line_number;
    GString *line, *document, *where;
    json_t *object; /* owns the text of the current document */
    const char *text;
    size_t text_bytes; /* of a .txt read whole, what follows them in `document` begins the next one */
};

typedef enum Found { FOUND_DOCUMENT, FOUND_END, FOUND_ERROR } Found;

/* A table that was named is refused; those of folders are left out, aloud. */
static bool leave_tables_out(GPtrArray *files, GError **error)
{
    g_autofree char *first = NULL;
    int64_t n = 0;
    for (guint i = 0; i < files->len;) {
        const CorpusFile *file = files->pdata[i];
        if (file->kind != CORPUS_TABLE) {
            i++;
            continue;
        }
        if (!file->probe)
            return fail_user(error,
                             "%s: a table, not a text: write JSON lines, an object a row, and choose the column of the "
                             "text with --field; to read it as it is, rename it to .txt",
                             file->path);
        first = n++ == 0 ? g_strdup(file->path) : first;
        g_ptr_array_remove_index(files, i);
    }
    if (n > 0)
        log_warning("%" PRId64 " tables are left out, for they are no text, such as %s", n, first);
    return true;
}

Corpus *corpus_open(char *const *paths, int n_paths, const CorpusOptions *options, GError **error)
{
    g_autoptr(GPtrArray) files = corpus_files_list(paths, n_paths, error);
    if (!files || !leave_tables_out(files, error))
        return NULL;
    Corpus *corpus = g_new0(Corpus, 1);
    corpus->files = g_steal_pointer(&files);
    corpus->fields = options->fields && options->fields[0]
                         ? g_strdupv(options->fields)
                         : g_strdupv((char *[]){ (char *)(options->field ? options->field : "text"), NULL });
    corpus->whole_file = options->whole_file;
    corpus->without_last_end = options->without_last_end;
    corpus->skip_errors = options->skip_errors;
    corpus->fields_apart = options->fields_apart;
    corpus->field_ends = g_array_new(false, false, sizeof(size_t));
    corpus->interrupted = options->interrupted;
    corpus->longer = options->longer ? options->longer : "";
    corpus->max_bytes = (size_t)(options->max_bytes > 0 ? options->max_bytes : STANDARD_MAX_BYTES);
    corpus->chunk = g_malloc(CHUNK_BYTES);
    corpus->line = g_string_new(NULL);
    corpus->document = g_string_new(NULL);
    corpus->where = g_string_new(NULL);
    for (guint i = 0; i < corpus->files->len; i++)
        corpus->total_bytes += ((CorpusFile *)corpus->files->pdata[i])->bytes;
    return corpus;
}

static void close_file(Corpus *corpus)
{
    if (corpus->file)
        corpus->finished_bytes += corpus->file->bytes;
    byte_stream_close(corpus->stream);
    corpus->stream = NULL;
    corpus->file = NULL;
}

void corpus_close(Corpus *corpus)
{
    if (!corpus)
        return;
    close_file(corpus);
    json_decref(corpus->object);
    g_ptr_array_unref(corpus->files);
    g_string_free(corpus->line, true);
    g_string_free(corpus->document, true);
    g_string_free(corpus->where, true);
    g_free(corpus->chunk);
    g_strfreev(corpus->fields);
    g_array_unref(corpus->field_ends);
    g_free(corpus);
}

static bool is_interrupted(const Corpus *corpus)
{
    return corpus->interrupted && *corpus->interrupted;
}

static bool refill(Corpus *corpus, GError **error)
{
    corpus->begin = corpus->end = 0;
    corpus->at_end = is_interrupted(corpus);
    if (corpus->at_end)
        return true;
    corpus->broken = !byte_stream_read(corpus->stream, corpus->chunk, CHUNK_BYTES, &corpus->end, error);
    corpus->at_end = !corpus->broken && corpus->end == 0;
    return !corpus->broken;
}

/* The first line is an object of JSON, or begins like one and does not end within the chunk. */
static bool begins_with_object(const Corpus *corpus)
{
    const char *line = corpus->chunk + corpus->begin;
    size_t bytes = corpus->end - corpus->begin;
    const char *line_end = bytes ? memchr(line, '\n', bytes) : NULL;
    if (!line_end)
        return bytes > 0 && *line == '{';
    json_t *object = json_loadb(line, (size_t)(line_end - line), JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    bool found = json_is_object(object);
    json_decref(object);
    return found;
}

/* What Git LFS leaves in a repository in place of pictures is no text of its folder; a text in its place is missed. */
static bool check_pointer(Corpus *corpus, GError **error)
{
    if (!git_lfs_is_pointer(corpus->chunk, corpus->end))
        return true;
    corpus->broken = !corpus->file->probe;
    if (corpus->broken)
        return git_lfs_fail(corpus->file->path, error);
    corpus->at_end = true;
    corpus->passed_over++;
    return true;
}

static bool open_next_file(Corpus *corpus, GError **error)
{
    static const char byte_order_mark[] = { '\xEF', '\xBB', '\xBF' };
    corpus->file = corpus->files->pdata[corpus->next_file++];
    corpus->begin = corpus->end = 0;
    corpus->line_number = 0;
    corpus->at_end = corpus->passing = false;
    corpus->text_bytes = 0;
    g_string_truncate(corpus->document, 0);
    g_string_assign(corpus->where, corpus->file->path);
    corpus->stream = byte_stream_open(corpus->file->path, error);
    corpus->broken = !corpus->stream;
    if (corpus->broken || !refill(corpus, error) || !check_pointer(corpus, error))
        return false;
    if (corpus->end >= 3 && memcmp(corpus->chunk, byte_order_mark, 3) == 0)
        corpus->begin = 3;
    corpus->kind = corpus->file->kind;
    corpus->text_files += corpus->kind == CORPUS_TEXT;
    if (corpus->kind == CORPUS_JSON && corpus->file->probe && !begins_with_object(corpus))
        corpus->kind = CORPUS_WHOLE_FILE;
    corpus->broken = corpus->fields_apart && corpus->kind != CORPUS_JSON;
    return !corpus->broken ||
           fail_user(error, "%s: no JSON lines, whose fields could be kept apart", corpus->file->path);
}

/* Appends to `to` the bytes up to and including `delimiter`, or to the end of the file for a delimiter of -1. Of what
 * is longer than max_bytes the rest is passed over. */
static bool read_until(Corpus *corpus, int delimiter, GString *to, bool *too_long, GError **error)
{
    bool done = false;
    *too_long = false;
    while (!done && !corpus->at_end) {
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
        if (*too_long && delimiter < 0)
            return true;
        if (!done && !refill(corpus, error))
            return false;
    }
    return true;
}

static void set_where(Corpus *corpus)
{
    g_string_printf(corpus->where, "%s:%" PRId64, corpus->file->path, corpus->line_number);
}

static bool fail_too_long(Corpus *corpus, const char *what, const char *remedy, GError **error)
{
    g_autofree char *limit = text_bytes(corpus->max_bytes);
    return fail_user(error, "%s: %s longer than %s%s%s", corpus->where->str, what, limit, corpus->longer, remedy);
}

/* The next line without its end into corpus->line. */
static Found read_line(Corpus *corpus, GError **error)
{
    GString *line = corpus->line;
    bool too_long;
    if (corpus->at_end)
        return FOUND_END;
    g_string_truncate(line, 0);
    corpus->line_number++;
    if (!read_until(corpus, '\n', line, &too_long, error))
        return FOUND_ERROR;
    if (too_long) {
        set_where(corpus);
        fail_too_long(corpus, "a line", "", error);
        return FOUND_ERROR;
    }
    if (corpus->at_end && line->len == 0)
        return FOUND_END;
    if (line->len > 0 && line->str[line->len - 1] == '\n')
        g_string_truncate(line, line->len - 1);
    if (line->len > 0 && line->str[line->len - 1] == '\r')
        g_string_truncate(line, line->len - 1);
    return FOUND_DOCUMENT;
}

static bool is_blank(const GString *line)
{
    return strspn(line->str, " \t\r\f\v") == line->len;
}

/* The first byte that is no UTF-8, or is NUL, which no text holds; NULL if all is well. */
static const char *find_bad_byte(const GString *text)
{
    const char *end;
    return g_utf8_validate(text->str, (gssize)text->len, &end) ? NULL : end;
}

/* The text was cut within the character at `end`. */
static bool is_cut_character(const GString *text, const char *end)
{
    size_t left = (size_t)(text->str + text->len - end);
    return left > 0 && *end != 0 && g_utf8_get_char_validated(end, (gssize)left) == (gunichar)-2;
}

static bool fail_bad_byte(const char *where, const char *bad, GError **error)
{
    if (*bad == 0)
        return fail_user(error, "%s: a NUL byte: not a text file", where);
    return fail_user(error, "%s: not UTF-8 (byte 0x%02x)", where, (unsigned char)*bad);
}

/* Appends the line just read to the document. */
static bool append_line(Corpus *corpus, GError **error)
{
    GString *document = corpus->document, *line = corpus->line;
    const char *bad = find_bad_byte(line);
    if (bad || document->len == 0)
        set_where(corpus);
    if (bad)
        return fail_bad_byte(corpus->where->str, bad, error);
    if (document->len + 1 + line->len > corpus->max_bytes)
        return fail_too_long(corpus, "a document", "; end it with a blank line", error);
    if (document->len > 0)
        g_string_append_c(document, '\n');
    g_string_append_len(document, line->str, (gssize)line->len);
    return true;
}

static Found take_document(Corpus *corpus)
{
    corpus->text = corpus->document->str;
    corpus->text_bytes = corpus->document->len;
    return FOUND_DOCUMENT;
}

/* Lines up to a blank one. */
static Found next_block(Corpus *corpus, GError **error)
{
    g_string_truncate(corpus->document, 0);
    for (;;) {
        Found found = read_line(corpus, error);
        if (found == FOUND_ERROR) {
            corpus->passing = true;
            return FOUND_ERROR;
        }
        bool ends = found == FOUND_END || is_blank(corpus->line);
        if (ends && corpus->document->len > 0)
            return take_document(corpus);
        if (found == FOUND_END)
            return FOUND_END;
        if (ends) {
            corpus->passing = false;
        } else if (!corpus->passing && !append_line(corpus, error)) {
            corpus->passing = true;
            return FOUND_ERROR;
        }
    }
}

static Found next_whole_file(Corpus *corpus, GError **error)
{
    GString *document = corpus->document;
    bool too_long, probe = corpus->file->probe;
    if (corpus->at_end)
        return FOUND_END;
    g_string_truncate(document, 0);
    if (!read_until(corpus, -1, document, &too_long, error))
        return FOUND_ERROR;
    const char *bad = find_bad_byte(document);
    if (too_long && bad && is_cut_character(document, bad))
        bad = NULL; /* read in chunks, of which the first ones are text */
    if (probe && bad) {
        corpus->passed_over++;
        return FOUND_END;
    }
    if (bad) {
        corpus->line_number = 1;
        for (const char *byte = document->str; byte < bad; byte++)
            corpus->line_number += *byte == '\n';
        set_where(corpus);
        fail_bad_byte(corpus->where->str, bad, error);
        return FOUND_ERROR;
    }
    if (too_long) {
        corpus->broken = true;
        fail_too_long(corpus, "a document", "; as .txt without --whole-file, blank lines end documents", error);
        return FOUND_ERROR;
    }
    return take_document(corpus);
}

/* How much of a text that does not fit is a document: up to an empty line, else a line's end, else a character's, in
 * the second half of what fits. */
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

/* A .txt, or what is left of it. */
static Found next_whole_text(Corpus *corpus, GError **error)
{
    GString *document = corpus->document;
    corpus->line_number =
        corpus->line_number > 0 ? corpus->line_number + count_lines(document->str, corpus->text_bytes) : 1;
    g_string_erase(document, 0, (gssize)corpus->text_bytes);
    corpus->text_bytes = 0;
    while (!corpus->at_end && document->len <= corpus->max_bytes) {
        g_string_append_len(document, corpus->chunk + corpus->begin, (gssize)(corpus->end - corpus->begin));
        if (!refill(corpus, error))
            return FOUND_ERROR;
    }
    set_where(corpus);
    if (document->len == 0)
        return FOUND_END;
    size_t n = document->len > corpus->max_bytes ? find_cut(document, corpus->max_bytes) : document->len;
    const char *bad;
    if (!g_utf8_validate(document->str, (gssize)n, &bad)) {
        corpus->line_number += count_lines(document->str, (size_t)(bad - document->str));
        set_where(corpus);
        corpus->broken = true;
        fail_bad_byte(corpus->where->str, bad, error);
        return FOUND_ERROR;
    }
    if (corpus->without_last_end && n == document->len && document->str[n - 1] == '\n') {
        n -= n > 1 && document->str[n - 2] == '\r' ? 2 : 1;
        g_string_truncate(document, n);
    }
    corpus->text = document->str;
    corpus->text_bytes = n;
    return FOUND_DOCUMENT;
}

static bool fail_no_field(Corpus *corpus, const char *field, GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);
    const char *name;
    json_t *value;
    json_object_foreach(corpus->object, name, value) if (json_is_string(value) && names->len < 200)
        g_string_append_printf(names, "%s\"%s\"", names->len ? ", " : "", name);
    if (names->len == 0)
        return fail_user(error, "%s: no field \"%s\" in the object, nor any other text", corpus->where->str, field);
    return fail_user(error, "%s: no field \"%s\" in the object; choose one with --field: %s", corpus->where->str, field,
                     names->str);
}

static const char *json_type_name(const json_t *value)
{
    static const char *const names[] = { "an object", "an array", "a string", "a number",
                                         "a number",  "true",     "false",    "null" };
    return names[json_typeof(value)];
}

/* Appends a text with U+FFFD in place of NUL, which JSON may hold and tokenizers do not take. */
static void append_without_nuls(Corpus *corpus, const char *text, size_t bytes)
{
    for (const char *end = text + bytes, *nul; text < end; text = nul + 1) {
        nul = memchr(text, 0, (size_t)(end - text));
        g_string_append_len(corpus->document, text, (nul ? nul : end) - text);
        if (!nul)
            return;
        g_string_append(corpus->document, "\xEF\xBF\xBD");
        corpus->nuls++;
    }
}

/* One field's text is used where it lies; several are joined in the document. */
static bool take_fields(Corpus *corpus, GError **error)
{
    g_string_truncate(corpus->document, 0);
    g_array_set_size(corpus->field_ends, 0);
    for (char **field = corpus->fields; *field; field++) {
        const json_t *text = json_object_get(corpus->object, *field);
        if (!text)
            return fail_no_field(corpus, *field, error);
        if (!json_is_string(text))
            return fail_user(error, "%s: field \"%s\" is %s, not a string", corpus->where->str, *field,
                             json_type_name(text));
        corpus->text = json_string_value(text);
        corpus->text_bytes = json_string_length(text);
        if (corpus->fields[1] == NULL && !memchr(corpus->text, 0, corpus->text_bytes))
            return true;
        if (field != corpus->fields)
            g_string_append_c(corpus->document, '\n');
        append_without_nuls(corpus, corpus->text, corpus->text_bytes);
        g_array_append_val(corpus->field_ends, corpus->document->len);
    }
    take_document(corpus);
    return true;
}

static bool parse_object(Corpus *corpus, GError **error)
{
    /* Reals, since other fields may hold integers beyond 64 bits. */
    const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL | JSON_DECODE_ANY;
    json_error_t reason;
    json_decref(corpus->object);
    corpus->object = json_loadb(corpus->line->str, corpus->line->len, flags, &reason);
    if (!corpus->object)
        return fail_user(error, "%s: not JSON, one object a line: %s (column %d)", corpus->where->str, reason.text,
                         reason.column);
    if (!json_is_object(corpus->object))
        return fail_user(error, "%s: %s where a line should hold one object", corpus->where->str,
                         json_type_name(corpus->object));
    return take_fields(corpus, error);
}

static Found next_object(Corpus *corpus, GError **error)
{
    Found found;
    do
        found = read_line(corpus, error);
    while (found == FOUND_DOCUMENT && is_blank(corpus->line));
    if (found != FOUND_DOCUMENT)
        return found;
    set_where(corpus);
    return parse_object(corpus, error) ? FOUND_DOCUMENT : FOUND_ERROR;
}

static Found next_document(Corpus *corpus, GError **error)
{
    if (!corpus->file && !open_next_file(corpus, error))
        return FOUND_ERROR;
    if (corpus->kind == CORPUS_JSON)
        return next_object(corpus, error);
    if (corpus->kind == CORPUS_WHOLE_FILE)
        return next_whole_file(corpus, error);
    Found found = corpus->whole_file ? next_whole_text(corpus, error) : next_block(corpus, error);
    corpus->text_documents += found == FOUND_DOCUMENT;
    return found;
}

bool corpus_next(Corpus *corpus, const char **text, size_t *bytes, GError **error)
{
    while (!is_interrupted(corpus) && (corpus->file || corpus->next_file < corpus->files->len)) {
        g_autoptr(GError) problem = NULL;
        switch (next_document(corpus, &problem)) {
        case FOUND_DOCUMENT:
            *text = corpus->text;
            *bytes = corpus->text_bytes;
            return true;
        case FOUND_END:
            close_file(corpus);
            break;
        case FOUND_ERROR:
            if (is_interrupted(corpus))
                return false; /* in the middle of a document */
            if (!corpus->skip_errors || problem->code != LOAM_ERROR_USER) {
                g_propagate_error(error, g_steal_pointer(&problem));
                return false;
            }
            corpus->skipped++;
            if (corpus->broken)
                close_file(corpus);
            break;
        }
    }
    return false;
}

int corpus_fields(const Corpus *corpus)
{
    return corpus->fields_apart ? (int)g_strv_length(corpus->fields) : 1;
}

void corpus_field(const Corpus *corpus, int field, size_t *begin, size_t *bytes)
{
    bool apart = corpus->fields_apart && corpus->fields[1];
    size_t end = apart ? g_array_index(corpus->field_ends, size_t, field) : corpus->text_bytes;
    *begin = field > 0 ? g_array_index(corpus->field_ends, size_t, field - 1) + 1 : 0; /* behind the newline */
    *bytes = end - *begin;
}

uint64_t corpus_total_bytes(const Corpus *corpus)
{
    return corpus->total_bytes;
}

uint64_t corpus_done_bytes(const Corpus *corpus)
{
    return corpus->finished_bytes + (corpus->stream ? byte_stream_offset(corpus->stream) : 0);
}

bool corpus_is_whole_text(const Corpus *corpus)
{
    return corpus->kind == CORPUS_TEXT && corpus->whole_file;
}

void corpus_texts(const Corpus *corpus, int64_t *files, int64_t *documents)
{
    *files = corpus->text_files;
    *documents = corpus->text_documents;
}

int64_t corpus_skipped(const Corpus *corpus)
{
    return corpus->skipped;
}

int64_t corpus_passed_over(const Corpus *corpus)
{
    return corpus->passed_over;
}

int64_t corpus_nuls(const Corpus *corpus)
{
    return corpus->nuls;
}

const char *corpus_where(const Corpus *corpus)
{
    return corpus->where->str;
}
