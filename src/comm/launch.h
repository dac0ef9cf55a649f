/* launch.h: finds the rank of this process and the number of ranks, from the environment variables of the launcher
 * (mpirun, srun, torchrun). */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* What the launcher says about this process. */
typedef struct CommLaunch {
    const char *launcher; /* "Open MPI", "Slurm"; NULL means that no launcher started this process */
    int rank, size; /* rank of this process, number of processes; size 0 means that the launcher gives only the rank */
    int local_rank; /* rank within the processes of this host; -1 means unknown */
    int local_size; /* number of processes on this host; 0 means unknown */
} CommLaunch;

/* Looks for the variables of Open MPI, torchrun, PMIx, MPICH and Slurm, in this order, and returns the values of the
 * first launcher whose variables are set. Slurm's variables are used only in a job step of several tasks, since the
 * shell of a batch script has SLURM_PROCID=0 too. */
CommLaunch comm_launch(void);
/* Whether an mpirun started this process (Open MPI's or MPICH's), which then gave all processes one command line as a
 * rule. srun and the makers of torchrun's variables also start processes that do work of their own. */
bool comm_launch_is_mpirun(const CommLaunch *launch);
/* Fails (a user's error) if the variables contradict each other: a rank that is not below the number of processes, or a
 * RANK or WORLD_SIZE, as torchrun sets them, that differs from the rank or the number of processes of Open MPI. */
bool comm_launch_check(GError **error);
