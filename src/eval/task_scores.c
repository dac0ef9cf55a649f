#include "eval/task_scores.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

TaskScores task_scores_new(const Task *task)
{
    return (TaskScores){ .task = task,
                         .confidence = 95,
                         .seed = 1,
                         .predictions = g_ptr_array_new_with_free_func(g_free),
                         .groups = g_ptr_array_new_with_free_func(g_free),
                         .references = g_ptr_array_new_with_free_func((GDestroyNotify)(void (*)(void))g_strfreev) };
}

void task_scores_free(TaskScores *scores)
{
    g_ptr_array_unref(scores->predictions);
    g_ptr_array_unref(scores->groups);
    g_ptr_array_unref(scores->references);
}

static GStrv take_references(GPtrArray *texts)
{
    GStrv all = g_new0(char *, texts->len + 1);
    for (guint i = 0; i < texts->len; i++)
        all[i] = g_strdup(texts->pdata[i]);
    return all;
}

/* Removes the words that have no tag in the reference from both prediction and reference. */
static void drop_untagged(char **prediction, char **reference)
{
    g_auto(GStrv) said = g_strsplit(*prediction, " ", -1), right = g_strsplit(*reference, " ", -1);
    if (g_strv_length(said) != g_strv_length(right))
        return;
    g_autoptr(GString) kept = g_string_new(NULL), kept_right = g_string_new(NULL);
    for (guint i = 0; right[i]; i++)
        if (!label_is_none(NULL, right[i])) {
            g_string_append_printf(kept, "%s%s", kept->len ? " " : "", said[i]);
            g_string_append_printf(kept_right, "%s%s", kept_right->len ? " " : "", right[i]);
        }
    g_free(*prediction);
    g_free(*reference);
    *prediction = g_strdup(kept->str);
    *reference = g_strdup(kept_right->str);
}

/* The texts that the scores compare: the prediction (g_free), and the references, appended as char *. White space
 * around them does not count: a tokenizer may drop it, so that no model could write such an answer. */
static char *compared(const TaskScores *scores, const TaskExample *example, const char *prediction,
                      GPtrArray *references)
{
    char *graded = g_strstrip(g_strdup(prediction));
    for (guint i = 0; i < example->targets->len; i++)
        g_ptr_array_add(references, g_strstrip(g_strdup(example->targets->pdata[i])));
    if (scores->task->grade)
        scores->task->grade(example, &graded, references);
    if (scores->task->learns == LABELS_TOKENS && references->len == 1)
        drop_untagged(&graded, (char **)&references->pdata[0]);
    return graded;
}

void task_scores_add(TaskScores *scores, const TaskExample *example, const char *prediction)
{
    g_autoptr(GPtrArray) references = g_ptr_array_new_with_free_func(g_free);
    if (!example->known) {
        scores->n_unknown++;
        return;
    }
    g_ptr_array_add(scores->predictions, compared(scores, example, prediction, references));
    g_ptr_array_add(scores->references, take_references(references));
    g_ptr_array_add(scores->groups, g_strdup(example->group ? example->group : ""));
}

static json_t *text_array(const GPtrArray *texts)
{
    json_t *array = json_array();
    for (guint i = 0; i < texts->len; i++)
        json_array_append_new(array, json_string(texts->pdata[i]));
    return array;
}

static bool same_texts(const GPtrArray *a, const GPtrArray *b)
{
    bool same = a->len == b->len;
    for (guint i = 0; same && i < a->len; i++)
        same = strcmp(a->pdata[i], b->pdata[i]) == 0;
    return same;
}

/* The targets of the task's labels, as compared() gives them; g_strfreev. */
static char **compared_labels(const TaskScores *scores)
{
    char **texts = task_label_texts(scores->task);
    for (char **text = texts; *text; text++)
        g_strstrip(*text);
    return texts;
}

/* The positive label as of compared(): task.positive is its name, or its whole target. NULL means none; g_free. */
static char *compared_positive(const TaskScores *scores, char *const *labels)
{
    const Task *task = scores->task;
    const int64_t i = task->positive && task->labels ? labels_find(task->labels, task->positive) : -1;
    const char *positive = i >= 0 ? labels[i] : task->positive;
    return positive ? g_strstrip(g_strdup(positive)) : NULL;
}

