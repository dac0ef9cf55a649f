/* launch.h: what a launcher (mpirun, srun, torchrun) told this process about itself, by environment variables. */
#pragma once

#include <stdbool.h>

typedef struct CommLaunch {
    const char *launcher; /* "Open MPI", "Slurm"; NULL means that no launcher started this process */
    int rank, size;       /* of this process; size 0 means that the launcher tells the rank only */
    int local_rank;       /* rank among the processes of this host; -1 means unknown */
    int local_size;       /* processes of this host; 0 means unknown */
} CommLaunch;

/* Reads torchrun's variables, Open MPI's, PMIx's, MPICH's, then Slurm's, which count only inside a step of several
 * tasks: the shell of a batch script has SLURM_PROCID=0, too. */
CommLaunch comm_launch(void);
