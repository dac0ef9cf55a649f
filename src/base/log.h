/* log.h: messages on standard error and in a run's log.txt, and the progress bar. Thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define log_info(...)    log_line("", true, __VA_ARGS__)
#define log_warning(...) log_line("warning: ", true, __VA_ARGS__)
/* Writes a line to the log file only, about something that standard error shows in another way. */
#define log_file_only(...) log_line("", false, __VA_ARGS__)
/* prefix: "" or "warning: ". shown: false means that standard error does not get the line. */
void log_line(const char *prefix, bool shown, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Appends every later line, after its date and time in UTC, to a file; NULL stops that. */
bool log_to_file(const char *path, GError **error);

/* Log lines of the calling thread are those of rank `rank`, one of several that train one model; with `process` true,
 * also those of all threads that have not called this. The default is rank 0. Lines and progress bars of other ranks
 * are not shown, and log_to_file opens a separate file for each. */
void log_set_rank(int rank, bool process);
/* Whether the calling thread is of rank 0, whose lines are shown. */
bool log_speaks(void);

/* Whether a line was lost because standard error is a pipe whose reader has ended. */
bool log_unread(void);

/* One progress bar on standard error, if that is a terminal that can clear a line (TERM is not "dumb"); it is redrawn
 * at most ten times a second, and after each log line. `total` 0 means unknown: the bar shows only the count and the
 * rate. */
void progress_open(const char *what, const char *unit, uint64_t total); /* unit "B" shows bytes */
void progress_update(uint64_t done);
void progress_note(const char *format, ...) G_GNUC_PRINTF(1, 2); /* text shown after the bar */
void progress_close(void);
