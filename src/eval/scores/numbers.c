/* numbers.c: scores of predicted numbers: correlations and perplexity. */
#include "eval/scores/kind.h"
#include "eval/scores/python_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A text as Python's float reads it: decimal digits of any script become ASCII digits; single underscores between
 * digits, and white space around the text, are removed. g_free. */
static char *plain_digits(const char *text)
{
    g_autofree char *stripped = python_strip(text);
    GString *plain = g_string_new(NULL);
    for (const char *at = stripped; *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);
        const int digit = g_unichar_digit_value(c);
        const bool after = plain->len > 0 && g_ascii_isdigit(plain->str[plain->len - 1]);
        if (digit >= 0)
            g_string_append_c(plain, (char)('0' + digit));
        else if (c != '_' || !after || g_unichar_digit_value(g_utf8_get_char(at + 1)) < 0)
            g_string_append_unichar(plain, c);
    }
    return g_string_free(plain, false);
}

/* Parses the whole text as a decimal number; false if it is not one, or not finite. */
static bool parse_number(const char *text, double *out)
{
    char *end;
    g_autofree char *digits = plain_digits(text);
    *out = g_ascii_strtod(digits, &end);
    return end > digits && *end == '\0' && strcspn(digits, "xX") >= (size_t)(end - digits) && isfinite(*out);
}

static bool parse_reference(const ScoreInput *in, int64_t i, double *out, GError **error)
{
    return parse_number(in->references[i][0], out) ||
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
        if (!parse_number(in->predictions[i], &row[0])) {
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
        if (!parse_number(in->predictions[i], &row[0]))
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
