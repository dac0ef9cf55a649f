/* comm.h: ranks that train one model together, and what they exchange. A rank is a thread or a process with a device of
 * its own. A Comm is one group of ranks as one of its members sees it; comm_self() is the group of one rank, for which
 * every call returns at once and nothing is exchanged.
 *
 * Collectives are called by all ranks of a group, in the same order, with tensors of one dtype and length. They are
 * queued: a thread of the group does them one after another, beside the operations of the device. comm_wait orders the
 * two: what is queued on the device after it sees the result, and only then may the tensors be touched again.
 *
 * Sums are added in the order of the ranks, f64 in f64 and every other dtype in f32, and are rounded once. So a group
 * of the same size gives the same bits on every run, whichever backend carries them, and an all-reduce gives the bits
 * of a reduce-scatter followed by an all-gather.
 *
 * A group fails as a whole: after a lost rank, a timeout or comm_abort every later call returns at once and leaves its
 * tensors as they are. The trainer asks comm_check once a step. */
#pragma once

#include "base/error.h"
#include "device/device.h"

typedef struct Comm Comm;

/* A queued collective, for comm_wait; 0 means that there is nothing to wait for. */
typedef uint64_t CommWork;

/* What this rank exchanged since the group was made. */
typedef struct CommCounts {
    int64_t calls, sent_bytes; /* collectives, and bytes that this rank sent to others */
    double busy_s;             /* seconds that the group's thread spent in collectives */
    double waited_s;           /* seconds that callers spent in comm_wait */
} CommCounts;

/* The group of one rank. It is never closed. */
Comm *comm_self(void);
/* Frees the group. Collectives must have been waited for. comm_self() and NULL are ignored. */
void comm_close(Comm *comm);
int comm_rank(const Comm *comm);         /* of the caller, 0 … size - 1 */
int comm_size(const Comm *comm);         /* ranks in the group */
const char *comm_name(const Comm *comm); /* of the backend: "self", "thread", "mpi" */
CommCounts comm_counts(const Comm *comm);

/* Divides a group: ranks with the same `color` make up a new group, in the order of their ranks. All ranks of `comm`
 * call it. NULL where the group has failed. */
Comm *comm_split(Comm *comm, int color);

/* Part r of n elements is [comm_start(n, size, r), comm_start(n, size, r + 1)): equal parts, cut at multiples of 64
 * elements. */
int64_t comm_start(int64_t n, int size, int rank);

/* x (n), a vector, becomes the sum of all ranks' x. */
CommWork comm_all_reduce(Comm *comm, Tensor x);
/* out = the sum of all ranks' x over the elements starts[rank] … starts[rank + 1] - 1. out may be that part of x;
 * the rest of x is left as it is. starts has size + 1 entries and is copied; NULL means the parts of comm_start. */
CommWork comm_reduce_scatter(Comm *comm, Tensor out, Tensor x, const int64_t *starts);
/* x = the ranks' `own`, one after another: elements starts[r] … starts[r + 1] - 1 come from rank r. own may be its part
 * of x. */
CommWork comm_all_gather(Comm *comm, Tensor x, Tensor own, const int64_t *starts);
/* x = x of rank `root`. */
CommWork comm_broadcast(Comm *comm, Tensor x, int root);
/* One rank sends x, rank `from` of its view receives a tensor of that size. Only these two call it. */
CommWork comm_send(Comm *comm, Tensor x, int to);
CommWork comm_receive(Comm *comm, Tensor x, int from);

/* Orders the device's work behind a collective: operations that are queued from here on see its result. */
void comm_wait(Comm *comm, CommWork work);

/* Small numbers of the host, with a wait. all (size × bytes) = every rank's `own` (bytes), in the order of the ranks.
 */
void comm_share(Comm *comm, void *all, const void *own, size_t bytes);
/* values[i] = the sum over the ranks, added in their order. */
void comm_sum(Comm *comm, double *values, int n);
/* The largest value that any rank has. */
int64_t comm_max(Comm *comm, int64_t value);
/* Returns when all ranks have called it. */
void comm_barrier(Comm *comm);
/* Whether all ranks are `done`. Else an error on every rank: that of the lowest rank that is not done, which is named
 * if the machine is the reason. A rank that is not done has set *error, and must not pass NULL. */
bool comm_agree(Comm *comm, bool done, GError **error);

/* false with an error of the machine if the group has failed: which rank, and why. */
bool comm_check(Comm *comm, GError **error);
/* The rank that did not answer within the timeout; -1 means that none was lost. */
int comm_lost(Comm *comm);
/* Makes the group fail on all ranks, for the reason `why`: what the other ranks wait for ends. */
void comm_abort(Comm *comm, const char *why);

/* Ranks as threads of this process. */

/* What one rank does: called in a thread of its own, with the group of all ranks, which is closed afterwards. */
typedef void (*CommRankFn)(Comm *world, void *context);
/* Runs fn on `size` threads and returns when all have returned. A collective that some rank does not reach within
 * timeout_s fails the group; 0 means no limit. */
void comm_run_threads(int size, double timeout_s, CommRankFn fn, void *context);
