/* kind.h: the two steps of a score (ScoreKind.measure and finish), and how they share their numbers. */
#pragma once

#include "scores/scores.h"

/* The result of `measure`: one row of numbers for each unit. */
struct ScoreStats {
    const ScoreKind *kind;
    const ScoreOptions *options;
    int64_t n;          /* units */
    int width;          /* numbers per row */
    double *at;         /* (n, width) */
    int64_t n_labels;   /* for scores of classes: number of distinct labels */
    int64_t n_averaged; /* f1_macro, f1_micro: labels 0 to n_averaged - 1 are averaged; 0 means all labels that occur */
    int64_t n_invalid;  /* ScoreResult.n_invalid */
};

static inline double *stats_row(const ScoreStats *stats, int64_t unit)
{
    return stats->at + unit * stats->width;
}

/* a / b; 0 if b is 0. */
static inline double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* 2pr / (p + r) of precision p and recall r; 0 if both are 0. */
static inline double f1_of(double precision, double recall)
{
    return ratio(2 * precision * recall, precision + recall);
}

/* sums (width) = each column summed over the n units in `pick`. */
void stats_sum(double *sums, const ScoreStats *stats, const int64_t *pick, int64_t n);
/* A `finish` function for rows of shares: the mean of each column, in percent. */
void finish_means(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
/* A `finish` function for rows of counts (true positives, predicted positives, actual positives): F1, precision and
 * recall of the summed counts, in percent. */
void finish_f1(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);

/* Sets `low` and `high` of each of n values by the percentile bootstrap (Efron 1979): many resamples are drawn, each of
 * n units with replacement from the n units; the interval lies between two percentiles of the scores of the resamples.
 * The units of resample r depend only on (options->seed, r). Resamples in which a value is NaN are ignored for this
 * value; percentiles are interpolated linearly, as numpy.percentile does. */
void bootstrap(ScoreValue *values, int n, const ScoreStats *stats);

/* ---- `measure` and `finish` functions, for the table in scores.c; docs/scores.md describes each score ---- */
bool accuracy_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
bool binary_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
bool multirc_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void multirc_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
bool classes_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void f1_macro_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
void f1_micro_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
void matthews_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);

bool numbers_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void pearson_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
void spearman_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
bool perplexity_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void perplexity_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);

enum { SQUAD_ANSWERS, SQUAD2_ANSWERS, TRIVIA_ANSWERS }; /* ScoreKind.variant of answers_measure */
bool exact_match_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
bool answers_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void squad2_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);

enum { ROUGE_1 = 1, ROUGE_2 = 2, ROUGE_L, ROUGE_LSUM, ROUGE_ALL }; /* ScoreKind.variant of rouge_measure */
bool rouge_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void rouge_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);

#define BLEU_ORDERS 4
#define CHRF_ORDERS 8                     /* n-grams of 1 to 6 characters, then of 1 and 2 words */
#define BLEU_WIDTH  (2 + 2 * BLEU_ORDERS) /* tokens of prediction, of reference; matches, n-grams of each order */
#define CHRF_WIDTH  (3 * CHRF_ORDERS)     /* for each order: matches, n-grams of the prediction, of the reference */
#define MOST_WIDTH  CHRF_WIDTH            /* numbers in the widest row of all scores */
enum { BLEU_OF_SACREBLEU, BLEU_OF_CODEXGLUE }; /* ScoreKind.variant of bleu_measure */
bool bleu_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void bleu_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
void codexglue_bleu_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
char *bleu_signature(const ScoreInput *in, const ScoreOptions *options);
bool chrf_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void chrf_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
char *chrf_signature(const ScoreInput *in, const ScoreOptions *options);

#define CODEBLEU_WIDTH (4 + 4 * BLEU_ORDERS) /* numbers per row: see codebleu.c */
bool exact_words_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
bool codebleu_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void codebleu_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);

enum { TAGS_CONLLEVAL, TAGS_IOB2 }; /* ScoreKind.variant of tags_measure */
bool tags_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void tags_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
