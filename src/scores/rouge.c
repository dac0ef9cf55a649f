/* rouge.c: ROUGE-N, ROUGE-L and ROUGE-Lsum (Lin 2004) as rouge_score computes them. A word is a run of a-z and 0-9 in
 * the text's lower case; all other characters are between words. */
#include "scores/kind.h"
#include "scores/ngrams.h"
#include "scores/porter.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST_CELLS ((int64_t)1 << 32) /* limit on the table of a longest common subsequence */

/* The words of a text; line i has the words [lines[i], lines[i + 1]). */
typedef struct Summary {
    Tokens words;
    int64_t *lines; /* (n_lines + 1) */
    int64_t n_lines;
} Summary;

/* Precision, recall and F1 of one prediction and one reference, each in [0, 1]. */
typedef struct Prf {
    double precision, recall, f1;
} Prf;

static Prf prf_of(double common, int64_t n_prediction, int64_t n_reference)
{
    Prf out = { ratio(common, (double)n_prediction), ratio(common, (double)n_reference), 0 };
    out.f1 = f1_of(out.precision, out.recall);
    return out;
}

/* ---- words ---- */

static void summary_clear(Summary *summary)
{
    g_free(summary->words.ids);
    g_free(summary->lines);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Summary, summary_clear)

/* The letter or digit that a character becomes in lower case; 0 for any other. */
static char word_letter(gunichar c)
{
    if (c < 0x80)
        return g_ascii_isalnum((char)c) ? g_ascii_tolower((char)c) : '\0';
    return c == 0x130 ? 'i' : c == 0x212a ? 'k' : '\0'; /* İ (U+0130) and the Kelvin sign (U+212A) */
}

static void end_word(GArray *ids, GString *word, NgramTable *table, bool stem)
{
    if (word->len == 0)
        return;
    if (stem && word->len > 3)
        porter_stem(word->str);
    int32_t id = ngrams_token(table, word->str, strlen(word->str));
    g_array_append_val(ids, id);
    g_string_truncate(word, 0);
}

static Summary read_summary(NgramTable *table, const char *text, bool stem)
{
    g_autoptr(GArray) ids = g_array_sized_new(FALSE, FALSE, sizeof(int32_t), 64),
                      lines = g_array_new(FALSE, TRUE, sizeof(int64_t));
    g_autoptr(GString) word = g_string_new(NULL);
    g_array_set_size(lines, 1);
    for (const char *at = text;; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);
        char letter = word_letter(c);
        if (letter)
            g_string_append_c(word, letter);
        if (letter == '\0' || c == 0x130) /* İ becomes an i and a combining mark, which is not a letter */
            end_word(ids, word, table, stem);
        if (c == '\n' || c == '\0') {
            int64_t n = ids->len;
            g_array_append_val(lines, n);
        }
        if (c == '\0')
            break;
    }
    Summary out = { .words.n = ids->len, .n_lines = lines->len - 1 };
    out.words.ids = (int32_t *)g_array_steal(ids, NULL);
    out.lines = (int64_t *)g_array_steal(lines, NULL);
    return out;
}

static Tokens summary_line(const Summary *summary, int64_t line)
{
    int64_t first = summary->lines[line];
    return (Tokens){ summary->words.ids + first, summary->lines[line + 1] - first };
}

/* ---- ROUGE-N ---- */

static Prf rouge_n(NgramTable *table, const Summary *prediction, const Summary *reference, int order)
{
    const Tokens *p = &prediction->words, *r = &reference->words;
    g_autofree int32_t *a = g_memdup2(p->ids, (gsize)p->n * sizeof(int32_t)),
                       *b = g_memdup2(r->ids, (gsize)r->n * sizeof(int32_t));
    int64_t n_a = p->n, n_b = r->n;
    for (int i = 2; i <= order; i++) {
        n_a = ngrams_lengthen(table, a, p, i);
        n_b = ngrams_lengthen(table, b, r, i);
    }
    return prf_of((double)ngrams_common(table, a, n_a, b, n_b), n_a, n_b);
}

/* ---- ROUGE-L ---- */

/* Marks the tokens of r that are in a longest common subsequence (LCS) of r and c, walking back from their ends. left
 * (r.n + 1, c.n + 1): one bit for each pair (i, j), set if LCS(r[0, i), c[0, j - 1)) is longer than LCS(r[0, i - 1),
 * c[0, j)); the walk then leaves out c[j - 1], else r[i - 1]. */
static void mark_common(bool *common, Tokens r, Tokens c, const uint8_t *left)
{
    for (int64_t i = r.n, j = c.n; i > 0 && j > 0;) {
        int64_t bit = i * (c.n + 1) + j;
        if (r.ids[i - 1] == c.ids[j - 1]) {
            common[--i] = true;
            j--;
        } else if (left[bit >> 3] >> (bit & 7) & 1) {
            j--;
        } else {
            i--;
        }
    }
}

