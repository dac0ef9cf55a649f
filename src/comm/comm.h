/* comm.h: collective operations between ranks that train one model together. A rank is a thread or a process with its
 * own device. A Comm is a group of ranks (in PyTorch: process group), as one of its members sees it. comm_self() is a
 * group of one rank, for which every call returns at once and exchanges nothing.
 *
 * All ranks of a group call the same collectives in the same order, with tensors of one dtype and of lengths that fit
 * each other. comm_send and comm_receive are called by two ranks only. Collectives are asynchronous: a thread of the
 * group executes them one after another, while the device computes. Operations that are queued on the device after
 * comm_wait see the result of the collective. Before comm_wait, the tensors of a collective must not be used.
 *
 * Sums over ranks are added in the order of the ranks, in f64 for f64 and in f32 for every other dtype, and are rounded
 * once. So results are bitwise the same in every run with the same number of ranks and with any backend, and an
 * all-reduce gives the same bits as a reduce-scatter followed by an all-gather.
 *
 * A group fails as a whole: after the loss of a rank, a timeout or comm_abort, every later call on every rank returns
 * at once and does not change its tensors. The trainer calls comm_check once per step. */
#pragma once

#include "base/error.h"
#include "device/device.h"

typedef struct Comm Comm;

/* Identifies a queued collective for comm_wait; 0 means that there is nothing to wait for. */
typedef uint64_t CommWork;

/* Statistics of the calling rank since the group was made. */
typedef struct CommCounts {
    int64_t calls, sent_bytes; /* number of collectives; bytes that the rank has sent to other ranks */
    double busy_s;             /* seconds that the group's thread has spent in collectives */
    double waited_s;           /* seconds that callers have spent in comm_wait */
} CommCounts;

/* A collective that the group's thread has executed. */
typedef struct CommEvent {
    int64_t kind;          /* index into comm_event_names */
    int64_t bytes;         /* bytes that this rank sent to other ranks */
    double start, seconds; /* begin, in seconds of clock_seconds(), and duration */
} CommEvent;
extern const char *const comm_event_names[]; /* "all-reduce", "reduce-scatter", … */

/* The collective that a thread of this rank waits for. */
typedef struct CommCall {
    const char *name; /* "all-reduce"; NULL means that no thread waits */
    double since;     /* clock_seconds() when the wait began; with NCCL, when the collective was queued */
} CommCall;

/* The group of one rank. It is never closed. */
Comm *comm_self(void);
/* Ends comm_use_gpu (comm/nccl/nccl.h), by which collectives are of GPU memory. Called before the device is closed. */
void comm_leave_gpu(Comm *comm);
/* Frees a group, all of whose collectives have been waited for. comm_self() and NULL are ignored. */
void comm_close(Comm *comm);
int comm_rank(const Comm *comm);         /* rank of the caller in the group, 0 … size - 1 */
int comm_size(const Comm *comm);         /* number of ranks in the group */
const char *comm_name(const Comm *comm); /* name of the backend: "self", "thread", "mpi", "nccl" */
bool comm_of_threads(const Comm *comm);  /* whether the ranks are threads of one process */
CommCounts comm_counts(const Comm *comm);
/* Keeps an event of every collective from now on, for a trace. Call it while no collective is queued. */
void comm_record(Comm *comm);
/* Ends comm_record and returns the events in their order (CommEvent). Call it while no collective is queued. */
GArray *comm_recorded(Comm *comm);

/* The oldest collective of the group that has not ended, for a report of what a rank waits for. Without NCCL there is
 * one only while a thread waits, in comm_wait or in a function such as comm_share; name NULL means none. */
CommCall comm_call(Comm *comm);

/* Divides a group, like MPI_Comm_split: ranks with the same `color` form a new group, in the order of their ranks. All
 * ranks of `comm` call it. NULL if the group has failed. */
Comm *comm_split(Comm *comm, int color);

/* Divides n elements into `size` parts that begin at multiples of 64 elements and differ by at most 64, possibly empty,
 * and returns the first element of part `rank`: part r is [comm_start(n, size, r), comm_start(n, size, r + 1)). */
int64_t comm_start(int64_t n, int size, int rank);

