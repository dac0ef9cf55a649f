#include "data/task/records.h"

#include "base/foreign.h"
#include "data/corpus/corpus.h"
#include "data/task/delimiter.h"
#include "data/task/record_copy.h"

#include <inttypes.h>
#include <string.h>

#define MOST_FILE_BYTES ((size_t)2 << 30) /* largest JSON file that is read as a whole */
#define MOST_FILES      16                /* most files of RECORD_PARALLEL */

const char *const record_format_names[] = { "auto", "tsv", "csv", "jsonl", "json", "parallel", "conll", NULL };
const char *const record_choice_names[] = { "auto", "true", "false", NULL };

/* A record within a JSON value: the objects that lead to it. */
typedef struct Path {
    const json_t *levels[RECORD_LEVELS];
    int n;
} Path;

struct RecordReader {
    RecordFormat format;
    char *path;
    GStrv steps;   /* the parts of RecordSource.rows: "data[]", "paragraphs[]", "qas[]" */
    GStrv columns; /* names of the columns; NULL until the first row is known */
    char *columns_text;
    bool header, given; /* given: the names come from RecordSource.columns */
    CellReader *cells[MOST_FILES];
    int n_files;
    json_t *root;  /* the JSON value that owns the current record */
    GArray *paths; /* of Path: the records within root */
    guint next;
    bool read_all, broken;   /* read_all: the JSON file has been parsed; broken: after an error no row can be read */
    bool any_text, replaced; /* RecordSource.any_text, Record.replaced */
    GString *where;
};

/* ---- opening ---- */

static bool has_suffix(const char *path, const char *suffix)
{
    g_autofree char *gzip = g_strconcat(suffix, ".gz", NULL), *zstd = g_strconcat(suffix, ".zst", NULL);
    return g_str_has_suffix(path, suffix) || g_str_has_suffix(path, gzip) || g_str_has_suffix(path, zstd);
}

/* Fails if the first bytes of a file say that it is not text, or if it cannot be read. */
static bool check_start(const char *path, GError **error)
{
    char start[512];
    size_t n = 0;
    ByteStream *stream = byte_stream_open(path, error);
    const bool good = stream && byte_stream_read(stream, start, sizeof start, &n, error) &&
                      foreign_check_start(path, start, n, error);
    byte_stream_close(stream);
    return good;
}

bool record_source_format(const RecordSource *source, RecordFormat *format, GError **error)
{
    static const struct {
        const char *suffix;
        RecordFormat format;
    } known[] = {
        { ".tsv", RECORD_TSV },      { ".tab", RECORD_TSV },   { ".csv", RECORD_CSV },     { ".jsonl", RECORD_JSONL },
        { ".ndjson", RECORD_JSONL }, { ".json", RECORD_JSON }, { ".conll", RECORD_CONLL }, { ".bio", RECORD_CONLL },
    };
    *format = source->format;
    if (*format != RECORD_AUTO)
        return true;
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
        if (has_suffix(source->path, known[i].suffix)) {
            bool lines = known[i].format == RECORD_JSON && *source->rows == '\0';
            *format = lines ? RECORD_JSONL : known[i].format;
            return true;
        }
    *format = RECORD_CSV;
    return foreign_check_name(source->path, false, error) && check_start(source->path, error) &&
           (source->delimiter ||
            fail_user(error, "%s: its name says no format; set task.format to tsv, csv, jsonl, json, parallel or conll",
                      source->path));
}

