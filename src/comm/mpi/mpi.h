/* mpi.h: ranks as processes, started by mpirun or srun, that communicate through an MPI library. */
#pragma once

#include "comm/comm.h"

/* The group of all processes of this MPI job. Opens loam-mpi.so, which is beside the program or in ../lib/loam; to be
 * called once per process. size: number of ranks that the launcher gave (launch.h); 0 means unknown. Fails if
 * loam-mpi.so is missing, MPI does not start, or MPI has another number of ranks than `size`. timeout_s: seconds to
 * wait for other ranks; 0 means no limit. */
Comm *comm_open_mpi(int size, double timeout_s, GError **error);
/* The MPI library that loam-mpi.so was linked with, such as "Open MPI v4.1.4"; NULL with an error if there is none. */
const char *comm_mpi_name(GError **error);
