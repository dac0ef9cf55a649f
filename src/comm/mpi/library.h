/* library.h: what loam-mpi.so gives the program. The file is the only one that knows MPI, so that the program starts on
 * machines that have none; mpi.c opens it. It moves bytes and computes nothing. No GLib here: the file links MPI only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { MPI_WHY = 512 }; /* room for the reason of a failure */

/* Bytes that travel to or from one rank. */
typedef struct MpiPiece {
    void *bytes;
    size_t n;
} MpiPiece;

/* Why a call ended. */
typedef struct MpiFailure {
    int rank;          /* the rank that was waited for too long, or that aborted; -1 means unknown */
    bool timeout;      /* the time was over */
    char why[MPI_WHY]; /* what MPI, or the rank that aborted, said */
} MpiFailure;

typedef struct MpiGroup MpiGroup;

/* Functions that return bool return false after filling *failure. They wait at most timeout_s seconds for other ranks;
 * 0 means no limit. */
typedef struct MpiLibrary {
    size_t size;               /* of this struct */
    const char *version;       /* LOAM_VERSION of the build */
    const char *(*name)(void); /* of the MPI library, one line */
    /* Starts MPI, once a process; NULL with a reason in *failure. */
    MpiGroup *(*open)(int *rank, int *n_ranks, MpiFailure *failure);
    void (*close)(MpiGroup *group); /* of the last group: ends MPI */
    /* The group of the ranks that give the same color; every rank of `group` calls it. */
    MpiGroup *(*split)(MpiGroup *group, int color, MpiFailure *failure);
    /* Sends each rank its piece of `send` and receives its piece of `receive` from each; (n_ranks) pieces, those of the
     * caller itself and empty ones are passed over. */
    bool (*exchange)(MpiGroup *group, const MpiPiece *send, const MpiPiece *receive, double timeout_s,
                     MpiFailure *failure);
    bool (*broadcast)(MpiGroup *group, MpiPiece piece, int root, double timeout_s, MpiFailure *failure);
    /* Tells all other ranks why this one gives up, which ends what they wait for. */
    void (*abort)(MpiGroup *group, const char *why);
} MpiLibrary;

/* Name of the function of the file: const MpiLibrary *f(void). */
#define MPI_LIBRARY_ENTRY "loam_mpi_library"
