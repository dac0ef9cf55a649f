/* stats.c: sums and means of the rows of numbers that scores are made of, and their bootstrap. */
#include "base/order.h"
#include "base/philox.h"
#include "scores/kind.h"

#include <math.h>
#include <stdlib.h>
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

/* ---- bootstrap ---- */

/* A percentile of n sorted numbers; share in [0, 1]. */
static double percentile(const double *sorted, int64_t n, double share)
{
    double at = share * (double)(n - 1);
    int64_t below = (int64_t)floor(at), above = MIN(below + 1, n - 1);
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

static void set_interval(ScoreValue *value, double *scores, int64_t n, double confidence)
{
    int64_t defined = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(scores[i]))
            scores[defined++] = scores[i];
    if (defined == 0)
        return;
    qsort(scores, (size_t)defined, sizeof *scores, order_f64);
    double outside = (1 - confidence / 100) / 2;
    value->low = percentile(scores, defined, outside);
    value->high = percentile(scores, defined, 1 - outside);
}

void bootstrap(ScoreValue *values, int n, const ScoreStats *stats)
{
    const ScoreOptions *options = stats->options;
    PhiloxKey key = philox_key(options->seed, PHILOX_SCORES, 0);
    g_autofree int64_t *pick = g_new(int64_t, (gsize)stats->n);
    g_autofree double *scores = g_new(double, (gsize)(n * options->resamples)); /* (n, resamples) */
    for (int64_t r = 0; r < options->resamples; r++) {
        double drawn[SCORE_MAX_VALUES];
        Philox rng = philox_open(key, (uint64_t)r);
        for (int64_t i = 0; i < stats->n; i++)
            pick[i] = (int64_t)philox_below(&rng, (uint64_t)stats->n);
        stats->kind->finish(drawn, stats, pick, stats->n);
        for (int v = 0; v < n; v++)
            scores[v * options->resamples + r] = drawn[v];
    }
    for (int v = 0; v < n; v++)
        set_interval(&values[v], scores + v * options->resamples, options->resamples, options->confidence);
}
