/* metric_lines.h: reads the records of a run's metrics.jsonl. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Opens a metrics.jsonl; *file becomes NULL if there is none. A folder, a device or a FIFO, whose opening could wait
 * without end, is an error. */
bool metric_lines_open(FILE **file, const char *path, GError **error);
/* Parses one line, with or without its end. NULL means that it is no JSON object. Also takes what other programs write:
 * NaN and Infinity, as Python does, become null, a "step" of 12.0, as pandas does, becomes 12, and a byte order mark is
 * ignored. json_decref. */
json_t *metric_record(const char *line, size_t bytes);
/* Takes one record, which is freed afterwards. */
typedef void (*MetricLineFn)(json_t *record, void *context);
/* Calls `take` for each line of DIR/metrics.jsonl that is a JSON object, in the order of the file. Other lines, lines
 * of more than 64 KiB and an incomplete last line are skipped; *skipped becomes the number of skipped lines, an
 * incomplete last line not counted; skipped may be NULL. Fails if the file cannot be read. */
bool metric_lines_read(const char *dir, MetricLineFn take, void *context, int64_t *skipped, GError **error);
/* The number of this name in a record; NAN if it has none. */
double metric_number(const json_t *record, const char *name);
/* The text of this name in a record; "" if it has none. */
const char *metric_text(const json_t *record, const char *name);
/* The "step" of a record; -1 if it has none. */
int64_t metric_step(const json_t *record);
