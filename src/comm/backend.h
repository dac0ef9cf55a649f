/* backend.h: the transport of a group of ranks (threads or MPI), as a table of blocking functions, which the group's
 * thread calls one at a time. A function that fails calls comm_fail and returns false. Groups of one rank have none. */
#pragma once

#include "comm/comm.h"
#include "comm/monitor.h"

typedef struct CommBackend {
    const char *name;          /* "thread" or "mpi" */
    void (*close)(Comm *comm); /* frees comm->impl */
    /* For comm_split: returns Comm.impl of a new group, whose members are the n >= 2 ranks `members` of `comm`. rank:
     * number of the calling rank in the new group. */
    void *(*split)(Comm *comm, const int *members, int n, int rank);
    /* The following functions execute the collectives of comm.h that have these names. */
    bool (*reduce_scatter)(Comm *comm, Tensor out, Tensor x, const int64_t *starts);
    bool (*all_gather)(Comm *comm, Tensor x, Tensor own, const int64_t *starts);
    bool (*all_to_all)(Comm *comm, Tensor x, const int64_t *starts, Tensor own, const int64_t *own_starts);
    bool (*send)(Comm *comm, Tensor x, int to);
    bool (*receive)(Comm *comm, Tensor x, int from);
    void (*abort)(Comm *comm, const char *why); /* ends all waiting, on all ranks; may be called from any thread */
    /* Whether another rank has called abort, so that the group has failed. Returns at once; any thread may call it. */
    bool (*gave_up)(Comm *comm);
} CommBackend;

typedef struct Job Job; /* queue.h */

/* The transport of tensors in memory of GPUs. The backend beside it then carries only numbers of the host. */
typedef struct CommGpu {
    const char *name;                              /* "nccl" */
    CommWork (*queue)(Comm *comm, const Job *job); /* queues a collective of comm.h */
    void (*wait)(Comm *comm, CommWork work);       /* does what comm_wait does */
    CommCall (*call)(Comm *comm);                  /* the oldest collective that has not ended */
    void (*abort)(Comm *comm);                     /* ends all waiting on this rank; may be called from any thread */
    void (*close)(Comm *comm);                     /* frees comm->on_gpu, and sets it and comm->gpu to NULL */
} CommGpu;

typedef struct CommQueue CommQueue; /* queue.h */

struct Comm {
    const CommBackend *backend; /* NULL means that the group has one rank */
    void *impl;                 /* private data of the backend */
    const CommGpu *gpu;         /* NULL means that tensors are in memory of the host */
    void *on_gpu;               /* private data of `gpu` */
    int rank, size;
    int *numbers;     /* (size) comm_number of each rank; NULL in a group of all ranks */
    double timeout_s; /* seconds to wait for other ranks; 0 means no limit */
    CommQueue *queue; /* queued collectives and the group's thread */
    Monitor monitor;  /* protects `failure`, `lost`, `counts` and `events` */
    char *failure;    /* reason of the first failure; NULL means that the group has not failed */
    int lost;         /* rank that did not answer in time; -1 means none */
    CommCounts counts;
    GArray *events; /* CommEvent; NULL means that none are kept */
};

/* Makes a group that uses a backend. The group owns `impl`. */
Comm *comm_new(const CommBackend *backend, void *impl, int rank, int size, double timeout_s);
/* Marks the group as failed, for the reason that the printf-style message gives; only the first reason is kept. lost:
 * the rank that did not answer in time; -1 means none. Returns false. */
bool comm_fail(Comm *comm, int lost, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Whether the group has failed. */
bool comm_failed(Comm *comm);

/* sum.c: out (n) = from[0] + from[1] + … + from[ranks - 1], added in this order: in f64 for f64, in f32 for every other
 * dtype, and rounded once. All arrays have n elements of `dtype`; out may be one of the addends. */
void sum_in_order(void *out, const void *const *from, int ranks, int64_t n, DType dtype);
