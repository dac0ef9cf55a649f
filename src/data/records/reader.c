#include "data/records/reader.h"

#include "base/foreign.h"

#include <inttypes.h>
#include <string.h>

bool reader_open_lines(RecordReader *reader, GError **error)
{
    const RecordSource *source = &reader->source;
    reader->lines[0] = lines_open(reader->path, reader->kind->returns, source->most_bytes, source->interrupted,
                                  source->foreign, error);
    reader->n_files = reader->lines[0] != NULL;
    return reader->n_files > 0;
}

bool reader_set_columns(RecordReader *reader, GStrv names, GError **error)
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

void reader_set_where(RecordReader *reader)
{
    g_string_printf(reader->where, "%s:%" PRId64, reader->lines[0]->path, reader->lines[0]->number);
}

Found reader_next_line(RecordReader *reader, Lines *lines, GError **error)
{
    const Found found = lines_next(lines, error);
    if (lines == reader->lines[0])
        reader_set_where(reader);
    const char *bad = found == FOUND_RECORD || found == FOUND_TOO_LONG ? lines_find_bad_byte(lines->line) : NULL;
    if (bad) {
        g_autofree char *where = g_strdup_printf("%s:%" PRId64 ": column 1", lines->path, lines->number);
        foreign_fail_byte(where, *bad, error);
    } else if (found == FOUND_TOO_LONG) {
        fail_user(error, "%s:%" PRId64 ": a line longer than 64 MiB", lines->path, lines->number);
    }
    return bad || found == FOUND_TOO_LONG ? FOUND_ERROR : found;
}

bool reader_is_blank(const char *row)
{
    return row[strspn(row, " \t\r")] == '\0';
}

Found reader_next_row(RecordReader *reader, GError **error)
{
    Found found;
    do
        found = reader_next_line(reader, reader->lines[0], error);
    while (found == FOUND_RECORD && reader_is_blank(reader->lines[0]->line->str));
    return found;
}
