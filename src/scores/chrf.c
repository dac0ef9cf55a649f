/* chrf.c: chrF and chrF++ of a corpus (Popović 2015, 2017) as sacreBLEU computes them: β = 2, n-grams of 1 to 6
 * characters without white space, and of up to `word_order` words. */
#include "base/python_text.h"
#include "scores/bleu_text.h"
#include "scores/kind.h"
#include "scores/ngrams.h"

#include <string.h>

#define CHARACTER_ORDERS 6
#define BETA             2

static int n_orders(const ScoreOptions *options)
{
    return CHARACTER_ORDERS + options->word_order;
}

/* A text as characters and as words. */
typedef struct ChrfText {
    Tokens characters, words;
} ChrfText;

static void add_chrf_token(NgramTable *table, GArray *ids, const char *token, const char *end)
{
    int32_t id = ngrams_token(table, token, (size_t)(end - token));
    g_array_append_val(ids, id);
}

/* The words of a text; one ASCII punctuation character at the end of a word, or else at its start, is split off. */
static Tokens read_words(NgramTable *table, const char *text)
{
    g_autoptr(GArray) ids = g_array_sized_new(FALSE, FALSE, sizeof(int32_t), 64);
    const char *at = text, *word;
    size_t bytes;
    while (python_next_word(&at, &word, &bytes)) {
        const char *end = word + bytes;
        if (g_utf8_next_char(word) < end && python_is_punctuation((guchar)end[-1])) {
            add_chrf_token(table, ids, word, end - 1);
            word = end - 1;
        } else if (bytes > 1 && python_is_punctuation((guchar)word[0])) {
            add_chrf_token(table, ids, word, word + 1);
            word++;
        }
        add_chrf_token(table, ids, word, end);
    }
    int64_t n = ids->len;
    return (Tokens){ (int32_t *)g_array_steal(ids, NULL), n };
}

static ChrfText chrf_text(NgramTable *table, const char *text, const ScoreOptions *options)
{
    g_autofree char *lower = options->lowercase ? python_lower(text) : NULL;
    const char *read = lower ? lower : text;
    return (ChrfText){ ngrams_characters(table, read), read_words(table, read) };
}

static void chrf_text_clear(ChrfText *text)
{
    g_free(text->characters.ids);
    g_free(text->words.ids);
}

/* For each order 1 to n: matches, n-grams of the prediction (0 if the reference has no n-grams of this order), n-grams
 * of the reference. */
static void compare_ngrams(double *row, NgramTable *table, const Tokens *prediction, const Tokens *reference, int n)
{
    g_autofree int32_t *a = g_memdup2(prediction->ids, (gsize)prediction->n * sizeof(int32_t)),
                       *b = g_memdup2(reference->ids, (gsize)reference->n * sizeof(int32_t));
    for (int order = 1; order <= n; order++, row += 3) {
        int64_t n_a = ngrams_lengthen(table, a, prediction, order), n_b = ngrams_lengthen(table, b, reference, order);
        row[0] = (double)ngrams_common(table, a, n_a, b, n_b);
        row[1] = n_b > 0 ? (double)n_a : 0;
        row[2] = (double)n_b;
    }
}

/* F_β of the mean precision and the mean recall over the orders that both texts have. */
static double f_score(const double *row, int n)
{
    double precision = 0, recall = 0, orders = 0;
    for (int order = 0; order < n; order++, row += 3)
        if (row[1] > 0 && row[2] > 0) {
            precision += row[0] / row[1];
            recall += row[0] / row[2];
            orders++;
        }
    precision = ratio(precision, orders);
    recall = ratio(recall, orders);
    return 100 * ratio((1 + BETA * BETA) * precision * recall, BETA * BETA * precision + recall);
}

/* Fills the row with the counts for the reference of the highest score; of equal ones the first. */
static void measure_segment(double *row, NgramTable *table, const ScoreOptions *options, const char *prediction,
                            const char *const *references)
{
    double best = -1;
    ngrams_reset(table);
    ChrfText hypothesis = chrf_text(table, prediction, options);
    for (const char *const *text = references; *text; text++) {
        double counts[CHRF_WIDTH] = { 0 };
        ChrfText reference = chrf_text(table, *text, options);
        compare_ngrams(counts, table, &hypothesis.characters, &reference.characters, CHARACTER_ORDERS);
        compare_ngrams(counts + 3 * CHARACTER_ORDERS, table, &hypothesis.words, &reference.words, options->word_order);
        double score = f_score(counts, n_orders(options));
        if (score > best) {
            best = score;
            memcpy(row, counts, sizeof counts);
        }
        chrf_text_clear(&reference);
    }
    chrf_text_clear(&hypothesis);
}

bool chrf_measure(ScoreStats *stats, const ScoreInput *in, G_GNUC_UNUSED GError **error)
{
    g_autoptr(NgramTable) table = ngrams_open();
    for (int64_t i = 0; i < in->n; i++)
        measure_segment(stats_row(stats, i), table, stats->options, in->predictions[i], in->references[i]);
    return true;
}

void chrf_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    double sums[MOST_WIDTH];
    stats_sum(sums, stats, pick, n);
    values[0] = f_score(sums, n_orders(stats->options));
}

char *chrf_signature(const ScoreInput *in, const ScoreOptions *options)
{
    g_autofree char *n = bleu_text_references(in);
    return g_strdup_printf("nrefs:%s|case:%s|eff:yes|nc:%d|nw:%d|space:no|version:" SACREBLEU_VERSION, n,
                           options->lowercase ? "lc" : "mixed", CHARACTER_ORDERS, options->word_order);
}
