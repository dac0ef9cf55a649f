/* script.h: the text of a submit script for Slurm. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* The resources that a Slurm job requests, and the command that it runs. */
typedef struct SlurmJob {
    const char *name, *nodes; /* nodes: "4", or "2-4" for any number between */
    int ranks, cores,
        gpus;        /* processes per node; cores per process, 0 means all of the node; GPUs per node, 0 means none */
    int64_t seconds; /* longest time of the job */
    const char *time_source;                  /* where the time comes from, for a comment; NULL means from the user */
    int notice;                               /* seconds before the end of its time at which the job is asked to save */
    const char *partition, *account, *memory; /* NULL means the cluster's default */
    const char *array;      /* "1-10%1": one job after another; NULL means one job that requeues itself */
    gboolean once;          /* a stopped job is not put back into the queue */
    bool alone;             /* one process in all, which needs no MPI */
    const char *mpi;        /* for srun --mpi */
    char **lines, **before; /* more #SBATCH options; commands before srun; NULL means none */
    const char *folder, *run,
        *stop_file;    /* where the job starts; the run's directory; train.stop_file, "" means none */
    int64_t stop_date; /* of train.stop_date, in Unix seconds; 0 means none */
    const char *loam, *config;
    char **overrides; /* group.key=value …; ends with NULL */
} SlurmJob;

/* The script. g_free. Fails if a path cannot be written in a script, or if an
 * option in `lines` contradicts the rest of it. */
char *slurm_script(const SlurmJob *job, GError **error);
