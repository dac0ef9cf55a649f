/* launch.h: finds out which ranks a run has: processes that a launcher such as mpirun started, threads of this process,
 * or a single rank. */
#pragma once

#include "comm/comm.h"
#include "run/config/config.h"

/* *world becomes the group of ranks that this process belongs to. If a launcher started several processes, it is MPI's
 * group, opened once and kept until the process ends; otherwise comm_self(), even if parallel.ranks asks for threads.
 * It is an error if parallel.ranks contradicts the launcher, or if the processes cannot reach each other. */
bool launch_world(const Config *config, Comm **world, GError **error);

/* Number of ranks that are threads of this process if no launcher started several processes: parallel.ranks. If a
 * launcher started this one process, the number that a run was saved with does not count: it is 1 unless the user set
 * parallel.ranks for this command. */
int launch_thread_ranks(const Config *config);

/* Tells the processes of a launcher whether each has loaded its configuration; loaded false: *error is set. If one has
 * not, all fail with the error of the lowest rank that has not, since only rank 0 writes to the terminal. Without a
 * launcher it returns `loaded`. */
bool launch_agree(const Config *config, bool loaded, GError **error);

/* Called by a rank that is a thread of this process, before it opens a device: restricts it to its share of the cores
 * (cores_take), and makes the number of these cores OpenMP's number of threads, unless OMP_NUM_THREADS is set. If
 * cores_take leaves the cores as they are, that number is an equal share of OpenMP's threads, at least one. A device
 * that is opened with train.threads uses that number instead. */
void launch_place(const Comm *ranks);

/* What a rank does; an error of one rank ends the command. */
typedef bool (*LaunchFn)(Comm *ranks, const void *context, GError **error);
/* Calls fn on parallel.ranks threads of this process, each with its share of the cores. The error is that of the lowest
 * rank that has one. */
bool launch_threads(const Config *config, LaunchFn fn, const void *context, GError **error);
/* Calls fn on every rank of launch_world, or as launch_threads does if no launcher started several processes and
 * launch_thread_ranks is above 1. */
bool launch_ranks(const Config *config, LaunchFn fn, const void *context, GError **error);

/* After this call, if a launcher started several processes, only rank 0 writes to standard error. */
void launch_speak(void);
