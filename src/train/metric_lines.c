#include "train/metric_lines.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

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

bool metric_lines_read(const char *dir, MetricLineFn take, void *context, int64_t *skipped, GError **error)
{
    g_autofree char *path = g_build_filename(dir, "metrics.jsonl", NULL), *line = g_malloc(LINE_LIMIT);
    int64_t bad = 0;
    size_t n;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return errno == ENOENT || errno == ENOTDIR
                   ? fail_user(error, "%s is no run directory: it holds no metrics.jsonl", dir)
                   : fail_errno(error, "reading", path);
    while (next_line(file, line, &n)) {
        json_t *record = n <= LINE_LIMIT ? json_loadb(line, n, 0, NULL) : NULL;
        if (json_is_object(record))
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