static bool open_cells(RecordReader *reader, const RecordSource *source, GError **error)
{
    bool table = reader->format == RECORD_TSV || reader->format == RECORD_CSV;
    const CellFormat format = {
        .delimiter = !table                         ? 0
                     : source->delimiter            ? source->delimiter
                     : reader->format == RECORD_TSV ? '\t'
                                                    : ',',
        .quotes =
            table && (source->quotes == RECORD_BY_FORMAT ? reader->format == RECORD_CSV : source->quotes == RECORD_YES),
    };
    g_auto(GStrv) paths = g_strsplit(source->path, reader->format == RECORD_PARALLEL ? "," : "\n", MOST_FILES);
    for (; paths[reader->n_files]; reader->n_files++)
        if (!(reader->cells[reader->n_files] = cell_reader_open(g_strstrip(paths[reader->n_files]), format, error)))
            return false;
    const bool several = reader->header || (reader->columns && reader->columns[1]);
    return !table || source->delimiter || !several || delimiter_check(reader->cells[0], reader->path, format, error);
}

/* The column names of parallel files, which are the suffixes of the files: "en" for train.en.gz. */
static char *suffix_names(const char *paths)
{
    g_auto(GStrv) files = g_strsplit(paths, ",", MOST_FILES);
    for (char **file = files; *file; file++) {
        g_autofree char *path = *file;
        const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        g_autofree char *stem = g_str_has_suffix(name, ".gz")    ? g_strndup(name, strlen(name) - 3)
                                : g_str_has_suffix(name, ".zst") ? g_strndup(name, strlen(name) - 4)
                                                                 : g_strdup(name);
        *file = g_strdup(strrchr(stem, '.') ? strrchr(stem, '.') + 1 : stem);
    }
    return g_strjoinv(",", files);
}

static bool set_columns(RecordReader *reader, GStrv names, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (char **name = names; *name; name++)
        if (!g_hash_table_add(seen, *name)) {
            fail_user(error, "%s: two columns are called \"%s\"", reader->path, *name);
            g_strfreev(names);
            return false;
        }
    reader->columns = names;
    g_free(reader->columns_text);
    reader->columns_text = g_strjoinv(", ", names);
    return true;
}

RecordReader *record_reader_open(const RecordSource *source, GError **error)
{
    RecordReader *reader = g_new0(RecordReader, 1);
    reader->path = g_strdup(source->path);
    reader->paths = g_array_new(false, false, sizeof(Path));
    reader->where = g_string_new(NULL);
    reader->any_text = source->any_text;
    reader->steps = g_strsplit(source->rows, ".", -1);
    bool good = record_source_format(source, &reader->format, error);
    bool parallel = reader->format == RECORD_PARALLEL;
    g_autofree char *names = parallel ? suffix_names(source->path) : g_strdup(source->columns);
    reader->given = *names != '\0';
    reader->header = !parallel && reader->format != RECORD_CONLL &&
                     (source->header == RECORD_YES || (source->header == RECORD_BY_FORMAT && !reader->given));
    if (good && g_strv_length(reader->steps) >= RECORD_LEVELS)
        good = fail_user(error, "task.rows: %s: more than %d names", source->rows, RECORD_LEVELS - 1);
    if (good && reader->given)
        good = set_columns(reader, g_strsplit(names, ",", -1), error);
    if (good && reader->format != RECORD_JSON)
        good = open_cells(reader, source, error);
    if (!good)
        g_clear_pointer(&reader, record_reader_close);
    return reader;
}

void record_reader_close(RecordReader *reader)
{
    if (!reader)
        return;
    for (int i = 0; i < reader->n_files; i++)
        cell_reader_close(reader->cells[i]);
    json_decref(reader->root);
    g_array_unref(reader->paths);
    g_string_free(reader->where, true);
    g_strfreev(reader->steps);
    g_strfreev(reader->columns);
    g_free(reader->columns_text);
    g_free(reader->path);
    g_free(reader);
}

bool record_reader_goes_on(const RecordReader *reader)
{
    for (int i = 0; i < reader->n_files; i++)
        if (cell_reader_broken(reader->cells[i]))
            return false;
    return !reader->broken;
}

/* ---- nested JSON ---- */

/* Appends the records below a value to reader->paths: `step` is the first of RecordSource.rows that is yet to be taken.
 */
