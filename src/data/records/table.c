/* table.c: tables, whose rows are records. With quotes (RFC 4180) a cell may be enclosed in quotes ("…"); it may then
 * contain delimiters, line ends, and quotes that are written twice (""). */
#include "base/foreign.h"
#include "base/text.h"
#include "data/records/reader.h"

#include <inttypes.h>
#include <string.h>

#define MOST_CELLS (1 << 16)

/* A row of a table. */
typedef struct Row {
    char delimiter;
    bool quotes;      /* cells may be enclosed in quotes */
    GString *text;    /* the bytes of the row, and its cells, each with a NUL after it */
    GPtrArray *cells; /* char *: where they begin in `text` */
    int64_t line;     /* line of the file at which the row begins, counted from 1 */
    guint column;     /* cell that is looked at, counted from 1 */
    bool quoted;      /* it is within quotes */
    /* Line and cell at which the last quote was opened, and the end of that line in `text`: */
    int64_t quote_line;
    guint quote_column;
    size_t quote_end;
} Row;

/* ---- delimiters ---- */

/* Characters that separate cells, and how options write them. */
static const struct {
    char delimiter;
    const char *plural, *setting;
} delimiters[] = {
    { ',', "commas", "," },
    { ';', "semicolons", ";" },
    { '\t', "tabs", "\\t" },
    { '|', "vertical bars", "|" },
};

bool record_delimiter_find(char *delimiter, const char *name)
{
    const char tab[] = "\t", *wanted = strcmp(name, tab) == 0 ? "\\t" : name;
    *delimiter = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(delimiters); i++)
        if (strcmp(wanted, delimiters[i].setting) == 0)
            *delimiter = delimiters[i].delimiter;
    return *delimiter || *name == '\0';
}

/* Number of times that a character is in the first line of a table, outside of quoted cells. */
static int count_in_line(const char *text, size_t n, char delimiter, bool quotes)
{
    int count = 0;
    bool quoted = false;
    for (size_t i = 0; i < n && (text[i] != '\n' || quoted); i++) {
        quoted ^= quotes && text[i] == '"';
        count += text[i] == delimiter && !quoted;
    }
    return count;
}

/* Fails for a table whose first line lacks the delimiter of its format and has another one. */
static bool check_delimiter(const RecordReader *reader, GError **error)
{
    const Lines *lines = reader->lines[0];
    const Row *row = reader->own;
    const char *option = reader->source.delimiter_option ? reader->source.delimiter_option : "task.delimiter";
    size_t other = 0, own = 0;
    int most = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(delimiters); i++) {
        const int count =
            count_in_line(lines->bytes + lines->begin, lines->end - lines->begin, delimiters[i].delimiter, row->quotes);
        if (delimiters[i].delimiter == row->delimiter && count > 0)
            return true;
        own = delimiters[i].delimiter == row->delimiter ? i : own;
        other = count > most ? i : other;
        most = MAX(most, count);
    }
    return most == 0 ||
           fail_user(error, "%s: a table separated by %s, not %s: give %s='%s' ('%s' if it has one column)",
                     reader->path, delimiters[other].plural, delimiters[own].plural, option, delimiters[other].setting,
                     delimiters[own].setting);
}

static bool open_table(RecordReader *reader, GError **error)
{
    const RecordSource *source = &reader->source;
    const bool given = source->columns && *source->columns, csv = reader->format == RECORD_CSV;
    Row *row = reader->own = g_new0(Row, 1);
    *row = (Row){ .delimiter = source->delimiter ? source->delimiter : reader->kind->traits.delimiter,
                  .quotes = source->quotes == RECORD_BY_FORMAT ? csv : source->quotes == RECORD_YES,
                  .text = g_string_new(NULL),
                  .cells = g_ptr_array_new() };
    reader->header = source->header == RECORD_YES || (source->header == RECORD_BY_FORMAT && !given);
    if ((given && !reader_set_columns(reader, text_list(source->columns), error)) || !reader_open_lines(reader, error))
        return false;
    const bool several = reader->header || (reader->columns && reader->columns[1]);
    return source->delimiter || !several || check_delimiter(reader, error);
}

static void free_row(RecordReader *reader)
{
    Row *row = reader->own;
    if (!row)
        return;
    g_string_free(row->text, true);
    g_ptr_array_unref(row->cells);
    g_free(row);
}

/* ---- a row ---- */

enum { ROW_ENDS, ROW_GOES_ON, ROW_IS_BAD };

