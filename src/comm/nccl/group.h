/* group.h: the communicator of a group of ranks with GPUs, and the thread that watches it. A collective of NCCL waits
 * for other ranks without limit: the watch thread ends it with ncclCommAbort if NCCL reports an error, if another rank
 * has given up, or if the collective takes longer than the timeout. */
#pragma once

#include "comm/nccl/api.h"
#include "comm/queue.h"
#include "device/cuda/cuda.h"

enum { NCCL_WATCHED = 256 }; /* most collectives that are watched at once */

/* A collective that was queued. */
typedef struct NcclPending {
    DeviceEvent event; /* event of the lane, recorded after the collective */
    JobKind kind;
    double since; /* clock_seconds() when it was queued */
} NcclPending;

typedef struct NcclGroup {
    Comm *comm;
    Device *dev;  /* the rank's GPU */
    Device *lane; /* a queue of this GPU beside that of its operations, for the group's collectives and their sums */
    const NcclLibrary *library;
    void *received;  /* (ranks, piece) f32: parts of other ranks, for a sum; NULL means that the group has no sums */
    void *partial;   /* (piece) f32: the sum of the addends that were added so far */
    int64_t piece;   /* number of elements that are summed at a time; of f64 half as many */
    Comm *present;   /* the same ranks: the group by which watch threads find out who no longer answers */
    GThread *thread; /* the watch thread */
    Monitor monitor; /* protects the fields below; a thread that calls NCCL holds it */
    NcclComm *nccl;  /* NULL means that there is none, or that it was aborted */
    NcclPending pending[NCCL_WATCHED]; /* collective number n is pending[n % NCCL_WATCHED] */
    uint64_t added, done;              /* number of collectives that were queued, and that have ended */
    bool stop;
} NcclGroup;

/* Opens libnccl.so.2, or the file that LOAM_NCCL names, once. NULL with a machine's error if there is no library, or
 * one older than NCCL_OLDEST or of another major version. */
const NcclLibrary *nccl_library(GError **error);

NcclGroup *nccl_group_new(Comm *comm, Device *dev);
/* Starts the watch thread; all ranks call it. It is a machine's error if a rank does not answer. */
bool nccl_group_start(NcclGroup *group, GError **error);
/* Ends the watch thread. */
void nccl_group_stop(NcclGroup *group);
/* Frees what nccl_group_new and nccl_group_start have made. */
void nccl_group_free(NcclGroup *group);
/* Lets the watch thread watch a collective that ends before `event` of the lane. */
void nccl_group_watch(NcclGroup *group, DeviceEvent event, JobKind kind);
/* The oldest collective that has not ended. */
CommCall nccl_group_call(Comm *comm);
/* Makes the group fail on all ranks, for an error of NCCL. Returns false. */
bool nccl_group_fail(NcclGroup *group, int result);
/* Ends what this rank waits for. */
void nccl_group_abort(NcclGroup *group);
/* The timeout has passed: finds the rank that does not answer, and makes the group fail. Returns false. */
bool nccl_group_late(NcclGroup *group);
