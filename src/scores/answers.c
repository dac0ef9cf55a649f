/* answers.c: scores of short answers: exact match, and exact match with F1 of words after the normalisation of SQuAD
 * (Rajpurkar et al. 2016, 2018) and of TriviaQA (Joshi et al. 2017). The best of several references counts. */
#include "base/python_text.h"
#include "scores/kind.h"
#include "scores/ngrams.h"

#include <math.h>
#include <string.h>

bool exact_match_measure(ScoreStats *stats, const ScoreInput *in, G_GNUC_UNUSED GError **error)
{
    for (int64_t i = 0; i < in->n; i++)
        stats->at[i] = g_strv_contains(in->references[i], in->predictions[i]);
    return true;
}

/* ---- normalisation ---- */

static bool is_article(const char *word, size_t bytes)
{
    return (bytes == 1 && word[0] == 'a') || (bytes == 2 && memcmp(word, "an", 2) == 0) ||
           (bytes == 3 && memcmp(word, "the", 3) == 0);
}

/* Copies a text, with a space in place of each article. */
static void drop_articles(GString *out, const char *text)
{
    for (const char *at = text, *end; *at; at = end) {
        end = at;
        while (*end && python_is_word(g_utf8_get_char(end)))
            end = g_utf8_next_char(end);
        if (end == at)
            end = g_utf8_next_char(at);
        if (is_article(at, (size_t)(end - at)))
            g_string_append_c(out, ' ');
        else
            g_string_append_len(out, at, end - at);
    }
}

/* The text in lower case, without punctuation and articles, with one space between words. SQuAD deletes punctuation;
 * TriviaQA replaces it by spaces and counts ‘ ’ ´ as punctuation. g_free. */
static char *normalize_answer(const char *text, int style)
{
    g_autofree char *lower = python_lower(text);
    g_autoptr(GString) plain = g_string_new(NULL);
    GString *out = g_string_new(NULL);
    for (const char *at = lower; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);
        bool quote = c == 0x2018 || c == 0x2019 || c == 0xb4;
        if (!python_is_punctuation(c) && !(style == TRIVIA_ANSWERS && quote))
            g_string_append_len(plain, at, g_utf8_next_char(at) - at);
        else if (style == TRIVIA_ANSWERS)
            g_string_append_c(plain, ' ');
    }
    drop_articles(out, plain->str);
    python_collapse(out->str);
    return g_string_free(out, FALSE);
}

/* ---- scores of one answer ---- */

/* F1 of two bags of words. */
static double words_f1(NgramTable *table, const char *prediction, const char *reference, int style)
{
    ngrams_reset(table);
    Tokens a = ngrams_words(table, prediction), b = ngrams_words(table, reference);
    double common = (double)ngrams_common(table, a.ids, a.n, b.ids, b.n), f1;
    if (style == SQUAD2_ANSWERS && (a.n == 0 || b.n == 0))
        f1 = a.n == b.n;
    else
        f1 = f1_of(ratio(common, (double)a.n), ratio(common, (double)b.n));
    g_free(a.ids);
    g_free(b.ids);
    return f1;
}

static void take_best(double row[2], NgramTable *table, const char *prediction, const char *reference, int style)
{
    row[0] = fmax(row[0], strcmp(prediction, reference) == 0);
    row[1] = fmax(row[1], words_f1(table, prediction, reference, style));
}

/* A row has exact match, F1 and, for SQuAD 2, whether the question has an answer. In SQuAD 2, references that are empty
 * after normalisation are ignored; a question without others has no answer, and only an empty prediction is right. */
bool answers_measure(ScoreStats *stats, const ScoreInput *in, G_GNUC_UNUSED GError **error)
{
    int style = stats->kind->variant;
    g_autoptr(NgramTable) table = ngrams_open();
    for (int64_t i = 0; i < in->n; i++) {
        double *row = stats_row(stats, i);
        g_autofree char *prediction = normalize_answer(in->predictions[i], style);
        bool answered = false;
        for (const char *const *reference = in->references[i]; *reference; reference++) {
            g_autofree char *wanted = normalize_answer(*reference, style);
            if (style == SQUAD2_ANSWERS && *wanted == '\0')
                continue;
            answered = true;
            take_best(row, table, prediction, wanted, style);
        }
        if (style == SQUAD2_ANSWERS && !answered)
            take_best(row, table, prediction, "", style);
        if (style == SQUAD2_ANSWERS)
            row[2] = answered;
    }
    return true;
}

/* Means over all questions, over those with an answer, and over those without one; 0 if there are none. */
void squad2_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    double sums[2][3] = {
        { 0 }
    }; /* [0] questions without an answer, [1] with an answer; sums of exact match, of F1, and number of questions */
    for (int64_t i = 0; i < n; i++) {
        const double *row = stats_row(stats, pick[i]);
        double *sum = sums[row[2] > 0];
        sum[0] += row[0];
        sum[1] += row[1];
        sum[2]++;
    }
    for (int v = 0; v < 2; v++) {
        values[v] = 100 * (sums[0][v] + sums[1][v]) / (double)n;
        values[2 + v] = 100 * ratio(sums[1][v], sums[1][2]);
        values[4 + v] = 100 * ratio(sums[0][v], sums[0][2]);
    }
}