/* Number of elements that rank `rank` sends in an all-reduce of n elements. First it sends every other rank the part of
 * its addend that the other rank sums up; then it sends to every other rank the sum of its own part. */
int64_t comm_all_reduce_sends(int64_t n, int size, int rank);

/* All-reduce: x (n), a vector, becomes the sum of x over all ranks. */
CommWork comm_all_reduce(Comm *comm, Tensor x);
/* Reduce-scatter: out = elements starts[rank] … starts[rank + 1] - 1 of the sum of x over all ranks. out may be this
 * part of x; the other elements of x do not change. starts (size + 1) is copied; NULL means the parts of comm_start. */
CommWork comm_reduce_scatter(Comm *comm, Tensor out, Tensor x, const int64_t *starts);
/* All-gather: x = the concatenation of `own` of all ranks; elements starts[r] … starts[r + 1] - 1 come from rank r. own
 * may be the caller's part of x. starts: as in comm_reduce_scatter. */
CommWork comm_all_gather(Comm *comm, Tensor x, Tensor own, const int64_t *starts);
/* All-to-all: every rank sends each other rank a part of `own`, and gets a part of x from each. Elements own_starts[r]
 * … own_starts[r + 1] - 1 of `own` go to rank r; elements starts[r] … starts[r + 1] - 1 of x come from rank r. Both
 * arrays (size + 1) are copied. x and `own` do not overlap. */
CommWork comm_all_to_all(Comm *comm, Tensor x, const int64_t *starts, Tensor own, const int64_t *own_starts);
/* Broadcast: x of every rank becomes a copy of x of rank `root`. */
CommWork comm_broadcast(Comm *comm, Tensor x, int root);
/* comm_send sends x to rank `to`, which calls comm_receive with a tensor of the same dtype and length, and with the
 * sender as `from`. Only these two ranks call the functions. */
CommWork comm_send(Comm *comm, Tensor x, int to);
CommWork comm_receive(Comm *comm, Tensor x, int from);

/* Makes the device wait for a collective: operations that are queued after this call see its result. */
void comm_wait(Comm *comm, CommWork work);

/* Synchronous all-gather of a few bytes of the host: all (size × bytes) = `own` (bytes) of all ranks in order. */
void comm_share(Comm *comm, void *all, const void *own, size_t bytes);
/* As comm_share, of as many bytes as each rank has: those of rank r begin at byte r * *each of the result, the largest
 * number of a rank, and zeros follow them. g_free. */
char *comm_gather(Comm *comm, const void *own, size_t bytes, size_t *each);
/* Synchronous: values (n) = the sums of values over all ranks, added in the order of the ranks. */
void comm_sum(Comm *comm, double *values, int n);
/* Synchronous: returns the largest `value` of all ranks. */
int64_t comm_max(Comm *comm, int64_t value);
/* Waits until all ranks have called it. */
void comm_barrier(Comm *comm);
/* Returns whether `done` is true on all ranks. If not, every rank gets the error of the lowest rank with `done` false;
 * the message of a machine's error names this rank, unless it is rank 0. A rank that passes false must have set *error
 * before; `error` must not be NULL. */
bool comm_agree(Comm *comm, bool done, GError **error);

/* It is a machine's error if the group has failed; the message says which rank failed, and why. */
bool comm_check(Comm *comm, GError **error);
/* The number (comm_number) of the rank that did not answer in time; -1 means that there is none. */
int comm_lost(Comm *comm);
/* The number of a rank of the group in the group of all ranks, from which comm_split made it. */
int comm_number(const Comm *comm, int rank);
/* Makes the group fail on all ranks, for the reason `why`. Ranks that wait stop waiting. */
void comm_abort(Comm *comm, const char *why);

/* ---- ranks as threads of this process ---- */

/* What each rank executes in a thread of its own; world: the group of all ranks, which comm_run_threads closes. */
typedef void (*CommRankFn)(Comm *world, void *context);
/* Runs fn in `size` threads, one per rank, and returns when all of them have returned. The group fails if a rank waits
 * longer than timeout_s seconds for another in a collective; 0 means no limit. */
void comm_run_threads(int size, double timeout_s, CommRankFn fn, void *context);
