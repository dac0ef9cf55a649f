/* kind.h: the row of a score. A score is computed in two steps, so that a bootstrap sample costs only the second:
 * `measure` turns each unit (an example, or a group of examples) into a row of numbers, `finish` makes the score of
 * some of these rows. */
#pragma once

#include "eval/scores/scores.h"

/* What the examples contribute: a matrix of n units by `width` numbers. */
typedef struct ScoreStats {
    const ScoreKind *kind;
    const ScoreOptions *options;
    int64_t n;
    int width;
    double *at;         /* (n, width) */
    int64_t n_labels;   /* scores of labels: label ids lie in [0, n_labels) */
    int64_t n_averaged; /* f1_macro, f1_micro: the first of them, which the average is over; 0 means those that occur */
    int64_t n_invalid;
} ScoreStats;

struct ScoreKind {
    const char *name, *does;
    ScoreTakes takes;
    bool several; /* an example may have any number of references but 1; the best of them counts */
    bool groups;
    int variant;                              /* which of the scores that share `measure` */
    int width;                                /* numbers a unit */
    const char *values[SCORE_MAX_VALUES + 1]; /* names of the values that `finish` makes */
    /* Fills stats->at, which has width × in->n zeros; may lower stats->n. */
    bool (*measure)(ScoreStats *stats, const ScoreInput *in, GError **error);
    /* The values of the units `pick` (n), which may repeat. */
    void (*finish)(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
    char *(*signature)(const ScoreInput *in, const ScoreOptions *options); /* NULL means none */
};

static inline double *stats_row(const ScoreStats *stats, int64_t unit)
{
    return stats->at + unit * stats->width;
}

/* a / b, or 0 where b is 0. */
static inline double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* 2pr / (p + r), or 0. */
static inline double f1_of(double precision, double recall)
{
    return ratio(2 * precision * recall, precision + recall);
}

/* Sums of the columns over the picked units. */
void stats_sum(double *sums, const ScoreStats *stats, const int64_t *pick, int64_t n);
/* A `finish`: the mean of each column, in percent. */
void finish_means(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
/* A `finish` of the columns (agreeing, predicted, actual): F1, precision and recall of their sums, in percent. */
void finish_f1(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);

/* The two steps of each kind of score. */
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

enum { SQUAD_ANSWERS, SQUAD2_ANSWERS, TRIVIA_ANSWERS };
bool exact_match_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
bool answers_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void squad2_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);

enum { ROUGE_1 = 1, ROUGE_2 = 2, ROUGE_L, ROUGE_LSUM, ROUGE_ALL };
bool rouge_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void rouge_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);

#define BLEU_ORDERS 4
#define CHRF_ORDERS 8                     /* n-grams of 1 to 6 characters, of 1 and 2 words */
#define BLEU_WIDTH  (2 + 2 * BLEU_ORDERS) /* lengths of prediction and reference; matches and n-grams of each order */
#define CHRF_WIDTH  (3 * CHRF_ORDERS)     /* of each order: matches, n-grams of the prediction, of the reference */
#define MOST_WIDTH  CHRF_WIDTH
bool bleu_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void bleu_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
char *bleu_signature(const ScoreInput *in, const ScoreOptions *options);
bool chrf_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void chrf_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
char *chrf_signature(const ScoreInput *in, const ScoreOptions *options);

enum { TAGS_CONLLEVAL, TAGS_IOB2 };
bool tags_measure(ScoreStats *stats, const ScoreInput *in, GError **error);
void tags_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
