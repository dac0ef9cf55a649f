/* stop.h: requests to stop, noticed between microbatches: Ctrl-C (SIGINT), SIGTERM, SIGUSR1 (Slurm), SIGHUP (a lost
 * terminal; not under nohup) and SIGPIPE (standard error is a pipe that nobody reads any more). A request is answered
 * in the log at once; a second SIGINT ends the program. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* To be called before there are threads, which inherit what is blocked. */
void stop_catch_signals(void);
bool stop_requested(void);
/* Sets LOAM_ERROR_STOPPED and returns false. */
bool fail_stopped(GError **error);