/* Follows the quotes of a row through its last line, which begins at byte `from` of the row: whether the row ends with
 * it, or goes on with the next one, or has text after a closing quote. */
static int follow_quotes(Row *row, size_t from, int64_t line)
{
    const char *at = row->text->str + from, *end = row->text->str + row->text->len;
    while (row->quotes) {
        if (!row->quoted && at < end && *at == '"') {
            row->quoted = true;
            row->quote_line = line;
            row->quote_column = row->column;
            row->quote_end = row->text->len;
            at++;
        } else if (!row->quoted) {
            at = memchr(at, row->delimiter, (size_t)(end - at));
            if (!at)
                break;
            at++;
            row->column++;
        }
        while (row->quoted) {
            at = memchr(at, '"', (size_t)(end - at));
            if (!at)
                return ROW_GOES_ON;
            row->quoted = ++at < end && *at == '"';
            at += row->quoted;
            if (row->quoted)
                continue;
            while (at < end && *at == '\r')
                at++;
            if (at == end || *at == '\n')
                return ROW_ENDS;
            if (*at++ != row->delimiter)
                return ROW_IS_BAD;
            row->column++;
        }
    }
    return ROW_ENDS;
}

/* Finds the end of a cell in `text` and makes the cell at its begin what it says; *next becomes the begin of the next
 * cell, or NULL after the last one. */
static size_t take_cell(const Row *row, char *text, char *end, char **next)
{
    char *out = text, *at = text;
    if (row->quotes && at < end && *at == '"') {
        for (at++; at < end && (*at != '"' || (at + 1 < end && at[1] == '"')); at++) {
            at += *at == '"';
            *out++ = *at;
        }
        while (++at < end && *at == '\r')
            ;
    } else {
        at = memchr(text, row->delimiter, (size_t)(end - text));
        const bool last = !at; /* the row ends after it, with LF, CRLF, or CR if the file was cut before its last LF */
        at = at ? at : end > text && end[-1] == '\n' ? end - 1 : end;
        out = last && at > text && at[-1] == '\r' ? at - 1 : at;
    }
    *next = at < end && *at == row->delimiter ? at + 1 : NULL;
    *out = '\0';
    return (size_t)(out - text);
}

/* Divides the row into cells, which are text. */
static bool take_cells(RecordReader *reader, GError **error)
{
    Row *row = reader->own;
    char *end = row->text->str + row->text->len;
    int64_t line = row->line;
    g_ptr_array_set_size(row->cells, 0);
    for (char *cell = row->text->str, *next; cell; cell = next) {
        const size_t n = take_cell(row, cell, end, &next);
        const char *bad;
        if (row->cells->len == MOST_CELLS)
            return fail_user(error, "%s:%" PRId64 ": more than 65,536 columns", reader->path, line);
        g_ptr_array_add(row->cells, cell);
        const bool good = g_utf8_validate(cell, (gssize)n, &bad);
        for (const char *at = cell; at < (good ? cell + n : bad); at++)
            line += *at == '\n';
        if (!good) {
            g_autofree char *where = g_strdup_printf("%s:%" PRId64 ": column %u", reader->path, line, row->cells->len);
            return foreign_fail_byte(where, *bad, error);
        }
    }
    return true;
}

/* Gives up a row at a quote that is not closed, or not at the end of a cell: all that follows the line at which it is
 * opened is read again, since the quote may be a stray one. */
static Found fail_quote(RecordReader *reader, const char *what, GError **error)
{
    const Row *row = reader->own;
    lines_unread(reader->lines[0], row->text->str + row->quote_end, row->text->len - row->quote_end, row->quote_line);
    fail_user(error, "%s:%" PRId64 ": column %u: %s", reader->path, row->quote_line, row->quote_column, what);
    return FOUND_ERROR;
}

static Found fail_long_row(RecordReader *reader, GError **error)
{
    const Row *row = reader->own;
    const char *bad = lines_find_bad_byte(row->text);
    if (row->quoted)
        lines_unread(reader->lines[0], row->text->str + row->quote_end, row->text->len - row->quote_end,
                     row->quote_line);
    /* A bad byte at the end may be of a character that is cut at the limit. */
    if (!bad || bad + 4 > row->text->str + row->text->len || take_cells(reader, error)) {
        g_autofree char *where =
            g_strdup_printf("%s:%" PRId64, reader->path, row->quoted ? row->quote_line : row->line);
        lines_fail_too_long(reader->lines[0], where, "a row", reader->source.longer,
                            row->quoted ? "; is a quote not closed?" : "", error);
    }
    return FOUND_ERROR;
}

