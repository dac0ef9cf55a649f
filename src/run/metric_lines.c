#include "run/metric_lines.h"

#include "base/error.h"
#include "base/json_line.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define LINE_LIMIT 65536
#define END_BYTES  (1 << 18) /* read from the end of a file, which may be long */
#define NOT_VALID  (-2)

bool metric_lines_open(FILE **file, const char *path, GError **error)
{
    *file = NULL;
    if (g_file_test(path, G_FILE_TEST_EXISTS) && !g_file_test(path, G_FILE_TEST_IS_REGULAR))
        return fail_user(error, "%s is no file", path);
    *file = fopen(path, "r");
    return *file || errno == ENOENT || errno == ENOTDIR || fail_errno(error, "reading", path);
}

/* Length of NaN, Infinity or -Infinity at the start of a text; 0 if it does not start with one of them. */
static size_t not_finite(const char *text, size_t bytes)
{
    static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (bytes >= strlen(words[i]) && memcmp(text, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

/* Parses a line with null in place of each NaN, Infinity and -Infinity outside of strings. */
static json_t *parse_not_finite(const char *line, size_t bytes)
{
    g_autoptr(GString) text = g_string_sized_new(bytes);
    bool quoted = false, replaced = false;
    for (size_t i = 0, length; i < bytes; i += length) {
        length = quoted ? 0 : not_finite(line + i, bytes - i);
        if (length > 0) {
            g_string_append(text, "null");
            replaced = true;
            continue;
        }
        length = quoted && line[i] == '\\' && i + 1 < bytes ? 2 : 1;
        quoted ^= line[i] == '"';
        g_string_append_len(text, line + i, (gssize)length);
    }
    return replaced ? json_loadb(text->str, text->len, 0, NULL) : NULL;
}

json_t *metric_record(const char *line, size_t bytes)
{
    const size_t mark = text_mark_bytes(line, bytes);
    json_t *record = json_loadb(line + mark, bytes - mark, 0, NULL);
    if (record == NULL)
        record = parse_not_finite(line + mark, bytes - mark);
    if (record && !json_is_object(record)) {
        json_decref(record);
        return NULL;
    }
    const json_t *step = json_object_get(record, "step");
    const double value = json_real_value(step);
    if (json_is_real(step) && value == floor(value) && fabs(value) < 0x1p53)
        json_object_set_new(record, "step", json_integer((json_int_t)value));
    return record;
}

double metric_number(const json_t *record, const char *name)
{
    const json_t *value = json_object_get(record, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

int64_t metric_step(const json_t *record)
{
    const json_t *step = json_object_get(record, "step");
    return json_is_integer(step) && json_integer_value(step) >= 0 ? json_integer_value(step) : -1;
}

bool metric_is_score(const char *key)
{
    static const char *const others[] = { "kind", "step", "name", "examples", "seconds", "time", "wall_s" };
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        if (strcmp(key, others[i]) == 0)
            return false;
    return true;
}

/* ---- the reader ---- */

const char *const metric_kind_names[] = {
    [METRIC_TRAIN] = "train", [METRIC_VALID] = "valid",   [METRIC_SCORE] = "score",
    [METRIC_SAVE] = "save",   [METRIC_SAMPLE] = "sample", [METRIC_EVENT] = "event"
};

static MetricKind value_kind(const json_t *json)
{
    const char *name = json_text(json, "kind");
    int kind = 0;
    while (kind < METRIC_OTHER && strcmp(name, metric_kind_names[kind]) != 0)
        kind++;
    return (MetricKind)kind;
}

static bool open_reader(MetricReader *reader, const char *dir, bool of_end, GError **error)
{
    *reader = (MetricReader){
        .path = g_build_filename(dir, "metrics.jsonl", NULL), .replaced = -1, .valid_step = NOT_VALID, .of_end = of_end
    };
    if (metric_lines_open(&reader->file, reader->path, error) && reader->file) {
        reader->line = g_malloc(LINE_LIMIT);
        return true;
    }
    g_free(reader->path);
    return false;
}

bool metric_reader_open(MetricReader *reader, const char *dir, GError **error)
{
    g_autoptr(GError) problem = NULL;
    if (open_reader(reader, dir, false, &problem))
        return true;
    if (problem == NULL)
        return fail_user(error, "%s is no run directory: it holds no metrics.jsonl", dir);
    return fail_with(error, g_steal_pointer(&problem));
}

/* Reads a line, without its end, into reader->line. *n becomes its length, or SIZE_MAX if it is longer than LINE_LIMIT.
 * False at the end of the file. */
static bool next_metric_line(MetricReader *reader, size_t *n)
{
    *n = 0;
    for (int c; (c = getc_unlocked(reader->file)) != EOF;) {
        if (c == '\n' || (c == '\0' && reader->of_end))
            return true;
        if (*n < LINE_LIMIT)
            reader->line[(*n)++] = (char)c;
        else
            *n = SIZE_MAX;
    }
    return reader->of_end && *n > 0;
}

bool metric_reader_open_end(MetricReader *reader, const char *dir)
{
    size_t n;
    if (!open_reader(reader, dir, true, NULL))
        return false;
    if (fseek(reader->file, -END_BYTES, SEEK_END) != 0 || ftell(reader->file) == 0)
        rewind(reader->file);
    else
        next_metric_line(reader, &n);
    reader->begin = ftell(reader->file);
    return true;
}

/* ---- held-out sets ---- */

/* The list of held-out sets in an event of a start, "held_out":[{"name":…,"data":…}]; NULL means that it has none. */
static json_t *sets_of_start(const json_t *json)
{
    json_t *sets = json_object_get(json_object_get(json, "start"), "held_out");
    return json_array_size(sets) > 0 ? sets : NULL;
}

/* The text `wanted` of the set whose text `key` is `value`, such as the hash of its data ("data") by its name ("name");
 * NULL means unknown. */
static const char *text_of_set(const json_t *sets, const char *wanted, const char *key, const char *value)
{
    size_t i;
    json_t *set;
    json_array_foreach((json_t *)(uintptr_t)sets, i, set)
    {
        if (strcmp(json_text(set, key), value) == 0)
            return json_string_value(json_object_get(set, wanted));
    }
    return NULL;
}

static const char *data_of_set(const json_t *sets, const char *name)
{
    return text_of_set(sets, "data", "name", name);
}

/* The step of a record with a held-out loss: the next record with this step is of the same evaluation. NOT_VALID for
 * another record. */
static int64_t step_of_valid(const json_t *json)
{
    return json && value_kind(json) == METRIC_VALID ? metric_step(json) : NOT_VALID;
}

/* Whether a line may have a held-out loss, or a start's list of sets: most lines have neither, and are not parsed. */
static bool tells_sets(const char *line, size_t bytes)
{
    return g_strstr_len(line, (gssize)bytes, "\"valid\"") || g_strstr_len(line, (gssize)bytes, "\"held_out\"");
}

/* Finds the first set of the run's data.valid: that of the last start or, in a run of an earlier version, whose starts
 * do not name sets, that of the last evaluation, whose records are in the order of data.valid. */
static void find_first_set(MetricReader *reader)
{
    const long here = ftell(reader->file);
    int64_t before = NOT_VALID; /* step_of_valid of the line before */
    if (fseek(reader->file, reader->begin, SEEK_SET) != 0)
        return;
    for (size_t n; next_metric_line(reader, &n);) {
        json_t *json = n <= LINE_LIMIT && tells_sets(reader->line, n) ? metric_record(reader->line, n) : NULL;
        const int64_t step = step_of_valid(json);
        json_t *sets = json ? sets_of_start(json) : NULL;
        if (sets) {
            json_decref(reader->sets);
            reader->sets = json_incref(sets);
        } else if (step != NOT_VALID && step != before) {
            g_free(reader->first_set);
            reader->first_set = g_strdup(json_text(json, "name"));
        }
        before = step;
        json_decref(json);
    }
    if (reader->sets) {
        g_free(reader->first_set);
        reader->first_set = g_strdup(json_text(json_array_get(reader->sets, 0), "name"));
    }
    fseek(reader->file, here, SEEK_SET);
}

/* Sets what is known of the set of a record. One with the data of a set of the last start has that set's name, which it
 * may have had or not when it was evaluated. */
static void note_set(MetricReader *reader)
{
    MetricRecord *record = &reader->record;
    if (reader->first_set == NULL)
        find_first_set(reader);
    const char *was = data_of_set(reader->sets_here, record->set), *is = data_of_set(reader->sets, record->set),
               *now = was && g_strcmp0(was, is) != 0 ? text_of_set(reader->sets, "name", "data", was) : NULL;
    record->leads = record->step != reader->valid_step;
    record->replaced = was && is && strcmp(was, is) != 0 && now == NULL;
    record->set = now ? now : record->set;
    record->first_set = !record->replaced && g_strcmp0(record->set, reader->first_set) == 0;
    if (record->replaced && g_strcmp0(record->set, reader->first_set) == 0)
        reader->replaced = record->step;
}

bool metric_reader_next(MetricReader *reader)
{
    size_t n;
    json_decref(reader->record.json);
    reader->record = (MetricRecord){ .set = "" };
    while (next_metric_line(reader, &n)) {
        json_t *json = n <= LINE_LIMIT ? metric_record(reader->line, n) : NULL;
        MetricRecord *record = &reader->record;
        if (json == NULL) {
            reader->skipped++;
            continue;
        }
        *record = (MetricRecord){
            .kind = value_kind(json), .step = metric_step(json), .set = json_text(json, "name"), .json = json
        };
        if (sets_of_start(json)) {
            json_decref(reader->sets_here);
            reader->sets_here = json_incref(sets_of_start(json));
        }
        if (record->kind == METRIC_VALID)
            note_set(reader);
        reader->valid_step = step_of_valid(json);
        return true;
    }
    return false;
}

const char *metric_reader_held_out(const MetricReader *reader)
{
    return reader->first_set ? data_of_set(reader->sets, reader->first_set) : NULL;
}

bool metric_reader_close(MetricReader *reader, GError **error)
{
    const bool read = !ferror(reader->file) || fail_machine(error, "reading %s failed", reader->path);
    fclose(reader->file);
    json_decref(reader->record.json);
    json_decref(reader->sets);
    json_decref(reader->sets_here);
    g_free(reader->first_set);
    g_free(reader->line);
    g_free(reader->path);
    return read;
}
