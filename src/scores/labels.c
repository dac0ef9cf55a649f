/* labels.c: scores of classes that are predicted by name: accuracy, F1, Matthews, MultiRC. */
#include "base/log.h"
#include "scores/kind.h"

#include <math.h>
#include <string.h>

bool accuracy_measure(ScoreStats *stats, const ScoreInput *in, G_GNUC_UNUSED GError **error)
{
    for (int64_t i = 0; i < in->n; i++)
        stats->at[i] = strcmp(in->predictions[i], in->references[i][0]) == 0;
    return true;
}

/* ---- two labels ---- */

/* The two labels of a binary score. */
typedef struct TwoLabels {
    const char *positive, *negative; /* negative: the other label of the references; NULL if all are positive */
} TwoLabels;

/* Fails for references of three labels or more, of which `a` and `b` are not the positive one. */
static bool fail_labels(const ScoreStats *stats, const ScoreInput *in, const char *positive, const char *a,
                        const char *b, GError **error)
{
    const char *name = stats->kind->name;
    bool more = stats->options->positive != NULL;
    for (int64_t i = 0; i < in->n; i++)
        more |= strcmp(in->references[i][0], a) != 0 && strcmp(in->references[i][0], b) != 0;
    if (more)
        return fail_user(error,
                         "the references have three labels or more, such as \"%s\" and \"%s\" beside \"%s\", the "
                         "positive one (--positive, task.positive); %s takes two",
                         a, b, positive, name);
    return fail_user(error,
                     "no example has the label \"%s\", which %s takes for the positive one of \"%s\" and \"%s\": name "
                     "it (--positive, task.positive=%s)",
                     positive, name, a, b, strcmp(a, b) > 0 ? a : b);
}

static bool find_labels(TwoLabels *labels, const ScoreStats *stats, const ScoreInput *in, GError **error)
{
    const char *given = stats->options->positive;
    *labels = (TwoLabels){ .positive = given ? given : "1" };
    bool seen = given != NULL;
    for (int64_t i = 0; i < in->n; i++) {
        const char *label = in->references[i][0];
        seen |= strcmp(in->predictions[i], labels->positive) == 0;
        if (strcmp(label, labels->positive) == 0)
            seen = true;
        else if (labels->negative == NULL)
            labels->negative = label;
        else if (strcmp(label, labels->negative) != 0)
            return fail_labels(stats, in, labels->positive, labels->negative, label, error);
    }
    if (!seen)
        log_warning(
            "%s: nothing is labelled \"%s\", so the score is 0; --positive (task.positive) sets the positive label",
            stats->kind->name, labels->positive);
    return true;
}

/* Whether example i is predicted as positive. A prediction that is neither label counts as the wrong label. */
static bool predicted_positive(const TwoLabels *labels, const ScoreInput *in, int64_t i, int64_t *n_invalid)
{
    const char *label = in->predictions[i];
    if (strcmp(label, labels->positive) == 0)
        return true;
    if (labels->negative == NULL || strcmp(label, labels->negative) == 0)
        return false;
    (*n_invalid)++;
    return strcmp(in->references[i][0], labels->positive) != 0;
}

bool binary_measure(ScoreStats *stats, const ScoreInput *in, GError **error)
{
    TwoLabels labels;
    if (!find_labels(&labels, stats, in, error))
        return false;
    for (int64_t i = 0; i < in->n; i++) {
        double *row = stats_row(stats, i);
        row[1] = predicted_positive(&labels, in, i, &stats->n_invalid);
        row[2] = strcmp(in->references[i][0], labels.positive) == 0;
        row[0] = row[1] * row[2];
    }
    return true;
}

/* A unit is a question; its row: true positives, predicted positives and positives among its answers, and 1 if every
 * answer is right. */
bool multirc_measure(ScoreStats *stats, const ScoreInput *in, GError **error)
{
    TwoLabels labels;
    g_autoptr(GHashTable) questions = g_hash_table_new(g_str_hash, g_str_equal);
    if (!find_labels(&labels, stats, in, error))
        return false;
    for (int64_t i = 0; i < in->n; i++) {
        int found = GPOINTER_TO_INT(g_hash_table_lookup(questions, in->groups[i]));
        bool fresh = found == 0;
        if (fresh) {
            found = (int)g_hash_table_size(questions) + 1;
            g_hash_table_insert(questions, (char *)in->groups[i], GINT_TO_POINTER(found));
        }
        double *row = stats_row(stats, found - 1);
        bool predicted = predicted_positive(&labels, in, i, &stats->n_invalid);
        bool actual = strcmp(in->references[i][0], labels.positive) == 0;
        row[0] += predicted && actual;
        row[1] += predicted;
        row[2] += actual;
        row[3] = (fresh || row[3] > 0) && predicted == actual;
    }
    stats->n = g_hash_table_size(questions);
    return true;
}

