/* straggler.h: finds the rank that computes slower than the others, for which they wait in every step. */
#pragma once

#include "comm/mesh.h"

/* A warning names a rank if it reaches all four: */
#define STRAGGLER_SLOW  1.2 /* its computing time per sample / that of the median rank of its stage */
#define STRAGGLER_SHARE 0.1 /* share of a step's time that the other ranks lose by waiting for it */
#define STRAGGLER_S     3.0 /* seconds for which STRAGGLER_SLOW and STRAGGLER_SHARE must have been reached */
enum {
    STRAGGLER_LINES = 3 /* consecutive log lines at which STRAGGLER_SLOW and STRAGGLER_SHARE must have been reached */
};

/* The times of a rank since the last log line. */
typedef struct RankPace {
    double computed, elapsed; /* seconds per sample: without waits for other ranks; with them */
    double seconds;           /* seconds since the last log line */
    int64_t stage;            /* its stage of the pipeline: ranks of a stage have the same blocks */
} RankPace;

typedef struct Straggler {
    int rank;       /* the slowest rank at the last log line */
    double factor;  /* the time that it computed, divided by that of the median rank of its stage; 1 means as fast */
    int lines;      /* number of consecutive log lines at which this rank reached STRAGGLER_SLOW and STRAGGLER_SHARE */
    double seconds; /* seconds that these lines cover, by the clock of rank 0 */
    bool warned;    /* a warning about this rank was given at one of these lines */
    bool new;       /* the warning is to be given now */
} Straggler;

/* Updates *straggler at a log line, from the times of all n ranks since the last one. */
void straggler_find(Straggler *straggler, const RankPace *ranks, int n);
