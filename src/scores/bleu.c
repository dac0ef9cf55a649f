/* bleu.c: BLEU of a corpus (Papineni et al. 2002) as sacreBLEU computes it (Post 2018), and as CodeXGLUE's bleu.py
 * computes it: the code of TensorFlow's nmt with the smoothing of Lin and Och (2004). */
#include "scores/bleu_text.h"
#include "scores/kind.h"
#include "scores/ngrams.h"

#include <math.h>

const char *const bleu_smoothings[] = { "exp", "floor", "add-k", "none", NULL };

/* Columns of a row, and of sums of rows; orders count from 0. */
enum { LENGTH, REFERENCE_LENGTH, FIRST_MATCHES, FIRST_NGRAMS = FIRST_MATCHES + BLEU_ORDERS };

/* ---- one segment ---- */

/* most[i]: how often n-gram i of a prediction may count as a match, which is its largest count in any reference. */
static void raise_most(const NgramTable *table, GArray *most, const int32_t *ngrams, int64_t n)
{
    g_autofree int32_t *counts = g_new0(int32_t, (gsize)table->n);
    g_array_set_size(most, (guint)table->n); /* zeros */
    for (int64_t i = 0; i < n; i++) {
        int32_t *at = &g_array_index(most, int32_t, ngrams[i]), count = ++counts[ngrams[i]];
        *at = MAX(*at, count);
    }
}

/* Adds the n-grams of every order of a reference. */
static void add_reference(NgramTable *table, GArray *most, const Tokens *tokens)
{
    g_autofree int32_t *ngrams = g_memdup2(tokens->ids, (gsize)tokens->n * sizeof(int32_t));
    for (int order = 1; order <= BLEU_ORDERS; order++)
        raise_most(table, most, ngrams, ngrams_lengthen(table, ngrams, tokens, order));
}

static void count_prediction(double *row, NgramTable *table, GArray *most, const Tokens *tokens)
{
    g_autofree int32_t *ngrams = g_memdup2(tokens->ids, (gsize)tokens->n * sizeof(int32_t));
    row[LENGTH] = (double)tokens->n;
    for (int order = 1; order <= BLEU_ORDERS; order++) {
        int64_t n = ngrams_lengthen(table, ngrams, tokens, order);
        g_array_set_size(most, (guint)table->n);
        row[FIRST_NGRAMS + order - 1] = (double)n;
        for (int64_t i = 0; i < n; i++)
            row[FIRST_MATCHES + order - 1] += g_array_index(most, int32_t, ngrams[i])-- > 0;
    }
}

/* Whether a reference of this length replaces the nearest one so far: it is nearer to the length of the prediction or,
 * if equally near, shorter. */
static bool is_nearer(int64_t length, int64_t nearest, int64_t prediction)
{
    int64_t difference = ABS(length - prediction), least = ABS(nearest - prediction);
    return difference < least || (difference == least && length < nearest);
}

/* Fills the row of one prediction. shortest: count the shortest reference's length; false means the length nearest to
 * the prediction's. */
static void measure_segment(double *row, NgramTable *table, GArray *most, BleuText *text, bool shortest,
                            const char *prediction, const char *const *references)
{
    ngrams_reset(table);
    g_array_set_size(most, 0);
    Tokens hypothesis = ngrams_words(table, bleu_text(text, prediction));
    for (const char *const *reference = references; *reference; reference++) {
        Tokens tokens = ngrams_words(table, bleu_text(text, *reference));
        add_reference(table, most, &tokens);
        if (reference == references || is_nearer(tokens.n, (int64_t)row[REFERENCE_LENGTH], shortest ? 0 : hypothesis.n))
            row[REFERENCE_LENGTH] = (double)tokens.n;
        g_free(tokens.ids);
    }
    count_prediction(row, table, most, &hypothesis);
    g_free(hypothesis.ids);
}

bool bleu_measure(ScoreStats *stats, const ScoreInput *in, G_GNUC_UNUSED GError **error)
{
    g_autoptr(NgramTable) table = ngrams_open();
    g_autoptr(GArray) most = g_array_new(FALSE, TRUE, sizeof(int32_t)); /* (n-grams) indexed by the n-gram's number */
    const bool own = stats->kind->variant == BLEU_OF_CODEXGLUE;         /* CodeXGLUE splits words at white space */
    BleuText *text =
        own ? bleu_text_open(BLEU_NONE, false) : bleu_text_open(stats->options->tokenizer, stats->options->lowercase);
    for (int64_t i = 0; i < in->n; i++)
        measure_segment(stats_row(stats, i), table, most, text, own, in->predictions[i], in->references[i]);
    bleu_text_close(text);
    return true;
}

