/* stats.c: sums and means of the rows of numbers that scores are made of. */
#include "scores/kind.h"

#include <string.h>

void stats_sum(double *sums, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    memset(sums, 0, (size_t)stats->width * sizeof *sums);
    for (int64_t i = 0; i < n; i++) {
        const double *row = stats_row(stats, pick[i]);
        for (int c = 0; c < stats->width; c++)
            sums[c] += row[c];
    }
}

void finish_means(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    stats_sum(values, stats, pick, n);
    for (int c = 0; c < stats->width; c++)
        values[c] *= 100 / (double)n;
}

void finish_f1(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    double sums[MOST_WIDTH];
    stats_sum(sums, stats, pick, n);
    values[0] = 100 * ratio(2 * sums[0], sums[1] + sums[2]);
    values[1] = 100 * ratio(sums[0], sums[1]);
    values[2] = 100 * ratio(sums[0], sums[2]);
}
