/* log.h: messages on standard error and in a run's log.txt, and the progress bar. Thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define log_info(...)    log_line("", true, __VA_ARGS__)
#define log_warning(...) log_line("warning: ", true, __VA_ARGS__)
/* A line for the log file only, about something that standard error shows in another way. */
#define log_file_only(...) log_line("", false, __VA_ARGS__)
void log_line(const char *prefix, bool shown, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Appends every later line, after its date and time in UTC, to a file; NULL stops that. */
bool log_to_file(const char *path, GError **error);

/* The calling thread speaks for rank `rank` of several that train one model; with `process` all threads do that have
 * not said otherwise. Rank 0 is the default. Lines and progress bars of the other ranks are not shown, and log_to_file
 * opens a file of their own. */
void log_set_rank(int rank, bool process);
/* Whether the calling thread speaks for rank 0, whose lines are shown. */
bool log_speaks(void);

/* Whether a line was lost because standard error is a pipe that nobody reads any more. */
bool log_unread(void);

/* One progress bar on standard error, if that is a terminal that can clear a line (TERM is not "dumb"); redrawn at most
 * ten times a second, and again after each log line. `total` 0 means unknown: only the count and the rate are shown. */
void progress_open(const char *what, const char *unit, uint64_t total); /* unit "B" shows bytes */
void progress_update(uint64_t done);
void progress_note(const char *format, ...) G_GNUC_PRINTF(1, 2); /* text shown after the bar */
void progress_close(void);
