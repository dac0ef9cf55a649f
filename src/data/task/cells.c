#include "data/task/cells.h"

#include "base/foreign.h"
#include "data/corpus/corpus.h"

#include <inttypes.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)1 << 16)
#define MOST_BYTES  ((size_t)64 << 20) /* longest row in bytes */
#define MOST_CELLS  (1 << 16)

enum { END_OF_FILE = -1, FAILED = -2 };

struct CellReader {
    char *path;
    CellFormat format;
    ByteStream *stream;
    char *chunk; /* bytes [begin, end) have not been read yet */
    size_t begin, end;
    bool started, broken; /* started: reading has begun; broken: reading failed, so no row follows */
    int64_t line, row_at; /* number of the line being read, and of the line at which the current row starts */
    GString *text;        /* the cells of the row, each with a NUL after it */
    GArray *starts;       /* (cells + 1) guint: where each cell starts in `text` */
    size_t row_bytes;     /* bytes of the row that have been read */
    bool cut;             /* they are too many: the rest of the line is not part of a row */
    const char *bad;      /* the error in the row; NULL means none */
    int64_t bad_line;     /* line of the error */
    guint bad_column;     /* cell of the error, counted from 1; 0 means the whole row */
    char bad_byte;        /* the byte that is not UTF-8 or is NUL, if `bad` is not_text */
};

CellReader *cell_reader_open(const char *path, CellFormat format, GError **error)
{
    ByteStream *stream = byte_stream_open(path, error);
    if (!stream)
        return NULL;
    CellReader *reader = g_new0(CellReader, 1);
    *reader = (CellReader){ .path = g_strdup(path),
                            .format = format,
                            .stream = stream,
                            .chunk = g_malloc(CHUNK_BYTES),
                            .line = 1,
                            .text = g_string_new(NULL),
                            .starts = g_array_new(false, false, sizeof(guint)) };
    return reader;
}

void cell_reader_close(CellReader *reader)
{
    if (!reader)
        return;
    byte_stream_close(reader->stream);
    g_string_free(reader->text, true);
    g_array_unref(reader->starts);
    g_free(reader->chunk);
    g_free(reader->path);
    g_free(reader);
}

/* ---- bytes ---- */

