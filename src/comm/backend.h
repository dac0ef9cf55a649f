/* backend.h: what carries the bytes of a group: a table of blocking functions, which the thread of the group calls one
 * at a time. Each returns false after comm_fail. Only groups of two ranks and more have a backend. */
#pragma once

#include "comm/comm.h"
#include "comm/monitor.h"

typedef struct CommBackend {
    const char *name;
    void (*close)(Comm *comm); /* frees comm->impl */
    /* The rest of comm_split for this rank: the new group of the `n` ranks `members` of `comm`, among which it has
     * number `rank`. n is at least 2. */
    void *(*split)(Comm *comm, const int *members, int n, int rank);
    bool (*reduce_scatter)(Comm *comm, Tensor out, Tensor x, const int64_t *starts);
    bool (*all_gather)(Comm *comm, Tensor x, Tensor own, const int64_t *starts);
    bool (*broadcast)(Comm *comm, Tensor x, int root);
    bool (*send)(Comm *comm, Tensor x, int to);
    bool (*receive)(Comm *comm, Tensor x, int from);
    void (*abort)(Comm *comm, const char *why); /* from any thread: wakes whoever waits, on all ranks */
} CommBackend;

typedef struct CommQueue CommQueue; /* queue.h */

struct Comm {
    const CommBackend *backend; /* NULL means one rank */
    void *impl;                 /* data of the backend's own */
    int rank, size;
    double timeout_s; /* 0 means no limit */
    CommQueue *queue;
    Monitor monitor; /* guards `failure`, `lost` and `counts` */
    char *failure;   /* the reason of the first failure; NULL means none */
    int lost;        /* rank that did not answer; -1 means none */
    CommCounts counts;
};

/* A group over a backend; it owns impl. */
Comm *comm_new(const CommBackend *backend, void *impl, int rank, int size, double timeout_s);
/* Keeps the first reason why the group failed. lost: the rank that did not answer; -1 means none. Returns false. */
bool comm_fail(Comm *comm, int lost, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Whether the group has failed. */
bool comm_failed(Comm *comm);
