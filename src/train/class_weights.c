/* class_weights.c: one factor on the loss per class of a classifier, as train.class_weights says. */
#include "base/text.h"
#include "train/trainer.h"

#define MOST_LISTED 40 /* most classes that one log line lists */

static void balance(float *weights, const int64_t *counts, int64_t n)
{
    int64_t labels = 0, present = 0;
    for (int64_t i = 0; i < n; i++) {
        labels += counts[i];
        present += counts[i] > 0;
    }
    for (int64_t i = 0; i < n; i++)
        weights[i] = counts[i] > 0 ? (float)((double)labels / ((double)present * (double)counts[i])) : 1;
}

/* Logs the weight and the number of labels of each class: "bad 0.6 (of 300), good 3 (of 60)". */
static void report_weights(const Config *config, const float *weights, const int64_t *counts, int64_t n)
{
    g_auto(GStrv) names = text_list(config->model.labels);
    g_autoptr(GString) text = g_string_new(NULL), absent = g_string_new(NULL);
    for (int64_t i = 0; i < n; i++) {
        g_string_append_printf(text, "%s%s %.4g (of %" PRId64 ")", i ? ", " : "", names[i], (double)weights[i],
                               counts[i]);
        if (counts[i] == 0)
            g_string_append_printf(absent, "%s%s", absent->len ? ", " : "", names[i]);
    }
    log_info("weights of the classes: %s", text->str);
    if (absent->len)
        log_warning("no example to train on has the label %s", absent->str);
}

/* Logs the number of labels of each class: "bad 300, good 60", then how many classes are not listed. */
static void report_counts(const Config *config, const int64_t *counts, int64_t n)
{
    g_auto(GStrv) names = text_list(config->model.labels);
    g_autoptr(GString) text = g_string_new(NULL);
    for (int64_t i = 0; i < MIN(n, MOST_LISTED); i++)
        g_string_append_printf(text, "%s%s %" PRId64, i ? ", " : "", names[i], counts[i]);
    if (n > MOST_LISTED)
        g_string_append_printf(text, ", and %" PRId64 " classes more", n - MOST_LISTED);
    log_info("labels to train on: %s", text->str);
}

bool class_weights_find(float **weights, const Config *config, const Loader *train, GError **error)
{
    const int64_t n = model_config_outputs(&config->model);
    GError *problem = NULL;
    *weights = config_class_weights(config, &problem);
    if (problem) {
        g_propagate_error(error, problem);
        return false;
    }
    if (!labels_have_names((LabelKind)config->model.classifier))
        return true;
    g_autofree int64_t *counts = g_new0(int64_t, (gsize)n);
    if (!loader_count_labels(train, counts, error))
        return false;
    if (!config_balances_classes(config)) {
        report_counts(config, counts, n);
        return true;
    }
    *weights = g_new(float, (gsize)n);
    balance(*weights, counts, n);
    report_weights(config, *weights, counts, n);
    return true;
}