/* Reads the next row, which may be blank. */
static Found read_row(RecordReader *reader, GError **error)
{
    Lines *lines = reader->lines[0];
    Row *row = reader->own;
    g_string_truncate(row->text, 0);
    row->column = 1;
    row->quoted = false;
    for (int state = ROW_GOES_ON; state != ROW_ENDS;) {
        const size_t from = row->text->len;
        const Found found = lines_append(lines, row->text, error);
        if (from == 0) {
            row->line = lines->number;
            reader_set_where(reader);
        }
        if (found == FOUND_TOO_LONG)
            return fail_long_row(reader, error);
        if (found == FOUND_END && from > 0)
            return fail_quote(reader, "a quote is opened and never closed", error);
        if (found != FOUND_RECORD)
            return found;
        state = follow_quotes(row, from, lines->number);
        if (state == ROW_IS_BAD)
            return fail_quote(
                reader, "text after the closing quote of a cell; a quote within a cell is written twice (\"\")", error);
    }
    return take_cells(reader, error) ? FOUND_RECORD : FOUND_ERROR;
}

static Found next_row(RecordReader *reader, GError **error)
{
    const Row *row = reader->own;
    Found found;
    do
        found = read_row(reader, error);
    while (found == FOUND_RECORD && row->cells->len == 1 && reader_is_blank(row->cells->pdata[0]));
    return found;
}

/* ---- columns ---- */

/* The names of the columns: the cells of the row, or with `numbers` 1, 2, 3, …. Of a name that comes twice, every
 * column is called by its number, too: "NAME (column 3)". */
static GStrv names_of_column(const Row *row, bool numbers)
{
    g_autoptr(GStrvBuilder) names = g_strv_builder_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal),
                          twice = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < row->cells->len; i++)
        if (!g_hash_table_add(seen, row->cells->pdata[i]))
            g_hash_table_add(twice, row->cells->pdata[i]);
    for (guint i = 0; i < row->cells->len; i++) {
        char *name = row->cells->pdata[i];
        g_autofree char *other = numbers                              ? g_strdup_printf("%u", i + 1)
                                 : g_hash_table_contains(twice, name) ? record_twin_name(name, i + 1)
                                                                      : g_strdup(name);
        g_strv_builder_add(names, other);
    }
    return g_strv_builder_end(names);
}

/* Takes the columns' names from the first row unless they are given; if that was the header, reads the next row. */
static Found name_columns(RecordReader *reader, GError **error)
{
    const bool header = reader->header;
    if (reader->columns && !header)
        return FOUND_RECORD;
    reader->broken = !reader->columns && !reader_set_columns(reader, names_of_column(reader->own, !header), error);
    if (reader->broken)
        return FOUND_ERROR;
    reader->header = false;
    return header ? next_row(reader, error) : FOUND_RECORD;
}

static Found next_record(RecordReader *reader, GError **error)
{
    Found found = next_row(reader, error);
    if (found == FOUND_ERROR)
        reader->broken |= reader->header || reader->columns == NULL; /* with an invalid header no row can be read */
    if (found == FOUND_RECORD)
        found = name_columns(reader, error);
    if (found != FOUND_RECORD)
        return found;
    const GPtrArray *cells = ((const Row *)reader->own)->cells;
    const guint wanted = g_strv_length(reader->columns);
    if (cells->len != wanted) {
        fail_user(error, "%s: %u columns where %u are wanted (%s)", reader->where->str, cells->len, wanted,
                  reader->columns_text);
        return FOUND_ERROR;
    }
    json_t *row = json_object();
    for (guint i = 0; i < wanted; i++)
        json_object_set_new(row, reader->columns[i], json_string_nocheck(cells->pdata[i]));
    return reader_take_root(reader, row, error);
}

#define TABLE(delimiter_)                                                                                              \
    .traits = { .values = true, .columns = true, .delimiter = (delimiter_), .names_read = true },                      \
    RECORD_READ(RETURNS_KEPT, open_table, next_record), .close = free_row
const RecordKind tsv_records = { TABLE('\t'), .suffixes = { ".tsv", ".tab" }, .corpus_suffixes = { ".tsv" } };
const RecordKind csv_records = { TABLE(','), .suffixes = { ".csv" }, .corpus_suffixes = { ".csv" } };
