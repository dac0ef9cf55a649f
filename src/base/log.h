/* log.h: the talk of the program, on standard error (and in a run's log.txt), and the progress bar. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

void log_info(const char *format, ...) G_GNUC_PRINTF(1, 2);
void log_warning(const char *format, ...) G_GNUC_PRINTF(1, 2); /* "warning: …" */
/* A line for the file of log_to_file alone: what standard error is told by other means. */
void log_file_only(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Copies every line, with the time before it, to the end of a file from now on; NULL stops. */
bool log_to_file(const char *path, GError **error);

/* Standard error is a pipe whose reader is gone, and a line was lost. */
bool log_unread(void);

/* A progress bar on standard error, only where that is a terminal that can clear a line (TERM is not dumb); redrawn at
 * most ten times a second. Log lines pass it without tearing. One bar at a time. `total` 0: unknown, only the count and
 * the rate are shown. */
void progress_open(const char *what, const char *unit, uint64_t total); /* unit "B" prints bytes */
void progress_update(uint64_t done);
void progress_note(const char *format, ...) G_GNUC_PRINTF(1, 2); /* text shown after the bar */
void progress_close(void);