void multirc_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    double sums[MOST_WIDTH];
    stats_sum(sums, stats, pick, n);
    values[0] = 100 * ratio(2 * sums[0], sums[1] + sums[2]);
    values[1] = 100 * sums[3] / (double)n;
}

/* ---- any number of labels ---- */

static double label_id(GHashTable *labels, const char *label)
{
    gpointer found;
    if (!g_hash_table_lookup_extended(labels, label, NULL, &found)) {
        found = GUINT_TO_POINTER(g_hash_table_size(labels));
        g_hash_table_insert(labels, (char *)label, found);
    }
    return GPOINTER_TO_UINT(found);
}

/* The row of an example: number of the predicted label, number of the reference's label. */
bool classes_measure(ScoreStats *stats, const ScoreInput *in, G_GNUC_UNUSED GError **error)
{
    g_autoptr(GHashTable) labels = g_hash_table_new(g_str_hash, g_str_equal);
    for (const char *const *label = stats->options->labels; label && *label; label++)
        label_id(labels, *label);
    stats->n_averaged = g_hash_table_size(labels);
    for (int64_t i = 0; i < in->n; i++) {
        double *row = stats_row(stats, i);
        row[1] = label_id(labels, in->references[i][0]);
    }
    guint known = g_hash_table_size(labels);
    for (int64_t i = 0; i < in->n; i++) {
        double *row = stats_row(stats, i);
        row[0] = label_id(labels, in->predictions[i]);
        stats->n_invalid += row[0] >= known;
    }
    stats->n_labels = g_hash_table_size(labels);
    return true;
}

/* Counts of one label: true positives, predictions, references. */
typedef struct LabelCount {
    double both, predicted, actual;
} LabelCount;

/* The counts of each label (n_labels) over the units in `pick`. g_free. */
static LabelCount *count_labels(const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    LabelCount *counts = g_new0(LabelCount, (gsize)stats->n_labels);
    for (int64_t i = 0; i < n; i++) {
        const double *row = stats_row(stats, pick[i]);
        LabelCount *predicted = &counts[(int64_t)row[0]], *actual = &counts[(int64_t)row[1]];
        predicted->predicted++;
        actual->actual++;
        predicted->both += predicted == actual;
    }
    return counts;
}

static bool is_averaged(const ScoreStats *stats, const LabelCount *counts, int64_t label)
{
    return stats->n_averaged > 0 ? label < stats->n_averaged : counts[label].predicted + counts[label].actual > 0;
}

void f1_macro_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    g_autofree LabelCount *counts = count_labels(stats, pick, n);
    double n_averaged = 0;
    values[0] = values[1] = values[2] = 0;
    for (int64_t i = 0; i < stats->n_labels; i++)
        if (is_averaged(stats, counts, i)) {
            values[0] += 100 * ratio(2 * counts[i].both, counts[i].predicted + counts[i].actual);
            values[1] += 100 * ratio(counts[i].both, counts[i].predicted);
            values[2] += 100 * ratio(counts[i].both, counts[i].actual);
            n_averaged++;
        }
    for (int v = 0; v < 3; v++)
        values[v] /= n_averaged;
}

void f1_micro_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    g_autofree LabelCount *counts = count_labels(stats, pick, n);
    LabelCount sum = { 0 };
    for (int64_t i = 0; i < stats->n_labels; i++)
        if (is_averaged(stats, counts, i)) {
            sum.both += counts[i].both;
            sum.predicted += counts[i].predicted;
            sum.actual += counts[i].actual;
        }
    values[0] = 100 * ratio(2 * sum.both, sum.predicted + sum.actual);
    values[1] = 100 * ratio(sum.both, sum.predicted);
    values[2] = 100 * ratio(sum.both, sum.actual);
}

/* Gorodkin 2004: with c right of n, p_k predictions and t_k references of label k, (c n - Σ t_k p_k) / √((n² - Σ p_k²)
 * (n² - Σ t_k²)); 0 if predictions or references have only one label. */
void matthews_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    g_autofree LabelCount *counts = count_labels(stats, pick, n);
    double right = 0, tp = 0, pp = 0, tt = 0, all = (double)n;
    for (int64_t i = 0; i < stats->n_labels; i++) {
        right += counts[i].both;
        tp += counts[i].actual * counts[i].predicted;
        pp += counts[i].predicted * counts[i].predicted;
        tt += counts[i].actual * counts[i].actual;
    }
    double scale = sqrt(all * all - pp) * sqrt(all * all - tt);
    values[0] = scale > 0 ? 100 * (right * all - tp) / scale : 0;
}
