/* share.h: ranges of indices, and their equal division among the threads of an OpenMP team. */
#pragma once

#include <omp.h>
#include <stdint.h>

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The indices begin ≤ i < end. */
typedef struct Range {
    int64_t begin, end;
} Range;

/* The share of the calling thread if [0, n) is divided equally, at multiples of `unit`, among the threads of the team.
 * It depends only on n, `unit`, the number of the thread and the size of the team. */
static inline Range share(int64_t n, int64_t unit)
{
    int64_t units = (n + unit - 1) / unit, t = omp_get_thread_num(), size = omp_get_num_threads();
    return (Range){ min_i64(units * t / size * unit, n), min_i64(units * (t + 1) / size * unit, n) };
}
