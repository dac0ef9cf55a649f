/* metric_lines.h: reads the records of a run's metrics.jsonl. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Takes one record, which is freed afterwards. */
typedef void (*MetricLineFn)(json_t *record, void *context);
/* Calls `take` for each line of DIR/metrics.jsonl that is a JSON object, in the order of the file. Other lines, lines
 * of more than 64 KiB and an incomplete last line are skipped; *skipped becomes the number of them without that last
 * one, and may be NULL. Fails if the file cannot be read. */
bool metric_lines_read(const char *dir, MetricLineFn take, void *context, int64_t *skipped, GError **error);
/* The number of this name in a record; NAN if it has none. */
double metric_number(const json_t *record, const char *name);
/* The text of this name in a record; "" if it has none. */
const char *metric_text(const json_t *record, const char *name);
/* The "step" of a record; -1 if it has none. */
int64_t metric_step(const json_t *record);
