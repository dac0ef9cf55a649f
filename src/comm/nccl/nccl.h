/* nccl.h: NVIDIA's library of collectives between GPUs, libnccl.so.2, which is opened at run time. */
#pragma once

#include "comm/comm.h"

/* The version of the NCCL library that is found, such as "2.28.9"; g_free. NULL with an error if there is none. The
 * environment variable LOAM_NCCL names another file than libnccl.so.2. */
char *comm_nccl_version(GError **error);
