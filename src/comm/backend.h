/* backend.h: the transport of a group (threads, MPI): a table of blocking functions, which the group's thread calls one
 * at a time. Each calls comm_fail and returns false on failure. Only groups of two or more ranks have a backend. */
#pragma once

#include "comm/comm.h"
#include "comm/monitor.h"

typedef struct CommBackend {
    const char *name;
    void (*close)(Comm *comm); /* frees comm->impl */
    /* For comm_split: returns the `impl` of the new group, which has the n >= 2 ranks `members` of `comm`; this rank
     * has the number `rank` in it. */
    void *(*split)(Comm *comm, const int *members, int n, int rank);
    bool (*reduce_scatter)(Comm *comm, Tensor out, Tensor x, const int64_t *starts);
    bool (*all_gather)(Comm *comm, Tensor x, Tensor own, const int64_t *starts);
    bool (*broadcast)(Comm *comm, Tensor x, int root);
    bool (*send)(Comm *comm, Tensor x, int to);
    bool (*receive)(Comm *comm, Tensor x, int from);
    void (*abort)(Comm *comm, const char *why); /* may be called from any thread: ends all waiting, on all ranks */
} CommBackend;

typedef struct CommQueue CommQueue; /* queue.h */

struct Comm {
    const CommBackend *backend; /* NULL means one rank */
    void *impl;                 /* private data of the backend */
    int rank, size;
    double timeout_s; /* 0 means no limit */
    CommQueue *queue;
    Monitor monitor; /* protects `failure`, `lost` and `counts` */
    char *failure;   /* the reason of the first failure; NULL means none */
    int lost;        /* rank that did not answer; -1 means none */
    CommCounts counts;
};

/* A new group that uses a backend; it owns impl. */
Comm *comm_new(const CommBackend *backend, void *impl, int rank, int size, double timeout_s);
/* Marks the group as failed; only the first reason is kept. lost: the rank that did not answer; -1 means none. Returns
 * false. */
bool comm_fail(Comm *comm, int lost, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Whether the group has failed. */
bool comm_failed(Comm *comm);
