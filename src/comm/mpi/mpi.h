/* mpi.h: ranks as processes, started by mpirun or srun, that communicate through an MPI library. */
#pragma once

#include "comm/comm.h"

/* Opens loam-mpi.so, which lies beside the program or in ../lib/loam, starts MPI and returns the group of all processes
 * of the MPI job. To be called once per process. size: number of ranks according to the launcher (launch.h); 0 means
 * unknown. Fails if loam-mpi.so is missing, if MPI does not start, or if MPI has another number of ranks than `size`.
 * timeout_s: seconds to wait for other ranks; 0 means no limit. */
Comm *comm_open_mpi(int size, double timeout_s, GError **error);
/* The MPI library that loam-mpi.so is linked with, "Open MPI v4.1.4"; NULL with an error if it cannot be opened. */
const char *comm_mpi_name(GError **error);
