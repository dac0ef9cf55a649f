/* library.h: the interface of loam-mpi.so, a shared library that mpi.c opens. It alone is linked with MPI (and not with
 * GLib), so that the program also runs on machines without MPI. It transfers bytes and computes nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { MPI_WHY = 512 }; /* size in bytes of the text that explains a failure */

/* n bytes that are sent to one rank, or received from it. */
typedef struct MpiPiece {
    void *bytes;
    size_t n;
} MpiPiece;

/* Why a call failed. */
typedef struct MpiFailure {
    int rank;          /* the rank that did not answer in time, or that aborted; -1 means unknown */
    bool timeout;      /* true: a rank did not answer within timeout_s */
    char why[MPI_WHY]; /* the message of MPI, or of the rank that aborted */
} MpiFailure;

/* A group of ranks (an MPI communicator). */
typedef struct MpiGroup MpiGroup;

/* The functions that loam-mpi.so exports. A function that returns bool returns false on failure and has then set
 * *failure; it waits at most timeout_s seconds for other ranks, where 0 means no limit. */
typedef struct MpiLibrary {
    size_t size;               /* sizeof (MpiLibrary) in the build of loam-mpi.so */
    const char *version;       /* LOAM_VERSION of the build of loam-mpi.so */
    const char *(*name)(void); /* name of the MPI library, one line, such as "Open MPI v4.1.4" */
    /* Starts MPI, at most once per process, and returns the group of all ranks. On failure returns NULL and sets
     * *failure. */
    MpiGroup *(*open)(int *rank, int *n_ranks, MpiFailure *failure);
    /* Closing the last group ends MPI. lost: a rank does not answer; then the last call ends this process with status
     * 2, and the launcher ends the others, since MPI's own end would wait for that rank. */
    void (*close)(MpiGroup *group, bool lost);
    /* Every rank of `group` calls this and gets its own new group, of the ranks that pass the same color. */
    MpiGroup *(*split)(MpiGroup *group, int color, MpiFailure *failure);
    /* Sends send[r] to rank r and receives receive[r] from it, for every rank r. send, receive: (n_ranks); empty pieces
     * and the caller's own are skipped. */
    bool (*exchange)(MpiGroup *group, const MpiPiece *send, const MpiPiece *receive, double timeout_s,
                     MpiFailure *failure);
    /* Sends the reason why this rank gives up to all other ranks, so that they stop waiting. */
    void (*abort)(MpiGroup *group, const char *why);
    /* Whether another rank has given up, whose reason goes into *failure. Returns at once; any thread may call it. */
    bool (*heard_abort)(MpiGroup *group, MpiFailure *failure);
} MpiLibrary;

/* Name of the function that loam-mpi.so exports: const MpiLibrary *f(void). */
#define MPI_LIBRARY_ENTRY "loam_mpi_library"
