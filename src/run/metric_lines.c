#include "run/metric_lines.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINE_LIMIT 65536

/* Reads a line into `line`, without its end, and sets *n to its length, or to SIZE_MAX if it is longer than LINE_LIMIT.
 * False at the end of the file; a last line without an end is not read. */
static bool next_line(FILE *file, char *line, size_t *n)
{
    *n = 0;
    for (int c; (c = getc_unlocked(file)) != EOF;) {
        if (c == '\n')
            return true;
        if (*n < LINE_LIMIT)
            line[(*n)++] = (char)c;
        else
            *n = SIZE_MAX;
    }
    return false;
}

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
    static const char mark[] = "\xEF\xBB\xBF"; /* the byte order mark of UTF-8 */
    if (bytes >= strlen(mark) && memcmp(line, mark, strlen(mark)) == 0) {
        line += strlen(mark);
        bytes -= strlen(mark);
    }
    json_t *record = json_loadb(line, bytes, 0, NULL);
    if (record == NULL)
        record = parse_not_finite(line, bytes);
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

bool metric_lines_read(const char *dir, MetricLineFn take, void *context, int64_t *skipped, GError **error)
{
    g_autofree char *path = g_build_filename(dir, "metrics.jsonl", NULL), *line = g_malloc(LINE_LIMIT);
    int64_t bad = 0;
    size_t n;
    FILE *file;
    if (!metric_lines_open(&file, path, error))
        return false;
    if (file == NULL)
        return fail_user(error, "%s is no run directory: it holds no metrics.jsonl", dir);
    while (next_line(file, line, &n)) {
        json_t *record = n <= LINE_LIMIT ? metric_record(line, n) : NULL;
        if (record)
            take(record, context);
        else
            bad++;
        json_decref(record);
    }
    const bool read = !ferror(file);
    fclose(file);
    if (skipped)
        *skipped = bad;
    return read || fail_machine(error, "reading %s failed", path);
}

double metric_number(const json_t *record, const char *name)
{
    const json_t *value = json_object_get(record, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

const char *metric_text(const json_t *record, const char *name)
{
    const char *text = json_string_value(json_object_get(record, name));
    return text ? text : "";
}

int64_t metric_step(const json_t *record)
{
    const json_t *step = json_object_get(record, "step");
    return json_is_integer(step) && json_integer_value(step) >= 0 ? json_integer_value(step) : -1;
}
