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
    const char *variable; /* the environment variable that has the rank */
} CommLaunch;

/* Looks for the variables of Open MPI, torchrun, PMIx, MPICH and Slurm, in this order, and returns the values of the
 * first launcher whose variables are set. Slurm's variables are used only in a job step of several tasks, since the
 * shell of a batch script has SLURM_PROCID=0 too. */
CommLaunch comm_launch(void);
/* Whether an mpirun started this process (Open MPI's or MPICH's), which then gave all processes one command line as a
 * rule. srun and the makers of torchrun's variables also start processes that do work of their own. */
bool comm_launch_is_mpirun(const CommLaunch *launch);
/* Removes from an environment (g_get_environ) the variables by which launchers tell a process its rank and how to reach
 * the others, so that a program started with it is no rank, and may start ranks. Settings of users (OMPI_MCA_btl, …)
 * and those of a Slurm job (SLURM_JOB_ID, …) stay. Returns `env`, which it may have reallocated. */
char **comm_launch_forget(char **env);
/* Whether the parent of this process is a launcher: it is not if the launcher started a script that started loam. */
bool comm_launch_is_parent(void);
/* Fails (a user's error) if the variables contradict each other: a rank that is not below the number of processes, or a
 * RANK or WORLD_SIZE, as torchrun sets them, that differs from the rank or the number of processes of Open MPI. */
bool comm_launch_check(GError **error);
