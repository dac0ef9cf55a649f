/* launch.h: finds out a run's ranks: processes of a launcher such as mpirun, threads of this process, or one rank. */
#pragma once

#include "run/config/config.h"

/* Tells the processes of a launcher whether each has loaded its configuration; loaded false: *error is set. If one has
 * not, all fail with the error of the lowest rank that has not, since only rank 0 writes to the terminal. All fail,
 * too, if their switches differ: the options with -- that decide what the command does, "--seeds 2". Without a launcher
 * it returns `loaded`. */
bool launch_agree(const Config *config, const char *switches, bool loaded, GError **error);

/* What a rank does; an error of one rank ends the command. */
typedef bool (*LaunchFn)(Comm *ranks, const void *context, GError **error);
/* Calls fn on every rank: on the processes that a launcher started, in MPI's group; else on parallel.ranks threads of
 * this process, each with its share of the cores, if there are several; else on comm_self(). The error is the lowest
 * failed rank's. It is an error if parallel.ranks contradicts the launcher, or if processes cannot reach each other. */
bool launch_ranks(const Config *config, LaunchFn fn, const void *context, GError **error);

/* After this call, if a launcher started several processes, only rank 0 writes to standard error. */
void launch_speak(void);
