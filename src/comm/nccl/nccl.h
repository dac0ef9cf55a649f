/* nccl.h: NVIDIA's library of collectives between GPUs, libnccl.so.2, which is opened at run time. */
#pragma once

#include "comm/comm.h"

/* The version of the NCCL library that is found, such as "2.28.9"; g_free. NULL with an error if there is none. The
 * environment variable LOAM_NCCL names another file than libnccl.so.2. */
char *comm_nccl_version(GError **error);
/* From now on the group's collectives are of tensors in memory of `dev`, a GPU that no other rank uses, and comm_wait
 * orders queues of the GPU: the host does not wait. Numbers of the host (comm_share, comm_sum, …) still go over the
 * group's backend. All ranks of the group call it. comm_leave_gpu comes before `dev` is closed.
 * sums: whether the group will sum (comm_all_reduce, comm_reduce_scatter); then it takes memory for this at once, at
 * most 24 MiB of up to 64 ranks and a 128th of the GPU's free memory.
 * It is a machine's error if there is no NCCL, if it does not start, or if the GPU lacks that memory. Does nothing for
 * a group of one rank. */
bool comm_use_gpu(Comm *comm, Device *dev, bool sums, GError **error);