/* The scores of the task and their options, by the names that `loam scores` has for them. */
static json_t *score_settings(const TaskScores *scores)
{
    const Task *task = scores->task;
    g_auto(GStrv) labels = compared_labels(scores);
    g_autofree char *positive = compared_positive(scores, labels),
                    *names = task->average_labels ? text_list_join((const char *const *)labels) : NULL;
    return json_pack("{s:s, s:s*, s:s*, s:s*, s:s*}", "names", task->scores, "positive", positive, "labels", names,
                     "tokenizer", task->intl ? bleu_tokenizers[BLEU_INTL] : NULL, "language", task->language);
}

json_t *task_scores_line(const TaskScores *scores, const TaskExample *example, const char *prediction)
{
    g_autoptr(GPtrArray) references = g_ptr_array_new_with_free_func(g_free);
    if (!example->known)
        return json_pack("{s:s, s:o}", "prediction", prediction, "scores", score_settings(scores));
    g_autofree char *graded = compared(scores, example, prediction, references);
    return json_pack("{s:s, s:s*, s:o, s:o*, s:s*, s:o}", "prediction", prediction, "graded",
                     strcmp(graded, prediction) == 0 ? NULL : graded, "references", text_array(example->targets),
                     "graded_references", same_texts(references, example->targets) ? NULL : text_array(references),
                     "group", example->group, "scores", score_settings(scores));
}

int64_t task_scores_strange(const TaskScores *scores, guint *different, const char **example)
{
    g_autoptr(GHashTable) right = g_hash_table_new(g_str_hash, g_str_equal);
    int64_t strange = 0;
    for (guint i = 0; i < scores->references->len; i++)
        for (char **text = scores->references->pdata[i]; *text; text++)
            g_hash_table_add(right, *text);
    *different = g_hash_table_size(right);
    for (guint i = 0; i < scores->predictions->len; i++)
        if (!g_hash_table_contains(right, scores->predictions->pdata[i])) {
            *example = scores->predictions->pdata[i];
            strange++;
        }
    return scores->task->learns == LABELS_NONE && task_is_choice(*different, scores->predictions->len) ? strange : 0;
}

static bool fail_unknown_score(const char *name, GError **error)
{
    return fail_user(error, "task.scores: no score is called \"%s\"; `loam scores --list` lists them", name);
}

bool task_scores_check(const Task *task, GError **error)
{
    g_auto(GStrv) names = text_list(task->scores);
    for (char **name = names; *name; name++)
        if (!score_find(*name))
            return fail_unknown_score(*name, error);
    return true;
}

bool task_scores_check_example(const Task *task, const TaskExample *example, const char *where, GError **error)
{
    g_auto(GStrv) names = text_list(task->scores);
    for (char **name = names; example->known && example->targets->len == 0 && *name; name++) {
        const ScoreKind *kind = score_find(*name);
        if (kind && kind->references != REFERENCES_ANY)
            return fail_user(error,
                             "%s has no right answer, which the score %s needs: task.scores=squad2 scores questions "
                             "without an answer, too",
                             where, *name);
    }
    return true;
}

/* Fails for a tag whose letter stands for a part of an entity and is not followed by a type: ORG would be outside of
 * every entity, EVENT the end of one of type VENT. */
static bool check_tags(const Task *task, const char *classes, GError **error)
{
    g_auto(GStrv) scores = text_list(task->scores), tags = text_list(classes);
    bool entities = false;
    for (char **name = scores; *name; name++) {
        const ScoreKind *kind = score_find(*name);
        entities |= kind && kind->takes == SCORE_TAGS;
    }
    for (char **tag = tags; entities && task->learns == LABELS_TOKENS && *tag; tag++)
        if (strchr("BIESO", **tag) && g_ascii_isalpha((*tag)[1]))
            return fail_user(error,
                             "task.scores=%s reads the tag %s as %c and the type %s: write B- and I- before a type, "
                             "and O for a word outside, or give task.scores=accuracy, the share of texts whose tags "
                             "are all right",
                             task->scores, *tag, **tag, *tag + 1);
    return true;
}

static bool check_positive(const Task *task, const char *classes, GError **error)
{
    g_auto(GStrv) scores = text_list(task->scores), labels = task->learns ? text_list(classes) : task_label_texts(task);
    if (task->positive || !g_strv_contains((const char *const *)scores, "f1") || g_strv_length(labels) != 2 ||
        g_strv_contains((const char *const *)labels, "1"))
        return true;
    return fail_user(error,
                     "task.scores=f1: none of the labels %s and %s is 1, name the positive one: task.positive=%s",
                     labels[0], labels[1], labels[1]);
}

bool task_labels_check(const Task *task, const char *classes, GError **error)
{
    return check_positive(task, classes, error) && check_tags(task, classes, error);
}

