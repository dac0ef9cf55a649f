#include "data/records/records.h"

#include "base/foreign.h"
#include "data/records/reader.h"

#include <inttypes.h>
#include <string.h>

const char *const record_format_names[] = { "auto", "tsv", "csv", "jsonl", "json", "parallel", "conll", NULL };
const char *const record_choice_names[] = { "auto", "true", "false", NULL };

static const RecordKind kinds[] = {
    [RECORD_TSV] = { { ".tsv", ".tab" }, RETURNS_KEPT, table_open, table_next, .columns = true },
    [RECORD_CSV] = { { ".csv" }, RETURNS_KEPT, table_open, table_next, .columns = true },
    [RECORD_JSONL] = { { ".jsonl", ".ndjson" }, RETURNS_DROPPED, json_lines_open, json_lines_next, .columns = false },
    [RECORD_JSON] = { { ".json" }, RETURNS_KEPT, json_open, json_next, .columns = false },
    [RECORD_PARALLEL] = { { NULL }, RETURNS_DROPPED, parallel_open, parallel_next, .columns = true },
    [RECORD_CONLL] = { { ".conll", ".bio" }, RETURNS_DROPPED, conll_open, conll_next, .columns = true },
    [RECORD_COPY] = { { NULL }, RETURNS_DROPPED, reader_open_lines, copy_next, .columns = true },
    [RECORD_TEXT] = { { NULL }, RETURNS_DROPPED, reader_open_lines, text_next_block, .columns = false },
    [RECORD_PARTS] = { { NULL }, RETURNS_DROPPED, reader_open_lines, text_next_part, .columns = false },
    [RECORD_FILE] = { { NULL }, RETURNS_DROPPED, reader_open_lines, text_next_file, .columns = false },
};

/* ---- the format of a file ---- */

RecordFormat record_format_of_name(const char *path)
{
    g_autofree char *stem = reader_stem(path);
    for (size_t format = 1; format < G_N_ELEMENTS(kinds); format++)
        for (const char *const *suffix = kinds[format].suffixes; *suffix; suffix++)
            if (strlen(stem) >= strlen(*suffix) &&
                g_ascii_strcasecmp(stem + strlen(stem) - strlen(*suffix), *suffix) == 0)
                return (RecordFormat)format;
    return RECORD_AUTO;
}

/* Fails if the first bytes of a file say that it is not text, or if it cannot be read. */
static bool check_start(const char *path, GError **error)
{
    Lines *lines = lines_open(path, RETURNS_KEPT, 0, NULL, NULL, error);
    const bool good = lines != NULL;
    lines_close(lines);
    return good;
}

bool record_source_format(const RecordSource *source, RecordFormat *format, GError **error)
{
    *format = source->format != RECORD_AUTO ? source->format : record_format_of_name(source->path);
    if (source->format == RECORD_AUTO && *format == RECORD_JSON && (!source->rows || *source->rows == '\0'))
        *format = RECORD_JSONL;
    if (*format != RECORD_AUTO)
        return true;
    *format = RECORD_CSV;
    if (!foreign_check_name(source->path, error))
        return false;
    /* With a delimiter the file is not opened here, since a pipe is read once. */
    return source->delimiter ||
           (check_start(source->path, error) &&
            fail_user(error, "%s: its name says no format; set task.format to tsv, csv, jsonl, json, parallel or conll",
                      source->path));
}

/* ---- opening ---- */

RecordReader *record_reader_open(const RecordSource *source, GError **error)
{
    RecordReader *reader = g_new0(RecordReader, 1);
    reader->path = g_strdup(source->path);
    reader->source = *source;
    reader->source.longer = source->longer ? source->longer : "";
    reader->paths = g_array_new(false, false, sizeof(Path));
    reader->where = g_string_new(source->path);
    reader->document = g_string_new(NULL);
    reader->steps = g_strsplit(source->rows ? source->rows : "", ".", -1);
    bool good = record_source_format(source, &reader->format, error);
    reader->kind = &kinds[reader->format];
    if (good && g_strv_length(reader->steps) >= RECORD_LEVELS)
        good = fail_user(error, "task.rows: %s: more than %d names", source->rows, RECORD_LEVELS - 1);
    good = good && reader->kind->open(reader, error);
    reader->kind = &kinds[reader->format]; /* json_lines_open may have found that it is another one */
    if (!good)
        g_clear_pointer(&reader, record_reader_close);
    return reader;
}

void record_reader_close(RecordReader *reader)
{
    if (!reader)
        return;
    for (int i = 0; i < reader->n_files; i++)
        lines_close(reader->lines[i]);
    table_free(reader->row);
    json_decref(reader->root);
    g_array_unref(reader->paths);
    g_string_free(reader->where, true);
    g_string_free(reader->document, true);
    g_strfreev(reader->steps);
    g_strfreev(reader->columns);
    g_free(reader->columns_text);
    g_free(reader->path);
    g_free(reader);
}

/* ---- reading ---- */

bool record_reader_next(RecordReader *reader, Record *record, GError **error)
{
    const bool values = reader->format < RECORD_TEXT;
    for (Found found; !values || reader->next == reader->paths->len;) {
        found = reader->broken ? FOUND_END : reader->kind->next(reader, error);
        if (found != FOUND_RECORD)
            return false;
        if (!values)
            break;
    }
    *record = (Record){ .where = reader->where->str,
                        .columns = reader->kind->columns ? reader->columns_text : NULL,
                        .replaced = reader->replaced,
                        .text = reader->document->str,
                        .text_bytes = reader->text_bytes };
    if (!values)
        return true;
    const Path *path = &g_array_index(reader->paths, Path, reader->next++);
    record->n_levels = path->n;
    memcpy(record->levels, path->levels, sizeof path->levels);
    if (reader->format == RECORD_JSON)
        g_string_printf(reader->where, "%s: record %u", reader->path, reader->next);
    record->where = reader->where->str;
    record->text = reader->format == RECORD_JSONL ? reader->lines[0]->line->str : NULL;
    return true;
}

bool record_reader_goes_on(const RecordReader *reader)
{
    for (int i = 0; i < reader->n_files; i++)
        if (reader->lines[i]->broken || reader->lines[i]->endless)
            return false;
    return !reader->broken;
}

bool record_reader_is_endless(const RecordReader *reader)
{
    return reader->n_files > 0 && reader->lines[0]->endless;
}

RecordFormat record_reader_format(const RecordReader *reader)
{
    return reader->format;
}

bool record_reader_had_crlf(const RecordReader *reader)
{
    return reader->lines[0]->crlf;
}

uint64_t record_reader_offset(const RecordReader *reader)
{
    return byte_stream_offset(reader->lines[0]->stream);
}