static bool collect(RecordReader *reader, const json_t *value, char **step, Path path, GError **error)
{
    const bool lines = reader->format == RECORD_JSONL; /* in JSON lines, a list is not a record */
    if (!json_is_object(value))
        return fail_user(error, "%s: %s is wanted where records are, not an array or a single value%s",
                         reader->where->str, "an object { }",
                         lines && json_is_array(value) ? "; one list of all records is read with task.format=json "
                                                         "task.rows=[]"
                                                       : "");
    path.levels[path.n++] = value;
    if (*step == NULL || **step == '\0') {
        g_array_append_val(reader->paths, path);
        return true;
    }
    bool list = g_str_has_suffix(*step, "[]");
    g_autofree char *name = g_strndup(*step, strlen(*step) - (list ? 2 : 0));
    const json_t *below = json_object_get(value, name);
    if (below == NULL || json_is_array(below) != list)
        return fail_user(error, "%s: no %s \"%s\" where task.rows says so", reader->where->str,
                         list ? "list" : "object", name);
    if (!list)
        return collect(reader, below, step + 1, path, error);
    for (size_t i = 0; i < json_array_size(below); i++)
        if (!collect(reader, json_array_get(below, i), step + 1, path, error))
            return false;
    return true;
}

/* Appends the records below a value that is itself a list. */
static bool collect_items(RecordReader *reader, const json_t *list, GError **error)
{
    if (!json_is_array(list))
        return fail_user(error, "%s: no list [ ] where task.rows says so", reader->where->str);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!collect(reader, json_array_get(list, i), reader->steps + 1, (Path){ 0 }, error))
            return false;
    return true;
}

static bool take_root(RecordReader *reader, json_t *root, GError **error)
{
    const bool list = g_strcmp0(reader->steps[0], "[]") == 0;
    json_decref(reader->root);
    reader->root = root;
    reader->next = 0;
    g_array_set_size(reader->paths, 0);
    if (list ? collect_items(reader, root, error) : collect(reader, root, reader->steps, (Path){ 0 }, error))
        return true;
    g_array_set_size(reader->paths, 0);
    return false;
}

static bool read_whole(RecordReader *reader, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *chunk = g_malloc(1 << 16);
    json_error_t reason;
    size_t n = 1;
    reader->read_all = reader->broken = true;
    ByteStream *stream = byte_stream_open(reader->path, error);
    bool good = stream != NULL;
    while (good && n > 0 && text->len <= MOST_FILE_BYTES)
        if ((good = byte_stream_read(stream, chunk, 1 << 16, &n, error)))
            g_string_append_len(text, chunk, (gssize)n);
    byte_stream_close(stream);
    if (!good)
        return false;
    if (text->len > MOST_FILE_BYTES)
        return fail_user(error, "%s: a JSON file of more than 2 GiB; write JSON lines", reader->path);
    if (!foreign_check_start(reader->path, text->str, text->len, error))
        return false;
    json_t *root = json_loadb(text->str, text->len, JSON_REJECT_DUPLICATES, &reason);
    if (root == NULL)
        return fail_user(error, "%s:%d: column %d: not JSON: %s", reader->path, reason.line, reason.column,
                         reason.text);
    g_string_assign(reader->where, reader->path);
    return take_root(reader, root, error);
}

/* ---- lines ---- */

static void set_where(RecordReader *reader)
{
    g_auto(GStrv) paths = g_strsplit(reader->path, ",", 2);
    bool parallel = reader->format == RECORD_PARALLEL;
    g_string_printf(reader->where, "%s:%" PRId64, parallel ? paths[0] : reader->path,
                    cell_reader_line(reader->cells[0]));
}

static bool is_blank(const CellReader *cells)
{
    const char *cell = cell_reader_cell(cells, 0);
    return cell_reader_count(cells) == 1 && cell[strspn(cell, " \t\r")] == '\0';
}

