/* numbers.c: scores of predicted numbers: correlations and perplexity. */
#include "base/python_text.h"
#include "scores/kind.h"

#include <math.h>
#include <stdlib.h>

static bool parse_reference(const ScoreInput *in, int64_t i, double *out, GError **error)
{
    return python_float(out, in->references[i][0]) ||
           fail_user(error, "the reference of example %" G_GINT64_FORMAT " is \"%.40s\", no number", i + 1,
                     in->references[i][0]);
}

/* A row has the predicted number and the reference's number. */
bool numbers_measure(ScoreStats *stats, const ScoreInput *in, GError **error)
{
    if (in->n < 2)
        return fail_user(error, "one example; a correlation takes two or more");
    for (int64_t i = 0; i < in->n; i++) {
        double *row = stats_row(stats, i);
        if (!python_float(&row[0], in->predictions[i])) {
            row[0] = -1;
            stats->n_invalid++;
        }
        if (!parse_reference(in, i, &row[1], error))
            return false;
    }
    return true;
}

/* Subtracts the mean from x (n) and scales x to length 1; false if all numbers are equal. */
static bool standardize(double *x, int64_t n)
{
    double mean = 0, squares = 0, largest = 0;
    bool constant = true;
    for (int64_t i = 0; i < n; i++) {
        mean += x[i] / (double)n;
        constant &= x[i] == x[0];
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] -= mean;
        largest = fmax(largest, fabs(x[i]));
    }
    for (int64_t i = 0; i < n; i++) /* scaled first, since squares of large numbers overflow */
        squares += x[i] / largest * (x[i] / largest);
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] / largest / sqrt(squares);
    return !constant;
}

/* Pearson correlation of x (n) and y (n), which are overwritten; NaN if one of them is constant. */
static double correlation(double *x, double *y, int64_t n)
{
    double r = 0;
    if (!standardize(x, n) || !standardize(y, n))
        return NAN;
    for (int64_t i = 0; i < n; i++)
        r += x[i] * y[i];
    return fmax(fmin(r, 1), -1);
}

static double *picked_column(const ScoreStats *stats, int column, const int64_t *pick, int64_t n)
{
    double *x = g_new(double, (gsize)n);
    for (int64_t i = 0; i < n; i++)
        x[i] = stats_row(stats, pick[i])[column];
    return x;
}

void pearson_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    g_autofree double *x = picked_column(stats, 0, pick, n), *y = picked_column(stats, 1, pick, n);
    values[0] = 100 * correlation(x, y, n);
}

typedef struct Ranked {
    double x;
    int64_t i;
} Ranked;

static int by_value(const void *a, const void *b)
{
    const Ranked *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* Replaces the numbers x (n) by their ranks, counted from 1; equal numbers get the mean of their ranks. */
static void rank(double *x, int64_t n)
{
    g_autofree Ranked *sorted = g_new(Ranked, (gsize)n);
    for (int64_t i = 0; i < n; i++)
        sorted[i] = (Ranked){ x[i], i };
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !(sorted[end].x > sorted[i].x); end++)
            ;
        for (int64_t k = i; k < end; k++)
            x[sorted[k].i] = (double)(i + 1 + end) / 2;
    }
}

void spearman_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    g_autofree double *x = picked_column(stats, 0, pick, n), *y = picked_column(stats, 1, pick, n);
    rank(x, n);
    rank(y, n);
    values[0] = 100 * correlation(x, y, n);
}

/* ---- perplexity ---- */

/* A row has the log-probability of the target and its number of tokens. */
bool perplexity_measure(ScoreStats *stats, const ScoreInput *in, GError **error)
{
    for (int64_t i = 0; i < in->n; i++) {
        double *row = stats_row(stats, i);
        if (!python_float(&row[0], in->predictions[i]))
            return fail_user(error, "the log-probability of example %" G_GINT64_FORMAT " is \"%.40s\", no number",
                             i + 1, in->predictions[i]);
        if (!parse_reference(in, i, &row[1], error))
            return false;
        if (row[0] > 0 || row[1] < 1 || row[1] != floor(row[1]))
            return fail_user(error,
                             "example %" G_GINT64_FORMAT " has the log-probability %g over %g tokens, want at most 0 "
                             "over 1 or more",
                             i + 1, row[0], row[1]);
    }
    return true;
}

void perplexity_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    double sums[MOST_WIDTH];
    stats_sum(sums, stats, pick, n);
    values[1] = -sums[0] / sums[1];
    values[0] = exp(values[1]);
}
