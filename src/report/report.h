/* report.h: a report of one or several runs as one HTML page that needs nothing else: curves, events, scores, what was
 * planned and what was measured, options, machine. docs/report.md shows one. */
#pragma once

#include "report/series.h"

enum { REPORT_RUNS = 16 }; /* most runs of a report */

/* Writes the page for n runs (1 … REPORT_RUNS), atomically. Of a run that has not started, that is training, or whose
 * files are damaged, the page shows what there is. Fails if a file cannot be read, or PATH exists and is no report. */
bool report_write(const char *path, char *const *dirs, int n, SeriesAxis axis, GError **error);