/* Reads the next row of a table, or the next line, that is not blank. */
static bool next_row(RecordReader *reader, GError **error)
{
    do {
        if (!cell_reader_next(reader->cells[0], error))
            return false;
    } while (is_blank(reader->cells[0]));
    set_where(reader);
    return true;
}

static GStrv cells_of(const CellReader *cells, bool numbers)
{
    GStrvBuilder *builder = g_strv_builder_new();
    for (int i = 0; i < cell_reader_count(cells); i++) {
        const char *cell = cell_reader_cell(cells, i);
        g_autofree char *number = g_strdup_printf("%d", i + 1);
        g_strv_builder_add(builder, numbers ? number : cell);
    }
    GStrv all = g_strv_builder_end(builder);
    g_strv_builder_unref(builder);
    return all;
}

/* Takes the names of the columns from the first row. */
static bool name_columns(RecordReader *reader, GError **error)
{
    bool header = reader->header;
    if (reader->columns && !header)
        return true;
    g_clear_pointer(&reader->columns, g_strfreev);
    if (!set_columns(reader, cells_of(reader->cells[0], !header), error)) {
        reader->broken = true;
        return false;
    }
    reader->header = false;
    return !header || next_row(reader, error);
}

static bool next_table_row(RecordReader *reader, GError **error)
{
    if (!next_row(reader, error)) {
        reader->broken |= reader->header || reader->columns == NULL; /* with an invalid header no row can be read */
        return false;
    }
    if (!name_columns(reader, error))
        return false;
    int n = cell_reader_count(reader->cells[0]), wanted = (int)g_strv_length(reader->columns);
    if (n != wanted)
        return fail_user(error, "%s: %d columns where %d are wanted (%s)", reader->where->str, n, wanted,
                         reader->columns_text);
    json_t *row = json_object();
    for (int i = 0; i < n; i++)
        json_object_set_new(row, reader->columns[i], json_string(cell_reader_cell(reader->cells[0], i)));
    return take_root(reader, row, error);
}

/* The text with quotes around the numbers that Python writes and jansson does not read: integers of more than 64 bits,
 * NaN and Infinity. g_free. */
static char *quote_numbers(const char *text)
{
    GString *out = g_string_sized_new(strlen(text) + 64);
    bool quoted = false;
    while (*text) {
        const size_t n = quoted ? 0 : strspn(text, "+-.0123456789eENafInity");
        const bool number = n > 18 || (n > 0 && (*text == 'N' || memchr(text, 'I', n)));
        g_string_append(out, number ? "\"" : "");
        g_string_append_len(out, text, (gssize)MAX(n, 1));
        g_string_append(out, number ? "\"" : "");
        if (quoted && *text == '\\' && text[1])
            g_string_append_c(out, *++text);
        else if (*text == '"')
            quoted = !quoted;
        text += MAX(n, 1);
    }
    return g_string_free(out, false);
}

