/* log.h: writes messages to standard error and to the log file of a run, and shows a progress bar. Thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define log_info(...)    log_line("", true, __VA_ARGS__)
#define log_warning(...) log_line("warning: ", true, __VA_ARGS__)
/* Writes a line only to the log file, for something that standard error shows in another way. */
#define log_file_only(...) log_line("", false, __VA_ARGS__)
/* Writes a line to standard error, if `shown`, and to the log file. prefix: "" or "warning: ". */
void log_line(const char *prefix, bool shown, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* From now on also appends each line, after its date and time in UTC, to the log file `path`; NULL ends this. */
bool log_to_file(const char *path, GError **error);

/* Says which of the ranks that train one model the lines of a thread come from. process false: the calling thread
 * belongs to rank `rank`. process true: so do all threads of the process for which this was not called with false. The
 * default is rank 0. Lines and progress bars of other ranks are not shown, and each of these ranks has a log file of
 * its own. */
void log_set_rank(int rank, bool process);
/* Whether the calling thread belongs to rank 0, whose lines are shown. */
bool log_speaks(void);

/* Whether a line was lost because standard error is a pipe that no process reads any more. */
bool log_unread(void);

/* Columns of the terminal behind a descriptor; 0 means that it is none. */
int log_columns(int descriptor);

/* Shows a progress bar on standard error, if this is a terminal that can clear a line (TERM is not "dumb"). There is
 * one bar at a time; it is redrawn at most ten times a second, and after each log line. total: the final count; 0 means
 * unknown: then only the count and the rate are shown. */
void progress_open(const char *what, const char *unit, uint64_t total); /* unit "B" means bytes */
void progress_update(uint64_t done);
void progress_note(const char *format, ...) G_GNUC_PRINTF(1, 2); /* text shown after the bar */
void progress_close(void);
