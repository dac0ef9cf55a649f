/* comm.h: collective operations between ranks that train one model together. A rank is a thread or a process with its
 * own device. A Comm is a group of ranks, as seen by one of its members (PyTorch: process group); comm_self() is a
 * group of one rank, for which every call returns at once and exchanges nothing.
 *
 * Collectives are called by all ranks of a group, in the same order, with tensors of one dtype and length. They are
 * asynchronous: a thread of the group executes them one after another, while the device computes. comm_wait orders the
 * two: operations that are queued on the device after it see the collective's result. Before comm_wait, the tensors of
 * a collective must not be used.
 *
 * Sums are added in the order of the ranks, f64 in f64 and every other dtype in f32, and are rounded once. So results
 * are bitwise the same in every run with the same number of ranks, with any backend, and an all-reduce gives the same
 * bits as a reduce-scatter followed by an all-gather.
 *
 * A group fails as a whole: after a lost rank, a timeout or comm_abort every later call returns at once and does not
 * change its tensors. The trainer calls comm_check once per step. */
#pragma once

#include "base/error.h"
#include "device/device.h"

typedef struct Comm Comm;

/* A queued collective, for comm_wait; 0 means that there is nothing to wait for. */
typedef uint64_t CommWork;

/* Statistics of this rank since the group was made. */
typedef struct CommCounts {
    int64_t calls, sent_bytes; /* number of collectives; bytes that this rank sent to other ranks */
    double busy_s;             /* seconds that the group's thread spent in collectives */
    double waited_s;           /* seconds that callers spent in comm_wait */
} CommCounts;

/* The group of one rank. It is never closed. */
Comm *comm_self(void);
/* Frees the group. Collectives must have been waited for. comm_self() and NULL are ignored. */
void comm_close(Comm *comm);
int comm_rank(const Comm *comm);         /* rank of the caller, 0 … size - 1 */
int comm_size(const Comm *comm);         /* ranks in the group */
const char *comm_name(const Comm *comm); /* name of the backend: "self", "thread", "mpi" */
CommCounts comm_counts(const Comm *comm);

/* Divides a group, like MPI_Comm_split: ranks with the same `color` form a new group, in the order of their ranks. All
 * ranks of `comm` call it. NULL if the group has failed. */
Comm *comm_split(Comm *comm, int color);

/* Where part `rank` begins if n elements are divided into `size` equal parts at multiples of 64 elements: part r is
 * [comm_start(n, size, r), comm_start(n, size, r + 1)). */
int64_t comm_start(int64_t n, int size, int rank);

/* Number of elements that a rank sends in an all-reduce of n elements: those of other ranks' parts, and the sum of its
 * own part to every other rank. */
int64_t comm_all_reduce_sends(int64_t n, int size, int rank);

/* x (n), a vector, becomes the sum of all ranks' x. */
CommWork comm_all_reduce(Comm *comm, Tensor x);
/* out = the sum of all ranks' x over the elements starts[rank] … starts[rank + 1] - 1. out may be that part of x; the
 * rest of x is unchanged. starts has size + 1 entries and is copied; NULL means the parts of comm_start. */
CommWork comm_reduce_scatter(Comm *comm, Tensor out, Tensor x, const int64_t *starts);
/* x = the concatenation of all ranks' `own`: elements starts[r] … starts[r + 1] - 1 come from rank r. own may be this
 * rank's part of x. */
CommWork comm_all_gather(Comm *comm, Tensor x, Tensor own, const int64_t *starts);
/* x of every rank becomes x of rank `root`. */
CommWork comm_broadcast(Comm *comm, Tensor x, int root);
/* Sends x to rank `to`, which calls comm_receive with a tensor of the same dtype and length and this rank as `from`.
 * Only these two ranks call them. */
CommWork comm_send(Comm *comm, Tensor x, int to);
CommWork comm_receive(Comm *comm, Tensor x, int from);

/* Makes the device wait for a collective: operations that are queued after this call see its result. */
void comm_wait(Comm *comm, CommWork work);

/* All-gather of a few bytes of the host, synchronous: all (size × bytes) = every rank's `own` (bytes), in the order of
 * the ranks. */
void comm_share(Comm *comm, void *all, const void *own, size_t bytes);
/* values[i] = the sum over the ranks, added in their order. */
void comm_sum(Comm *comm, double *values, int n);
/* The largest value that any rank has. */
int64_t comm_max(Comm *comm, int64_t value);
/* Returns when all ranks have called it. */
void comm_barrier(Comm *comm);
/* Whether `done` is true on all ranks. Otherwise every rank gets the error of the lowest rank for which it is false;
 * the message names that rank if it is a machine's error. A rank that passes false must have set *error, and error must
 * not be NULL. */
bool comm_agree(Comm *comm, bool done, GError **error);

/* False with a machine's error if the group has failed; the message says which rank failed, and why. */
bool comm_check(Comm *comm, GError **error);
/* The rank that did not answer within the timeout; -1 means that none was lost. */
int comm_lost(Comm *comm);
/* Makes the group fail on all ranks for the reason `why`; other ranks stop waiting. */
void comm_abort(Comm *comm, const char *why);

/* ---- ranks as threads of this process ---- */

/* The function of one rank: called in its own thread with the group of all ranks, which is closed afterwards. */
typedef void (*CommRankFn)(Comm *world, void *context);
/* Runs fn on `size` threads and returns when all have returned. If a rank does not reach a collective within timeout_s
 * seconds, the group fails; 0 means no limit. */
void comm_run_threads(int size, double timeout_s, CommRankFn fn, void *context);