/* The four hexadecimal digits of the escape \u at the start of the text; -1 means that it has none. */
static int escaped_unit(const char *text)
{
    int unit = 0;
    if (text[0] != '\\' || text[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const int digit = g_ascii_xdigit_value(text[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* The JSON text with "\ufffd" for every escape of a NUL and of half a surrogate pair, which no text can hold. g_free.
 */
static char *replace_escapes(const char *text)
{
    GString *out = g_string_sized_new(strlen(text));
    while (*text) {
        const int unit = escaped_unit(text), next = unit >= 0xd800 && unit < 0xdc00 ? escaped_unit(text + 6) : -1;
        const bool pair = next >= 0xdc00 && next < 0xe000, bad = !pair && (unit == 0 || (unit & 0xf800) == 0xd800);
        const size_t n = pair ? 12 : unit >= 0 ? 6 : text[0] == '\\' && text[1] ? 2 : 1;
        g_string_append_len(out, bad ? "\\ufffd" : text, (gssize)n);
        text += n;
    }
    return g_string_free(out, false);
}

static json_t *parse_line(RecordReader *reader, const char *line, json_error_t *reason)
{
    json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, reason);
    reader->replaced = false;
    if (root)
        return root;
    g_autofree char *text = quote_numbers(line);
    root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (root || !reader->any_text)
        return root;
    g_autofree char *other = replace_escapes(text);
    root = json_loads(other, JSON_REJECT_DUPLICATES, NULL);
    reader->replaced = root != NULL;
    return root;
}

static bool next_object(RecordReader *reader, GError **error)
{
    json_error_t reason;
    if (!next_row(reader, error))
        return false;
    json_t *root = parse_line(reader, cell_reader_cell(reader->cells[0], 0), &reason);
    if (root == NULL)
        return fail_user(error, "%s: column %d: not JSON: %s%s", reader->where->str, reason.column, reason.text,
                         *cell_reader_cell(reader->cells[0], 0) == '['
                             ? "; one list of all records is read with task.format=json task.rows=[]"
                             : "");
    return take_root(reader, root, error);
}

static bool next_parallel(RecordReader *reader, GError **error)
{
    json_t *row = json_object();
    for (int i = 0; i < reader->n_files; i++) {
        GError *problem = NULL;
        bool more = cell_reader_next(reader->cells[i], &problem);
        if (problem)
            g_propagate_error(error, problem);
        else if (!more && i > 0)
            fail_user(error, "%s: the files have different numbers of lines: %s ends before %s", reader->path,
                      reader->columns[i], reader->columns[0]);
        if (!more) {
            /* If a line were skipped, the later lines of the parallel files would no longer match. */
            reader->broken = true;
            json_decref(row);
            return false;
        }
        json_object_set_new(row, reader->columns[i], json_string(cell_reader_cell(reader->cells[i], 0)));
    }
    set_where(reader);
    return take_root(reader, row, error);
}

/* ---- CoNLL: sentences with one word per line ---- */

#define DOCUMENT_START "-DOCSTART-" /* CoNLL-2003: a line of its own before each document */

/* Reads the next line; *end becomes whether it ends a sentence. False without an error at the end of the file. */
static bool next_word(RecordReader *reader, bool *end, GError **error)
{
    if (!cell_reader_next(reader->cells[0], error))
        return false;
    *end = is_blank(reader->cells[0]) || g_str_has_prefix(cell_reader_cell(reader->cells[0], 0), DOCUMENT_START);
    return true;
}

/* The columns of the current line, without empty ones. g_strfreev. */
static GStrv split_word(const RecordReader *reader)
{
    GStrvBuilder *builder = g_strv_builder_new();
    g_auto(GStrv) cells = g_strsplit_set(cell_reader_cell(reader->cells[0], 0), " \t\r", -1);
    for (char **cell = cells; *cell; cell++)
        if (**cell)
            g_strv_builder_add(builder, *cell);
    GStrv columns = g_strv_builder_end(builder);
    g_strv_builder_unref(builder);
    return columns;
}

/* Without task.columns, the columns are named 1, 2, 3, … up to the number of columns of the first word. */
static bool number_columns(RecordReader *reader, GStrv word, GError **error)
{
    if (reader->columns)
        return true;
    GStrv names = g_strdupv(word);
    for (guint i = 0; names[i]; i++) {
        g_free(names[i]);
        names[i] = g_strdup_printf("%u", i + 1);
    }
    return set_columns(reader, names, error);
}

/* Whether a line of CoNLL-U is no word of its own: a comment before a sentence ("# text = …"), a token of several words
 * ("1-2") or one that the text lacks ("1.1"). In other files a line that begins with # is a word, unless it says NAME
 * =. */
static bool is_beside_words(const RecordReader *reader, const json_t *sentence, GStrv word)
{
    const bool first = json_object_size(sentence) == 0 && word[0] && *word[0] == '#';
    if (!has_suffix(reader->path, ".conllu"))
        return first && word[1] && word[2] && strcmp(word[0], "#") == 0 && strcmp(word[2], "=") == 0;
    return first || (word[0] && g_ascii_isdigit(*word[0]) && strpbrk(word[0], "-.") != NULL);
}

static bool add_word(RecordReader *reader, json_t *sentence, GError **error)
{
    g_auto(GStrv) word = split_word(reader);
    if (is_beside_words(reader, sentence, word))
        return true;
    if (!number_columns(reader, word, error))
        return false;
    guint n = g_strv_length(word), wanted = g_strv_length(reader->columns);
    if (n != wanted)
        return fail_user(error, "%s:%" PRId64 ": %u columns where %u are wanted (%s)", reader->path,
                         cell_reader_line(reader->cells[0]), n, wanted, reader->columns_text);
    for (guint i = 0; i < n; i++) {
        json_t *column = json_object_get(sentence, reader->columns[i]);
        if (column == NULL)
            json_object_set_new(sentence, reader->columns[i], column = json_array());
        json_array_append_new(column, json_string(word[i]));
    }
    return true;
}

/* Reads the next sentence. After an invalid word the rest of its sentence is skipped. */
static bool next_sentence(RecordReader *reader, GError **error)
{
    json_t *sentence = json_object();
    GError *problem = NULL, *bad = NULL;
    bool end = false;
    while (next_word(reader, &end, &problem) && !(end && (bad || json_object_size(sentence) > 0))) {
        if (end || bad)
            continue;
        if (json_object_size(sentence) == 0)
            set_where(reader);
        add_word(reader, sentence, &bad);
    }
    bool good = !problem && !bad && json_object_size(sentence) > 0;
    if (problem || bad)
        g_propagate_error(error, problem ? problem : bad);
    if (problem)
        g_clear_error(&bad);
    if (good)
        return take_root(reader, sentence, error);
    json_decref(sentence);
    return false;
}

static bool next_copy(RecordReader *reader, GError **error)
{
    Path path = { 0 };
    if (!next_row(reader, error))
        return false;
    json_decref(reader->root);
    reader->root = json_loads(cell_reader_cell(reader->cells[0], 0), JSON_REJECT_DUPLICATES, NULL);
    reader->next = 0;
    g_array_set_size(reader->paths, 0);
    g_free(reader->columns_text);
    path.n = record_copy_levels(reader->root, path.levels, &reader->columns_text);
    if (path.n == 0)
        return fail_user(error, "%s: no copy of a record, which loam wrote here", reader->where->str);
    g_array_append_val(reader->paths, path);
    return true;
}

/* Reads until there is a record; false at the end of the file or on an error. */
static bool read_more(RecordReader *reader, GError **error)
{
    switch (reader->format) {
    case RECORD_TSV:
    case RECORD_CSV:
        return next_table_row(reader, error);
    case RECORD_JSONL:
        return next_object(reader, error);
    case RECORD_PARALLEL:
        return next_parallel(reader, error);
    case RECORD_CONLL:
        return next_sentence(reader, error);
    case RECORD_COPY:
        return next_copy(reader, error);
    case RECORD_JSON:
    case RECORD_AUTO:
        break;
    }
    return !reader->read_all && read_whole(reader, error);
}

bool record_reader_next(RecordReader *reader, Record *record, GError **error)
{
    while (reader->next == reader->paths->len)
        if (!read_more(reader, error))
            return false;
    const Path *path = &g_array_index(reader->paths, Path, reader->next++);
    bool table = reader->format != RECORD_JSON && reader->format != RECORD_JSONL;
    *record =
        (Record){ .n_levels = path->n, .columns = table ? reader->columns_text : NULL, .replaced = reader->replaced };
    memcpy(record->levels, path->levels, sizeof path->levels);
    if (reader->format == RECORD_JSON)
        g_string_printf(reader->where, "%s: record %u", reader->path, reader->next);
    record->where = reader->where->str;
    record->text = reader->format == RECORD_JSONL ? cell_reader_cell(reader->cells[0], 0) : NULL;
    return true;
}
