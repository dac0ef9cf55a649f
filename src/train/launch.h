/* launch.h: which ranks a run has: processes that a launcher started, threads of this process, or this one alone. */
#pragma once

#include "comm/comm.h"
#include "train/config/config.h"

/* *world: the group of this process. Of several processes it is that of MPI, opened once and kept until the process
 * ends; otherwise comm_self(), also where the ranks are to be threads (parallel.ranks). An error where parallel.ranks
 * is not what the launcher started, or the processes cannot reach each other. */
bool launch_world(const Config *config, Comm **world, GError **error);

/* Of several processes that a launcher started only rank 0 writes to standard error from now on. */
void launch_speak(void);
