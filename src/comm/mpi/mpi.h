/* mpi.h: ranks that are processes, started by mpirun or srun, which exchange messages through an MPI library. */
#pragma once

#include "comm/comm.h"

/* The group of all processes of this MPI job. Opens loam-mpi.so, which lies beside the program or in ../lib/loam. An
 * error where there is no such file, MPI does not start, or MPI knows another number of ranks than `size`, which the
 * launcher told; 0 means that it told none. Once a process. */
Comm *comm_open_mpi(int size, double timeout_s, GError **error);
/* The MPI library that loam-mpi.so was linked with, such as "Open MPI v4.1.4"; NULL with a reason where there is none.
 */
const char *comm_mpi_name(GError **error);