/* ---- the corpus ---- */

static double smooth_value(const ScoreOptions *options)
{
    if (options->smooth_value > 0)
        return options->smooth_value;
    return options->smoothing == BLEU_FLOOR ? 0.1 : 1;
}

/* Precision of each order in percent. Smoothing exp: the k-th order without a match counts 1 / 2^k matches; floor: it
 * counts smooth_value matches; add-k: smooth_value is added to the matches and the n-grams of every order above 1. From
 * the first order without n-grams on, precisions are 0. */
static void find_precisions(double *precision, const double *sums, const ScoreOptions *options)
{
    double half = 1;
    for (int order = 0; order < BLEU_ORDERS; order++) {
        double matches = sums[FIRST_MATCHES + order], n = sums[FIRST_NGRAMS + order];
        if (options->smoothing == BLEU_ADD_K && order > 0) {
            matches += smooth_value(options);
            n += smooth_value(options);
        }
        if (n <= 0)
            return;
        if (matches > 0)
            precision[order] = 100 * matches / n;
        else if (options->smoothing == BLEU_EXP)
            precision[order] = 100 * (half /= 2) / n;
        else if (options->smoothing == BLEU_FLOOR)
            precision[order] = 100 * smooth_value(options) / n;
    }
}

/* Geometric mean of the precisions times the brevity penalty: e^(1 - r/c) if the predictions have c tokens in all and
 * the references r > c, else 1. */
void bleu_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    double sums[MOST_WIDTH], precision[BLEU_ORDERS] = { 0 }, logs = 0, matches = 0;
    stats_sum(sums, stats, pick, n);
    double length = sums[LENGTH], reference_length = sums[REFERENCE_LENGTH], penalty = 1;
    if (length < reference_length)
        penalty = length > 0 ? exp(1 - reference_length / length) : 0;
    for (int order = 0; order < BLEU_ORDERS; order++)
        matches += sums[FIRST_MATCHES + order];
    if (matches > 0)
        find_precisions(precision, sums, stats->options);
    for (int order = 0; order < BLEU_ORDERS; order++) {
        logs += log(precision[order]) / BLEU_ORDERS; /* -infinity if the precision is 0 */
        values[1 + order] = precision[order];
    }
    values[0] = penalty * exp(logs);
    values[1 + BLEU_ORDERS] = penalty;
    values[2 + BLEU_ORDERS] = length;
    values[3 + BLEU_ORDERS] = reference_length;
}

/* bleu_finish with (matches + 1) / (n-grams + 1) as the precision of each order. */
void codexglue_bleu_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    double sums[MOST_WIDTH], logs = 0, penalty = 1;
    stats_sum(sums, stats, pick, n);
    const double length = sums[LENGTH], reference_length = sums[REFERENCE_LENGTH];
    if (length <= reference_length)
        penalty = length > 0 ? exp(1 - reference_length / length) : 0;
    for (int order = 0; order < BLEU_ORDERS; order++) {
        const double precision = (sums[FIRST_MATCHES + order] + 1) / (sums[FIRST_NGRAMS + order] + 1);
        logs += log(precision) / BLEU_ORDERS;
        values[1 + order] = 100 * precision;
    }
    values[0] = 100 * penalty * exp(logs);
    values[1 + BLEU_ORDERS] = penalty;
    values[2 + BLEU_ORDERS] = length;
    values[3 + BLEU_ORDERS] = reference_length;
}

/* ---- the signature ---- */

char *bleu_signature(const ScoreInput *in, const ScoreOptions *options)
{
    g_autofree char *n = bleu_text_references(in), *smooth = NULL;
    BleuSmoothing smoothing = options->smoothing;
    if (smoothing == BLEU_FLOOR || smoothing == BLEU_ADD_K)
        smooth = g_strdup_printf("%s[%.2f]", bleu_smoothings[smoothing], smooth_value(options));
    return g_strdup_printf("nrefs:%s|case:%s|eff:no|tok:%s|smooth:%s|version:" SACREBLEU_VERSION, n,
                           options->lowercase ? "lc" : "mixed", bleu_tokenizers[options->tokenizer],
                           smooth ? smooth : bleu_smoothings[smoothing]);
}
