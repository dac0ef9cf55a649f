/* `loam scores` on what `loam eval --task --out` writes says what the evaluation says: of every task of the table. */
#include "base/philox.h"
#include "data/task/special.h"
#include "eval/task_scores.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define EXAMPLES 60

static bool keep_result(G_GNUC_UNUSED const ScoreKind *kind, const ScoreResult *result, void *context,
                        G_GNUC_UNUSED GError **error)
{
    g_array_append_vals(context, result->values, (guint)result->n_values);
    return true;
}

/* A text such as the task's right answers are. */
static char *draw_text(const Task *task, Philox *rng)
{
    static const char *const words[] = { "the cat sat . ", "on the mat",         "True",  "true",
                                         "it's",           " a  red\tfox . ran", "x = 1", "" };
    g_auto(GStrv) labels = g_strsplit(task->labels ? task->labels : "", ",", -1);
    const ScoreKind *kind = NULL;
    g_auto(GStrv) names = g_strsplit(task->scores, ",", -1);
    kind = score_find(names[0]);
    if (kind->takes == SCORE_NUMBERS)
        return g_strdup_printf("%.1f", (double)philox_below(rng, 50) / 10);
    if (kind->takes == SCORE_TAGS)
        return g_strdup_printf("%s O %s", philox_below(rng, 2) ? "B-X" : "O", philox_below(rng, 2) ? "B-Y" : "I-X");
    if (task->labels == NULL && kind->takes == SCORE_LABELS)
        return g_strdup(philox_below(rng, 2) ? "true" : "false");
    if (task->labels && task->grade != wsc_grade)
        return g_strdup(labels[philox_below(rng, g_strv_length(labels))]);
    return g_strconcat(words[philox_below(rng, G_N_ELEMENTS(words) - 1)], words[philox_below(rng, G_N_ELEMENTS(words))],
                       NULL);
}

/* Adds examples with random answers to the scores, and to a file of answers; every seventh has no right answer.
 * before: white space before right answers. */
static void answer(TaskScores *scores, const Task *task, const char *before, GString *lines)
{
    Philox rng = philox_open(philox_key(7, 0, 0), 0);
    for (int i = 0; i < EXAMPLES; i++) {
        g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *target = draw_text(task, &rng), *other = draw_text(task, &rng),
                        *group = g_strdup_printf("%d", i / 3);
        g_ptr_array_add(targets, g_strconcat(before, target, NULL));
        TaskExample example = { .input = (char *)"in",
                                .targets = targets,
                                .known = i % 7 != 6,
                                .group = strstr(task->scores, "multirc") ? group : NULL,
                                .answer = (char *)(philox_below(&rng, 2) ? "True" : "False") };
        const char *said = philox_below(&rng, 2) ? target : other;
        task_scores_add(scores, &example, said);
        json_t *line = task_scores_line(scores, &example, said);
        g_autofree char *text = json_dumps(line, JSON_COMPACT);
        g_string_append_printf(lines, "%s\n", text);
        json_decref(line);
    }
}

/* The values of the scores that the file names, over the examples of the file. */
static void score_file(const char *path, const TaskScores *like, GArray *values)
{
    const ScoreFiles files = { .predictions = path };
    json_auto_t *settings = NULL;
    g_assert_true(score_read_settings(&settings, path, NULL));
    const char *positive = json_string_value(json_object_get(settings, "positive")),
               *labels = json_string_value(json_object_get(settings, "labels")),
               *tokenizer = json_string_value(json_object_get(settings, "tokenizer"));
    g_auto(GStrv) names = g_strsplit(json_string_value(json_object_get(settings, "names")), ",", -1),
                  split = labels ? g_strsplit(labels, ",", -1) : NULL;
    const ScoreOptions options = { .positive = positive,
                                   .labels = (const char *const *)split,
                                   .tokenizer = g_strcmp0(tokenizer, "intl") == 0 ? BLEU_INTL : BLEU_13A,
                                   .language = json_string_value(json_object_get(settings, "language")),
                                   .resamples = like->resamples,
                                   .confidence = like->confidence,
                                   .seed = like->seed };
    for (char **name = names; *name; name++) {
        ScoreExamples examples;
        ScoreResult result;
        const ScoreKind *kind = score_find(*name);
        g_autoptr(GError) error = NULL;
        if (!score_read(&examples, &files, kind->takes, &error) ||
            !score_compute(&result, kind, &examples.in, &options, &error))
            g_error("%s: %s", *name, error->message);
        g_assert_cmpint(examples.n_unknown, ==, like->n_unknown);
        keep_result(kind, &result, values, NULL);
        score_result_clear(&result);
        score_examples_clear(&examples);
    }
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void check_task(const Task *task, const char *before)
{
    g_autoptr(GArray) here = g_array_new(false, false, sizeof(ScoreValue)),
                      there = g_array_new(false, false, sizeof(ScoreValue));
    g_autoptr(GString) lines = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_strdup_printf("%s/loam-lines-%d.jsonl", g_get_tmp_dir(), (int)getpid());
    TaskScores scores = task_scores_new(task);
    scores.resamples = 30;
    answer(&scores, task, before, lines);
    g_assert_true(g_file_set_contents(path, lines->str, -1, NULL));
    if (!task_scores_each(&scores, keep_result, here, &error))
        g_error("%s: %s", task->name, error->message);
    score_file(path, &scores, there);
    g_assert_cmpuint(here->len, ==, there->len);
    for (guint i = 0; i < here->len; i++) {
        const ScoreValue *a = &g_array_index(here, ScoreValue, i), *b = &g_array_index(there, ScoreValue, i);
        if (!same(a->value, b->value) || !same(a->low, b->low) || !same(a->high, b->high))
            g_error("%s, %s: %g, %g to %g; of the file %g, %g to %g", task->name, a->name, a->value, a->low, a->high,
                    b->value, b->low, b->high);
    }
    task_scores_free(&scores);
    g_unlink(path);
}

static void scores_of_the_file_are_those_of_the_evaluation(void)
{
    static const Task own[] = { { .name = "tags", .scores = "seqeval" },
                                { .name = "classes", .scores = "f1_macro,accuracy", .labels = "a,b,c" },
                                { .name = "bleu", .scores = "bleu,chrf", .intl = true } };
    int n = 0;
    for (const Task *task; (task = task_at((size_t)n)); n++) {
        check_task(task, "");
        check_task(task, " ");
    }
    for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
        check_task(&own[i], "");
    g_assert_cmpint(n, >, 40);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/answer_lines/scores_of_the_file_are_those_of_the_evaluation",
                    scores_of_the_file_are_those_of_the_evaluation);
    return g_test_run();
}
