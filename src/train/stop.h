/* stop.h: requests to stop: Ctrl-C (SIGINT), SIGTERM, SIGUSR1 (Slurm), SIGHUP (the terminal was closed; ignored under
 * nohup) and SIGPIPE (nobody reads standard error any more). With one rank the trainer checks for them between
 * microbatches, with several after each step. A request is acknowledged in the log at once; a second SIGINT ends the
 * program, or the hooks if the run only waits for these. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Blocks these signals and starts a thread that waits for them. To be called before other threads start, since threads
 * inherit the blocked signals. */
void stop_catch_signals(void);
bool stop_requested(void);
/* While a run that has trained waits for its hooks there is no step to end and nothing to save: the acknowledgement of
 * a request says so. */
void stop_waits_for_hooks(bool waits);
/* Whether there was a second SIGINT while the run waited for its hooks: they are to be ended. */
bool stop_hurries(void);