/* Length of the longest common subsequence of r and c. common (r.n): marks its tokens in r; NULL means no marks. */
static int64_t longest_common(Tokens r, Tokens c, bool *common)
{
    g_autofree int32_t *rows = g_new0(int32_t, (gsize)(2 * (c.n + 1)));
    g_autofree uint8_t *left = common ? g_malloc0((gsize)((r.n + 1) * (c.n + 1) / 8 + 1)) : NULL;
    int32_t *above = rows, *row = rows + c.n + 1;
    for (int64_t i = 1; i <= r.n; i++) {
        for (int64_t j = 1; j <= c.n; j++) {
            int64_t bit = i * (c.n + 1) + j;
            row[j] = r.ids[i - 1] == c.ids[j - 1] ? above[j - 1] + 1 : MAX(above[j], row[j - 1]);
            if (left && row[j - 1] > above[j])
                left[bit >> 3] |= (uint8_t)(1u << (bit & 7));
        }
        int32_t *swap = above;
        above = row;
        row = swap;
    }
    if (common)
        mark_common(common, r, c, left);
    return above[c.n];
}

/* ROUGE-Lsum: a word of a reference line is a hit if it is in the longest common subsequence of that line and any line
 * of the prediction. A word counts at most as often as it occurs in the whole prediction. */
static Prf rouge_lsum(const NgramTable *table, const Summary *prediction, const Summary *reference)
{
    const Tokens *p = &prediction->words, *r = &reference->words;
    g_autofree int32_t *hits = g_new(int32_t, (gsize)r->n);
    g_autofree bool *common = g_new0(bool, (gsize)r->n);
    int64_t n_hits = 0;
    for (int64_t i = 0; i < reference->n_lines; i++)
        for (int64_t k = 0; summary_line(reference, i).n > 0 && k < prediction->n_lines; k++)
            if (summary_line(prediction, k).n > 0)
                longest_common(summary_line(reference, i), summary_line(prediction, k), common + reference->lines[i]);
    for (int64_t i = 0; i < r->n; i++)
        if (common[i])
            hits[n_hits++] = r->ids[i];
    return prf_of((double)ngrams_common(table, p->ids, p->n, hits, n_hits), p->n, r->n);
}

/* ---- the score ---- */

static Prf rouge_of(NgramTable *table, const Summary *prediction, const Summary *reference, int variant)
{
    switch (variant) {
    case ROUGE_L:
        return prf_of((double)longest_common(reference->words, prediction->words, NULL), prediction->words.n,
                      reference->words.n);
    case ROUGE_LSUM:
        return rouge_lsum(table, prediction, reference);
    default:
        return rouge_n(table, prediction, reference, variant);
    }
}

/* Updates a row with the scores of one reference. ROUGE_ALL keeps the largest of each F1; other variants keep F1,
 * precision and recall of the reference with the highest F1, of equal ones the first. */
static void take_better(double *row, NgramTable *table, const Summary *prediction, const Summary *reference,
                        int variant, bool first)
{
    if (variant == ROUGE_ALL) {
        for (int v = ROUGE_1; v <= ROUGE_LSUM; v++)
            row[v - 1] = fmax(row[v - 1], rouge_of(table, prediction, reference, v).f1);
        return;
    }
    Prf prf = rouge_of(table, prediction, reference, variant);
    if (first || prf.f1 > row[0]) {
        row[0] = prf.f1;
        row[1] = prf.precision;
        row[2] = prf.recall;
    }
}

static bool measure_one(double *row, NgramTable *table, const ScoreStats *stats, const ScoreInput *in, int64_t i,
                        GError **error)
{
    const bool stem = stats->options->stem;
    ngrams_reset(table);
    g_auto(Summary) prediction = read_summary(table, in->predictions[i], stem);
    for (const char *const *text = in->references[i]; *text; text++) {
        g_auto(Summary) reference = read_summary(table, *text, stem);
        int64_t n_p = prediction.words.n, n_r = reference.words.n;
        if (n_p > INT32_MAX || n_r > INT32_MAX || (n_p + 1) * (n_r + 1) > MOST_CELLS)
            return fail_user(error,
                             "example %" PRId64 ": texts of %" PRId64 " and %" PRId64 " words are too long to compare",
                             i + 1, n_p, n_r);
        take_better(row, table, &prediction, &reference, stats->kind->variant, text == in->references[i]);
    }
    return true;
}

bool rouge_measure(ScoreStats *stats, const ScoreInput *in, GError **error)
{
    g_autoptr(NgramTable) table = ngrams_open();
    for (int64_t i = 0; i < in->n; i++)
        if (!measure_one(stats_row(stats, i), table, stats, in, i, error))
            return false;
    return true;
}

/* Means of ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum, and the geometric mean of the first three, as in SCROLLS. */
void rouge_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    finish_means(values, stats, pick, n);
    values[4] = cbrt(values[0] * values[1] * values[2]);
}
