/* parquet.c: files of Parquet, whose rows are records. Columns that no one will ask for are not read. */
#include "format/parquet/parquet.h"

#include "base/byte_stream.h"
#include "data/records/reader.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Table {
    Parquet *file;
    json_t *row; /* the record, whose fields are set anew for each row: null for a column that is not read */
    uint64_t bytes;
} Table;

/* The index of the column that the field is, or is within: of a name, or of a number that is not a name; -1: none. */
static int find_wanted(const char *const *columns, const char *field)
{
    const size_t head = strcspn(field, ".");
    const gint64 number = g_ascii_strtoll(field, NULL, 10);
    int within = -1, n = 0;
    for (; columns[n]; n++) {
        if (strcmp(columns[n], field) == 0)
            return n;
        if (strncmp(columns[n], field, head) == 0 && columns[n][head] == '\0')
            within = n;
    }
    return within >= 0 ? within : number >= 1 && number <= n ? (int)number - 1 : -1;
}

static void want(const RecordReader *reader)
{
    const Table *table = reader->own;
    char *const *fields = reader->source.fields;
    for (guint i = 0; !fields && reader->columns[i]; i++)
        parquet_want(table->file, i);
    for (; fields && *fields; fields++) {
        const int column = find_wanted((const char *const *)reader->columns, *fields);
        if (column >= 0)
            parquet_want(table->file, (guint)column);
    }
}

/* Fails for what cannot be read from any position: a pipe, and a compressed file. */
static bool check_file(const char *path, struct stat *info, GError **error)
{
    static const char *const commands[][2] = {
        { ".gz", "gunzip" }, { ".zst", "unzstd" }, { ".xz", "unxz" }, { ".bz2", "bunzip2" }
    };
    g_autofree char *stem = byte_stream_stem(path);
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        if (g_ascii_strcasecmp(path + strlen(stem), commands[i][0]) == 0)
            return fail_user(error,
                             "%s: Parquet, which has its own compression, is not read compressed; first: %s '%s'", path,
                             commands[i][1], path);
    if (stat(path, info) != 0)
        return fail_errno(error, "cannot read", path);
    return S_ISREG(info->st_mode) ||
           fail_user(error, "%s: Parquet is read from a file, whose end comes first, not from a pipe", path);
}

static bool open_table(RecordReader *reader, GError **error)
{
    struct stat info;
    const RecordSource *source = &reader->source;
    const ParquetTexts texts = { .nuls = source->texts,
                                 .most_bytes = source->most_bytes ? source->most_bytes : LINES_MOST_BYTES,
                                 .longer = source->longer };
    if (!check_file(reader->path, &info, error))
        return false;
    Table *table = reader->own = g_new0(Table, 1);
    table->file = parquet_open(reader->path, &texts, error);
    table->row = json_object();
    table->bytes = (uint64_t)info.st_size;
    if (!table->file || !reader_set_columns(reader, parquet_columns(table->file), error))
        return false;
    for (char **column = reader->columns; *column; column++)
        json_object_set_new(table->row, *column, json_null());
    want(reader);
    return true;
}

static void close_table(RecordReader *reader)
{
    Table *table = reader->own;
    if (!table)
        return;
    parquet_close(table->file);
    json_decref(table->row);
    g_free(table);
}

static Found next_row_of_columns(RecordReader *reader, GError **error)
{
    const Table *table = reader->own;
    GError *problem = NULL;
    bool goes_on;
    if (reader->source.interrupted && *reader->source.interrupted)
        return FOUND_END;
    if (parquet_next(table->file, table->row, &goes_on, &problem)) {
        g_string_printf(reader->where, "%s: row %" PRId64, reader->path, parquet_row(table->file));
        return reader_take_root(reader, json_incref(table->row), error);
    }
    if (!problem)
        return FOUND_END;
    reader->broken = !goes_on;
    g_string_printf(reader->where, "%s: row %" PRId64, reader->path, parquet_row(table->file));
    fail_with(error, problem);
    if (goes_on)
        fail_context(error, "%s", reader->where->str);
    return FOUND_ERROR;
}

/* The share of the rows that have been read, of the file's bytes. */
static uint64_t offset_of_row(const RecordReader *reader)
{
    const Table *table = reader->own;
    const double rows = (double)parquet_rows(table->file);
    return rows > 0 ? (uint64_t)((double)table->bytes * ((double)parquet_row(table->file) / rows)) : table->bytes;
}

const RecordKind parquet_records = { .suffixes = { ".parquet" },
                                     .corpus_suffixes = { ".parquet" },
                                     .traits = { .values = true, .columns = true },
                                     RECORD_READ(RETURNS_KEPT, open_table, next_row_of_columns),
                                     .close = close_table,
                                     .offset = offset_of_row };
