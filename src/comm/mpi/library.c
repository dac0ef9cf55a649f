/* library.c: the implementation of loam-mpi.so. Every call polls until its messages have arrived: Open MPI makes
 * progress only within its functions, and a blocking wait could not time out or notice that a rank gives up. */
#include "comm/mpi/library.h"

#include "base/clock.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TAG_DATA = 1,
    TAG_ABORT = 2,
    SPINS = 200 /* polls before a wait begins to sleep between them */
};
#define CHUNK      ((size_t)1 << 30) /* bytes of a message: MPI counts them with an int */
#define LONGEST_NS 200000            /* longest sleep between polls, by which a wait may end late */

struct MpiGroup {
    MPI_Comm comm, aborts; /* communicators for data, and for messages of ranks that give up */
    int rank, n_ranks;
    MPI_Request *requests;
    int *peers; /* for each request, the rank for which it waits */
    int n_requests, room;
};

/* If a rank does not answer: the exit status; the seconds that others give rank 0 to report it before they end all. */
enum { LOST_STATUS = 2, LAST_WORDS_S = 3 };

static int groups; /* number of open groups */

static bool fail(MpiFailure *failure, int code, int rank)
{
    int n = 0;
    *failure = (MpiFailure){ .rank = rank };
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_string(code, text, &n);
    snprintf(failure->why, sizeof failure->why, "%s", text);
    return false;
}

static void nap(int polls)
{
    long ns = polls < SPINS ? 0 : (long)(polls - SPINS + 1) * 2000;
    if (ns == 0)
        sched_yield();
    else
        nanosleep(&(struct timespec){ .tv_nsec = ns < LONGEST_NS ? ns : LONGEST_NS }, NULL);
}