static bool refill(CellReader *reader, GError **error)
{
    reader->begin = reader->end = 0;
    reader->broken = !byte_stream_read(reader->stream, reader->chunk, CHUNK_BYTES, &reader->end, error);
    if (!reader->started && reader->end >= 3 && memcmp(reader->chunk, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        reader->begin = 3;
    if (!reader->started && !reader->broken)
        reader->broken = !foreign_check_start(reader->path, reader->chunk, reader->end, error);
    reader->started = true;
    return !reader->broken;
}

/* Returns the next byte without consuming it; END_OF_FILE at the end, FAILED with an error. */
static int peek_byte(CellReader *reader, GError **error)
{
    if (reader->begin == reader->end && !refill(reader, error))
        return FAILED;
    return reader->begin < reader->end ? (unsigned char)reader->chunk[reader->begin] : END_OF_FILE;
}

/* Consumes the byte that peek_byte returned. */
static void take_byte(CellReader *reader)
{
    reader->line += reader->chunk[reader->begin++] == '\n';
    reader->cut = ++reader->row_bytes > MOST_BYTES;
}

/* ---- a row ---- */

static guint cell_count(const CellReader *reader)
{
    return reader->starts->len - 1;
}

static const char not_text[] = "not UTF-8";

static void blame(CellReader *reader, const char *what, bool cell)
{
    if (reader->bad)
        return;
    reader->bad = what;
    reader->bad_line = reader->line;
    reader->bad_column = cell ? cell_count(reader) + 1 : 0;
}

static void blame_byte(CellReader *reader, char byte)
{
    reader->bad_byte = reader->bad ? reader->bad_byte : byte;
    blame(reader, not_text, true);
}

static void add_byte(CellReader *reader, int byte)
{
    if (byte == 0)
        blame_byte(reader, 0);
    else
        g_string_append_c(reader->text, (char)byte);
}

static void end_cell(CellReader *reader)
{
    const char *cell = reader->text->str + g_array_index(reader->starts, guint, cell_count(reader));
    const char *end;
    if (!g_utf8_validate(cell, -1, &end))
        blame_byte(reader, *end);
    if (cell_count(reader) >= MOST_CELLS) {
        blame(reader, "more than 65,536 columns", false);
        g_string_truncate(reader->text, (gsize)(cell - reader->text->str)); /* cells beyond are not kept */
        return;
    }
    g_string_append_c(reader->text, '\0');
    guint start = (guint)reader->text->len;
    g_array_append_val(reader->starts, start);
}

/* Skips the rest of the line at which a too long row was given up. */
static bool skip_line(CellReader *reader, GError **error)
{
    const char *newline = NULL;
    for (size_t skipped = 0;; skipped += reader->end - reader->begin, reader->begin = reader->end) {
        const int byte = peek_byte(reader, error);
        if (byte == FAILED || byte == END_OF_FILE)
            return byte == END_OF_FILE;
        reader->broken = skipped > CORPUS_MOST_SKIPPED;
        if (reader->broken)
            return fail_user(error, "%s:%" PRId64 ": a line longer than 1 GiB, which is not skipped", reader->path,
                             reader->line);
        newline = memchr(reader->chunk + reader->begin, '\n', reader->end - reader->begin);
        if (newline)
            break;
    }
    reader->begin = (size_t)(newline - reader->chunk) + 1;
    reader->line++;
    reader->cut = false;
    return true;
}

/* Reads the rest of a quoted cell, from after its opening quote to its closing quote. */
static bool read_quoted(CellReader *reader, GError **error)
{
    for (int byte; !reader->cut;) {
        if ((byte = peek_byte(reader, error)) == FAILED)
            return false;
        if (byte == END_OF_FILE) {
            blame(reader, "a quote is opened and never closed", true);
            return true;
        }
        take_byte(reader);
        if (byte != '"') {
            add_byte(reader, byte);
            continue;
        }
        if ((byte = peek_byte(reader, error)) == FAILED)
            return false;
        if (byte != '"')
            return true;
        take_byte(reader);
        add_byte(reader, '"');
    }
    return true;
}

/* Reads a cell up to a delimiter, a line end or the end of the file, which is not consumed. */
static bool read_cell(CellReader *reader, GError **error)
{
    int byte = peek_byte(reader, error);
    bool quoted = reader->format.quotes && byte == '"';
    if (byte == FAILED)
        return false;
    if (quoted) {
        take_byte(reader);
        if (!read_quoted(reader, error))
            return false;
    }
    while (!reader->cut) {
        if ((byte = peek_byte(reader, error)) == FAILED)
            return false;
        if (byte == END_OF_FILE || byte == '\n' || (byte == reader->format.delimiter && byte != 0))
            break;
        if (quoted && byte != '\r')
            blame(reader, "text after the closing quote of a cell; a quote within a cell is written twice (\"\")",
                  true);
        take_byte(reader);
        if (!quoted)
            add_byte(reader, byte);
    }
    gsize start = g_array_index(reader->starts, guint, cell_count(reader));
    if (reader->cut)
        return true;
    if (!quoted && byte == '\n' && reader->text->len > start && reader->text->str[reader->text->len - 1] == '\r')
        g_string_truncate(reader->text, reader->text->len - 1);
    end_cell(reader);
    return true;
}

static bool fail_bad_row(const CellReader *reader, GError **error)
{
    if (reader->bad_column == 0)
        return fail_user(error, "%s:%" PRId64 ": %s", reader->path, reader->bad_line, reader->bad);
    g_autofree char *where =
        g_strdup_printf("%s:%" PRId64 ": column %u", reader->path, reader->bad_line, reader->bad_column);
    return reader->bad == not_text ? foreign_fail_byte(where, reader->bad_byte, error)
                                   : fail_user(error, "%s: %s", where, reader->bad);
}

bool cell_reader_next(CellReader *reader, GError **error)
{
    const guint zero = 0;
    if (reader->broken || (reader->cut && !skip_line(reader, error)))
        return false;
    reader->bad = NULL;
    reader->row_bytes = 0;
    reader->row_at = reader->line;
    g_string_truncate(reader->text, 0);
    g_array_set_size(reader->starts, 0);
    g_array_append_val(reader->starts, zero);
    int byte = peek_byte(reader, error);
    if (byte == END_OF_FILE || byte == FAILED)
        return false;
    for (bool more = true; more && !reader->cut;) {
        if (!read_cell(reader, error))
            return false;
        if (reader->cut)
            break;
        if ((byte = peek_byte(reader, error)) == FAILED)
            return false;
        more = byte == reader->format.delimiter && byte != 0;
        if (byte != END_OF_FILE)
            take_byte(reader);
    }
    if (reader->cut)
        blame(reader, "a row longer than 64 MiB; is a quote not closed?", false);
    reader->cut = reader->cut && byte != '\n';
    return !reader->bad || fail_bad_row(reader, error);
}

const char *cell_reader_peek(CellReader *reader, size_t *n, GError **error)
{
    if (peek_byte(reader, error) == FAILED)
        return NULL;
    *n = reader->end - reader->begin;
    return reader->chunk + reader->begin;
}

int cell_reader_count(const CellReader *reader)
{
    return (int)cell_count(reader);
}

const char *cell_reader_cell(const CellReader *reader, int cell)
{
    return reader->text->str + g_array_index(reader->starts, guint, cell);
}

int64_t cell_reader_line(const CellReader *reader)
{
    return reader->row_at;
}

bool cell_reader_broken(const CellReader *reader)
{
    return reader->broken;
}
