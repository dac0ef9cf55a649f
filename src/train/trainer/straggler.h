/* straggler.h: finds the rank that computes slower than the others, for which they wait in every step. */
#pragma once

#include "comm/mesh.h"

#define STRAGGLER_SLOW  1.2 /* times as slow as the median rank, and … */
#define STRAGGLER_SHARE 0.1 /* … so much of a step's time lost by it, are worth a warning */
#define STRAGGLER_S     3.0 /* … if they go on for so many seconds, and … */
enum { STRAGGLER_LINES = 3 /* … so many log lines in a row */ };

/* The times of a rank since the last log line. */
typedef struct RankPace {
    double computed, elapsed; /* seconds per sample: without waits for other ranks; in all */
    double seconds;           /* since the last log line */
    int64_t stage;            /* its stage of the pipeline: ranks of a stage have the same blocks */
} RankPace;

typedef struct Straggler {
    int rank;       /* the slowest rank at the last log line */
    double factor;  /* the time that it computed, divided by that of the median rank of its stage; 1 means as fast */
    int lines;      /* log lines in a row at which this rank was worth a warning, */
    double seconds; /* and their time by the clock of rank 0 */
    bool warned;    /* it has been warned of in this row */
    bool new;       /* this is the line after which to warn */
} Straggler;

/* Takes the seconds since the last log line, those of them in which this rank computed, and its samples. All ranks call
 * it, and have the same result. */
void straggler_look(Straggler *straggler, const Mesh *mesh, double elapsed, double computed, int64_t samples);
/* The same, from the times of n ranks. */
void straggler_find(Straggler *straggler, const RankPace *ranks, int n);
