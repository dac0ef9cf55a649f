/* fold.h: column sums over many rows, by several threads. A thread adds up to FOLD_ROWS rows in f32 (`part`), then adds
 * `part` to its sums in f64; at the end the sums of the threads are added in the order of the threads. */
#pragma once

#include "device/cpu/kernels/kernels.h"

#include <string.h>

enum { FOLD_ROWS = 16 };

/* Scratch memory of a parallel region, for rows of n numbers: for each thread its sums (n) f64 and its part (n) f32. */
typedef struct Fold {
    char *memory;
    int64_t n;
} Fold;

/* Bytes of Fold.memory. */
static inline size_t fold_bytes(int64_t n, int threads)
{
    return (size_t)threads * (align64((size_t)n * sizeof(double)) + align64((size_t)n * sizeof(float)));
}

/* The sums (n) of a thread. */
static inline double *fold_sums(Fold fold, int thread)
{
    return (double *)(fold.memory + fold_bytes(fold.n, thread));
}

/* Sets the sums and the part of the calling thread to zero; returns the part. */
static inline float *fold_begin(Fold fold)
{
    char *mine = (char *)fold_sums(fold, omp_get_thread_num());
    memset(mine, 0, fold_bytes(fold.n, 1));
    return (float *)(mine + align64((size_t)fold.n * sizeof(double)));
}

/* To be called after the calling thread has added row i, one of its rows `rows`, to its part. After every FOLD_ROWS
 * rows, and after the last, adds the part to the thread's sums. */
static inline void fold_row(Fold fold, float *part, int64_t i, Range rows)
{
    double *sums = fold_sums(fold, omp_get_thread_num());
    if ((i + 1 - rows.begin) % FOLD_ROWS != 0 && i + 1 != rows.end)
        return;
    for (int64_t c = 0; c < fold.n; c++)
        sums[c] += (double)part[c];
    memset(part, 0, (size_t)fold.n * sizeof *part);
}

/* The sum of a column: the sums of all threads for it, added. */
static inline double fold_total(Fold fold, int64_t column, int threads)
{
    double total = 0;
    for (int t = 0; t < threads; t++)
        total += fold_sums(fold, t)[column];
    return total;
}