bool task_scores_each(const TaskScores *scores, TaskScoreFn take, void *context, GError **error)
{
    const Task *task = scores->task;
    const ScoreInput in = { .n = scores->predictions->len,
                            .predictions = (const char *const *)scores->predictions->pdata,
                            .references = (const char *const *const *)scores->references->pdata,
                            .groups = (const char *const *)scores->groups->pdata };
    g_auto(GStrv) names = text_list(task->scores), labels = compared_labels(scores);
    g_autofree char *positive = compared_positive(scores, labels);
    if (in.n == 0)
        return true;
    const ScoreOptions options = { .resamples = scores->resamples,
                                   .confidence = scores->confidence,
                                   .seed = scores->seed,
                                   .positive = positive,
                                   .labels = task->average_labels ? (const char *const *)labels : NULL,
                                   .tokenizer = task->intl ? BLEU_INTL : BLEU_13A,
                                   .language = task->language };
    for (char **name = names; *name; name++) {
        const ScoreKind *kind = score_find(*name);
        g_auto(ScoreResult) result = { 0 };
        if (!kind)
            return fail_unknown_score(*name, error);
        if (!score_compute(&result, kind, &in, &options, error))
            return fail_context(error, "%s", *name);
        if (!take(kind, &result, context, error))
            return false;
    }
    return true;
}

/* ---- metrics ---- */

static void clear_metric(void *metric)
{
    g_free(((Metric *)metric)->name);
}

GArray *metric_list_new(void)
{
    GArray *metrics = g_array_new(false, false, sizeof(Metric));
    g_array_set_clear_func(metrics, clear_metric);
    return metrics;
}

/* The name of value i of a score: NAME if the value has the name of its score, else NAME.VALUE. g_free. */
static char *metric_name(const ScoreKind *kind, int i)
{
    const char *score = kind->name, *value = kind->values[i];
    return strcmp(score, value) == 0 ? g_strdup(score) : g_strdup_printf("%s.%s", score, value);
}

bool metric_is_main(const char *name)
{
    static const char *const parts[] = { "precision",  "recall",    "brevity_penalty", "length",
                                         "has_answer", "no_answer", "reference_length" };
    const char *dot = strrchr(name, '.'), *value = dot ? dot + 1 : name;
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        if (g_str_has_prefix(value, parts[i]))
            return false;
    return true;
}

static bool add_metrics(const ScoreKind *kind, const ScoreResult *result, void *context, G_GNUC_UNUSED GError **error)
{
    GArray *metrics = context;
    for (int i = 0; i < result->n_values; i++) {
        const Metric metric = { .name = metric_name(kind, i), .value = result->values[i].value };
        g_array_append_val(metrics, metric);
    }
    return true;
}

bool task_scores_metrics(const TaskScores *scores, GArray *metrics, GError **error)
{
    return task_scores_each(scores, add_metrics, metrics, error);
}

/* All metrics of the task: char *. */
static GPtrArray *metric_names(const Task *task)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) scores = text_list(task->scores);
    for (char **score = scores; *score; score++) {
        const ScoreKind *kind = score_find(*score);
        for (int i = 0; kind && kind->values[i]; i++)
            g_ptr_array_add(all, metric_name(kind, i));
    }
    return all;
}

/* Whether `name` is the part of a metric's name after the dot, or before it. */
static bool is_part(const char *metric, const char *name, bool after)
{
    const char *dot = strchr(metric, '.');
    if (!dot)
        return false;
    return after ? strcmp(dot + 1, name) == 0
                 : strlen(name) == (size_t)(dot - metric) && strncmp(metric, name, strlen(name)) == 0;
}

char *task_metric_find(const Task *task, const char *name, GError **error)
{
    g_autoptr(GPtrArray) all = metric_names(task);
    const char *first = NULL, *value = NULL;
    int values = 0;
    for (guint i = 0; i < all->len; i++) {
        const char *metric = all->pdata[i];
        if (strcmp(metric, name) == 0)
            return g_strdup(metric);
        if (is_part(metric, name, false) && !first)
            first = metric;
        if (is_part(metric, name, true)) {
            value = metric;
            values++;
        }
    }
    if (values == 1 || first)
        return g_strdup(values == 1 ? value : first);
    g_ptr_array_add(all, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)all->pdata);
    return fail_user(error, "no score of the task is called %s; there are %s", name, *list ? list : "none");
}

double metric_value(const GArray *metrics, const char *name)
{
    for (guint i = 0; i < metrics->len; i++)
        if (strcmp(g_array_index(metrics, Metric, i).name, name) == 0)
            return g_array_index(metrics, Metric, i).value;
    return NAN;
}
