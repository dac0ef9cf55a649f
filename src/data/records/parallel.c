/* parallel.c: parallel files, whose lines of the same number are a record. */
#include "base/text.h"
#include "data/records/reader.h"

#include <string.h>

/* The column names of parallel files, which are the suffixes of the files: "en" for train.en.gz. */
static GStrv suffix_names(GStrv paths)
{
    GStrv names = g_strdupv(paths);
    for (char **file = names; *file; file++) {
        g_autofree char *path = *file, *stem = byte_stream_stem(path);
        const char *name = strrchr(stem, '/') ? strrchr(stem, '/') + 1 : stem, *dot = strrchr(name, '.');
        *file = g_strdup(dot ? dot + 1 : name);
    }
    return names;
}

static bool open_parallel_files(RecordReader *reader, GError **error)
{
    g_auto(GStrv) paths = text_list(reader->path);
    if (g_strv_length(paths) > RECORD_FILES)
        return fail_user(error, "%s: more than %d parallel files", reader->path, RECORD_FILES);
    if (!reader_set_columns(reader, suffix_names(paths), error))
        return fail_context(error, "files between commas are the columns of one table, such as a.en,a.de; several "
                                   "tables of the same columns are first joined to one file");
    for (; paths[reader->n_files]; reader->n_files++)
        if (!(reader->lines[reader->n_files] =
                  lines_open(paths[reader->n_files], reader->kind->returns, 0, NULL, NULL, error)))
            return false;
    return true;
}

static Found next_lines(RecordReader *reader, GError **error)
{
    json_t *row = json_object();
    reader->broken = true; /* if a line were skipped, the later lines of the parallel files would no longer match */
    for (int i = 0; i < reader->n_files; i++) {
        const Found found = reader_next_line(reader, reader->lines[i], error);
        if (found == FOUND_END && i > 0)
            fail_user(error, "%s: the files have different numbers of lines: %s ends before %s", reader->path,
                      reader->columns[i], reader->columns[0]);
        if (found != FOUND_RECORD) {
            json_decref(row);
            return i > 0 ? FOUND_ERROR : found;
        }
        json_object_set_new(row, reader->columns[i], json_string(reader->lines[i]->line->str));
    }
    reader->broken = false;
    return reader_take_root(reader, row, error);
}

const RecordKind parallel_records = { .traits = { .values = true, .columns = true },
                                      RECORD_READ(RETURNS_DROPPED, open_parallel_files, next_lines) };
