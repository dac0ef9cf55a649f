#include "data/records/records.h"

#include "base/foreign.h"
#include "base/text.h"
#include "data/records/reader.h"

#include <string.h>

#define NAME(NAME, name) #name,
const char *const record_format_names[] = { "auto", RECORD_ROW_FORMATS(NAME) RECORD_TASK_FORMATS(NAME) NULL };
const char *const record_corpus_format_names[] = { RECORD_ROW_FORMATS(NAME) RECORD_TEXT_FORMATS(NAME) NULL };
const char *const record_choice_names[] = { "auto", "true", "false", NULL };

#define KIND(NAME, name) [RECORD_##NAME] = &name##_records,
static const RecordKind *const kinds[] = { RECORD_FORMATS(KIND) };

const RecordTraits *record_traits(RecordFormat format)
{
    return &kinds[format]->traits;
}

/* ---- the format of a file ---- */

static RecordFormat find_format(const char *path, bool corpus)
{
    g_autofree char *stem = byte_stream_stem(path);
    for (size_t format = 1; format < G_N_ELEMENTS(kinds); format++)
        for (const char *const *suffix = corpus ? kinds[format]->corpus_suffixes : kinds[format]->suffixes; *suffix;
             suffix++)
            if (text_has_suffix(stem, *suffix))
                return (RecordFormat)format;
    return RECORD_AUTO;
}

RecordFormat record_corpus_format_of_name(const char *path)
{
    return find_format(path, true);
}

bool record_name_has_values(const char *path)
{
    const RecordFormat format = find_format(path, true);
    return format != RECORD_AUTO && record_traits(format)->values;
}

RecordFormat record_corpus_format_find(const char *name)
{
#define FORMAT(NAME, name) RECORD_##NAME,
    static const RecordFormat formats[] = { RECORD_ROW_FORMATS(FORMAT) RECORD_TEXT_FORMATS(FORMAT) };
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(name, record_corpus_format_names[i]) == 0)
            return formats[i];
    return RECORD_AUTO;
}

/* Whether the path is no file, but each of the names between its commas is one. */
static bool names_several(const char *path)
{
    g_auto(GStrv) names = text_list(path);
    bool several = names[0] && names[1] && !g_file_test(path, G_FILE_TEST_EXISTS);
    for (char **name = names; several && *name; name++)
        several = g_file_test(*name, G_FILE_TEST_EXISTS);
    return several;
}

/* Fails if the first bytes of a file say that it is not text, or if it cannot be read. */
static bool check_records_start(const char *path, GError **error)
{
    g_autoptr(Lines) lines = lines_open(path, RETURNS_KEPT, 0, NULL, NULL, error);
    return lines != NULL;
}

bool record_source_format(const RecordSource *source, RecordFormat *format, GError **error)
{
    *format = source->format != RECORD_AUTO ? source->format
              : names_several(source->path) ? RECORD_PARALLEL
                                            : find_format(source->path, false);
    if (source->format == RECORD_AUTO && *format == RECORD_JSON && (!source->rows || *source->rows == '\0'))
        *format = RECORD_JSONL;
    if (*format != RECORD_AUTO)
        return true;
    *format = RECORD_CSV;
    if (!foreign_check_name(source->path, error))
        return false;
    if (source->delimiter) /* The file is not opened here, since a pipe is read once. */
        return true;
    g_autofree char *names = text_choice(record_format_names + 1);
    return check_records_start(source->path, error) &&
           fail_user(error, "%s: its name says no format; set task.format to %s", source->path, names);
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
    reader->kind = kinds[reader->format];
    if (good && g_strv_length(reader->steps) >= RECORD_LEVELS)
        good = fail_user(error, "task.rows: %s: more than %d names", source->rows, RECORD_LEVELS - 1);
    good = good && reader->kind->open(reader, error);
    reader->kind = kinds[reader->format]; /* open of JSON lines may have found that it is another one */
    if (!good)
        g_clear_pointer(&reader, record_reader_close);
    return reader;
}

void record_reader_close(RecordReader *reader)
{
    if (!reader)
        return;
    if (reader->kind->close)
        reader->kind->close(reader);
    for (int i = 0; i < reader->n_files; i++)
        lines_close(reader->lines[i]);
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
    const bool values = reader->kind->traits.values;
    for (Found found; !values || reader->next == reader->paths->len;) {
        found = reader->broken ? FOUND_END : reader->kind->next(reader, error);
        if (found != FOUND_RECORD)
            return false;
        if (!values)
            break;
    }
    *record = (Record){ .where = reader->where->str,
                        .columns = reader->kind->traits.columns ? reader->columns_text : NULL,
                        .replaced = reader->replaced,
                        .text = reader->document->str,
                        .text_bytes = reader->text_bytes };
    if (!values)
        return true;
    const Path *path = &g_array_index(reader->paths, Path, reader->next++);
    record->n_levels = path->n;
    memcpy(record->levels, path->levels, sizeof path->levels);
    if (reader->kind->numbered)
        g_string_printf(reader->where, "%s: record %u", reader->path, reader->next);
    record->where = reader->where->str;
    record->text = reader->kind->keeps_line ? reader->lines[0]->line->str : NULL;
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

const char *record_reader_line_ends(const RecordReader *reader)
{
    const Lines *lines = reader->lines[0];
    return !lines ? NULL : lines->cr ? RECORD_CR : lines->crlf ? RECORD_CRLF : NULL;
}

uint64_t record_reader_offset(const RecordReader *reader)
{
    return reader->kind->offset ? reader->kind->offset(reader) : byte_stream_offset(reader->lines[0]->stream);
}