/* Two threads may ask at once, of which one receives the message. */
static bool heard_abort(MpiGroup *group, MpiFailure *failure)
{
    int there = 0, n = 0;
    MPI_Status status;
    MPI_Message message;
    if (MPI_Improbe(MPI_ANY_SOURCE, TAG_ABORT, group->aborts, &there, &message, &status) != MPI_SUCCESS || !there)
        return false;
    *failure = (MpiFailure){ .rank = status.MPI_SOURCE };
    MPI_Get_count(&status, MPI_CHAR, &n);
    if (n >= 0 && n <= MPI_WHY)
        MPI_Mrecv(failure->why, n, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    return true;
}

/* The rank of the first request that is not done. */
static int first_missing(MpiGroup *group)
{
    for (int i = 0; i < group->n_requests; i++) {
        int done = 0;
        if (group->requests[i] != MPI_REQUEST_NULL &&
            (MPI_Test(&group->requests[i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done))
            return group->peers[i];
    }
    return -1;
}

/* Cancels messages that have not arrived, since their memory goes back to the caller. */
static void drop_requests(MpiGroup *group)
{
    for (int i = 0; i < group->n_requests; i++)
        if (group->requests[i] != MPI_REQUEST_NULL && MPI_Cancel(&group->requests[i]) == MPI_SUCCESS)
            MPI_Request_free(&group->requests[i]);
}

/* Polls until all requests are done, the timeout is over, or a rank has given up. */
static bool poll_all(MpiGroup *group, double timeout_s, MpiFailure *failure)
{
    double end = clock_seconds() + timeout_s;
    for (int polls = 0;; polls++) {
        int done = 0;
        int code = MPI_Testall(group->n_requests, group->requests, &done, MPI_STATUSES_IGNORE);
        if (code != MPI_SUCCESS)
            return fail(failure, code, first_missing(group));
        if (done)
            return true;
        if (polls % 64 == 63 && heard_abort(group, failure))
            return false;
        if (timeout_s > 0 && polls % 64 == 63 && clock_seconds() > end) {
            *failure = (MpiFailure){ .rank = first_missing(group), .timeout = true };
            return false;
        }
        nap(polls);
    }
}

static bool wait_all(MpiGroup *group, double timeout_s, MpiFailure *failure)
{
    bool done = poll_all(group, timeout_s, failure);
    if (!done)
        drop_requests(group);
    return done;
}

static MPI_Request *next_request(MpiGroup *group, int peer)
{
    if (group->n_requests == group->room) {
        group->room = 2 * group->room + 16;
        group->requests = realloc(group->requests, sizeof *group->requests * (size_t)group->room);
        group->peers = realloc(group->peers, sizeof *group->peers * (size_t)group->room);
        if (!group->requests || !group->peers)
            abort();
    }
    group->peers[group->n_requests] = peer;
    return &group->requests[group->n_requests++];
}

static int post(MpiGroup *group, const MpiPiece *piece, int peer, bool receives)
{
    int code = MPI_SUCCESS;
    for (size_t at = 0; code == MPI_SUCCESS && at < piece->n; at += CHUNK) {
        char *bytes = (char *)piece->bytes + at;
        int n = (int)(piece->n - at < CHUNK ? piece->n - at : CHUNK);
        MPI_Request *request = next_request(group, peer);
        code = receives ? MPI_Irecv(bytes, n, MPI_BYTE, peer, TAG_DATA, group->comm, request)
                        : MPI_Isend(bytes, n, MPI_BYTE, peer, TAG_DATA, group->comm, request);
    }
    return code;
}

/* Receives are posted first, so that MPI need not buffer messages; every rank starts with another peer, so that not all
 * send to rank 0 at once. */
static bool exchange_pieces(MpiGroup *group, const MpiPiece *send, const MpiPiece *receive, double timeout_s,
                            MpiFailure *failure)
{
    int code = MPI_SUCCESS, n = group->n_ranks;
    group->n_requests = 0;
    for (int i = 1; i < n && code == MPI_SUCCESS; i++) {
        int from = (group->rank + n - i) % n;
        code = post(group, &receive[from], from, true);
    }
    for (int i = 1; i < n && code == MPI_SUCCESS; i++) {
        int to = (group->rank + i) % n;
        code = post(group, &send[to], to, false);
    }
    return code == MPI_SUCCESS ? wait_all(group, timeout_s, failure) : fail(failure, code, -1);
}

/* Tells all other ranks that this rank gives up and why. Does not wait for them: some may no longer answer. */
static void abort_group(MpiGroup *group, const char *why)
{
    static char text[MPI_WHY];
    snprintf(text, sizeof text, "%s", why);
    for (int r = 0; r < group->n_ranks; r++) {
        MPI_Request request;
        if (r != group->rank &&
            MPI_Isend(text, (int)strlen(text) + 1, MPI_CHAR, r, TAG_ABORT, group->aborts, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

static MpiGroup *group_of(MPI_Comm comm, MpiFailure *failure)
{
    MpiGroup *group = calloc(1, sizeof *group);
    if (group == NULL)
        abort();
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int code = MPI_Comm_dup(comm, &group->aborts);
    group->comm = comm;
    MPI_Comm_rank(comm, &group->rank);
    MPI_Comm_size(comm, &group->n_ranks);
    groups++;
    if (code == MPI_SUCCESS)
        return group;
    fail(failure, code, -1);
    return NULL;
}

static MpiGroup *open_world(int *rank, int *n_ranks, MpiFailure *failure)
{
    int provided = 0, started = 0;
    MPI_Comm comm;
    MPI_Initialized(&started);
    if (!started && MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
        *failure = (MpiFailure){ .rank = -1, .why = "MPI_Init_thread failed" };
        return NULL;
    }
    if (provided < MPI_THREAD_MULTIPLE) {
        *failure = (MpiFailure){ .rank = -1, .why = "this MPI library lets only one thread call it" };
        return NULL;
    }
    int code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (code != MPI_SUCCESS) {
        fail(failure, code, -1);
        return NULL;
    }
    MpiGroup *group = group_of(comm, failure);
    *rank = group ? group->rank : -1;
    *n_ranks = group ? group->n_ranks : 0;
    return group;
}

static MpiGroup *split_group(MpiGroup *group, int color, MpiFailure *failure)
{
    MPI_Comm comm;
    int code = MPI_Comm_split(group->comm, color, group->rank, &comm);
    if (code == MPI_SUCCESS)
        return group_of(comm, failure);
    fail(failure, code, -1);
    return NULL;
}

static void close_group(MpiGroup *group, bool lost)
{
    static bool incomplete; /* whether a rank of any group did not answer */
    int rank = 0;
    incomplete |= lost;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_free(&group->comm);
    MPI_Comm_free(&group->aborts);
    free(group->requests);
    free(group->peers);
    free(group);
    if (--groups > 0)
        return;
    if (!incomplete) {
        MPI_Finalize();
        return;
    }
    if (rank > 0)
        sleep(LAST_WORDS_S);
    MPI_Abort(MPI_COMM_WORLD, LOST_STATUS);
}

static const char *name(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, "\n,")] = '\0';
    return text;
}

__attribute__((visibility("default"))) const MpiLibrary *loam_mpi_library(void);

const MpiLibrary *loam_mpi_library(void)
{
    static const MpiLibrary library = { .size = sizeof library,
                                        .version = LOAM_VERSION,
                                        .name = name,
                                        .open = open_world,
                                        .close = close_group,
                                        .split = split_group,
                                        .exchange = exchange_pieces,
                                        .abort = abort_group,
                                        .heard_abort = heard_abort };
    return &library;
}
