/* library.h: the interface of loam-mpi.so, the only file that is linked with MPI, so that the program starts on
 * machines without MPI; mpi.c opens it. It transfers bytes and computes nothing. No GLib here: loam-mpi.so links only
 * MPI. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { MPI_WHY = 512 }; /* size of the text that explains a failure */

/* Bytes that are sent to or received from one rank. */
typedef struct MpiPiece {
    void *bytes;
    size_t n;
} MpiPiece;

/* Why a call ended. */
typedef struct MpiFailure {
    int rank;          /* the rank that did not answer in time, or that aborted; -1 means unknown */
    bool timeout;      /* timeout_s was exceeded */
    char why[MPI_WHY]; /* message of MPI, or of the rank that aborted */
} MpiFailure;

typedef struct MpiGroup MpiGroup;

/* Functions that return bool return false after filling *failure. They wait at most timeout_s seconds for other ranks;
 * 0 means no limit. */
typedef struct MpiLibrary {
    size_t size;               /* sizeof (MpiLibrary) in this build */
    const char *version;       /* LOAM_VERSION of the build */
    const char *(*name)(void); /* name of the MPI library, one line */
    /* Starts MPI; once per process. NULL with *failure filled on failure. */
    MpiGroup *(*open)(int *rank, int *n_ranks, MpiFailure *failure);
    void (*close)(MpiGroup *group); /* closing the last group ends MPI */
    /* The new group of all ranks that pass the same color; every rank of `group` calls it. */
    MpiGroup *(*split)(MpiGroup *group, int color, MpiFailure *failure);
    /* Sends piece send[r] to each rank r and receives piece receive[r] from it; (n_ranks) pieces, of which empty ones
     * and the caller's own are skipped. */
    bool (*exchange)(MpiGroup *group, const MpiPiece *send, const MpiPiece *receive, double timeout_s,
                     MpiFailure *failure);
    bool (*broadcast)(MpiGroup *group, MpiPiece piece, int root, double timeout_s, MpiFailure *failure);
    /* Tells all other ranks why this rank gives up, so that they stop waiting. */
    void (*abort)(MpiGroup *group, const char *why);
} MpiLibrary;

/* Name of the function that loam-mpi.so exports: const MpiLibrary *f(void). */
#define MPI_LIBRARY_ENTRY "loam_mpi_library"
