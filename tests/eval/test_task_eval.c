#include "eval/task_eval.h"

#include "data/task_test.h"
#include "text/tokenizer.h"

#include <math.h>
#include <string.h>

/* ---- metrics ---- */

static const struct {
    const char *scores, *asked, *metric; /* metric NULL means an error */
} metrics[] = {
    { "accuracy", "accuracy", "accuracy" },
    { "f1,accuracy", "f1", "f1" },
    { "f1,accuracy", "precision", "f1.precision" },
    { "squad", "f1", "squad.f1" },
    { "squad", "squad", "squad.exact_match" },
    { "squad", "squad.f1", "squad.f1" },
    { "f1_macro,accuracy", "f1", "f1_macro.f1" },
    { "f1_macro,accuracy", "f1_macro", "f1_macro.f1" },
    { "rouge", "rouge_l", "rouge.rouge_l" },
    { "f1_macro,f1_micro", "f1", NULL },
    { "f1_macro,f1_micro", "f1_micro", "f1_micro.f1" },
    { "squad", "bleu", NULL },
    { "squad", "squad.f", NULL },
    { "squad", "", NULL },
};

static void a_metric_is_found_by_any_name_that_tells_it(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(metrics); i++) {
        const Task task = { .scores = metrics[i].scores };
        g_autoptr(GError) error = NULL;
        g_autofree char *found = task_metric_find(&task, metrics[i].asked, &error);
        g_assert_cmpstr(found, ==, metrics[i].metric);
        g_assert_true((found == NULL) == (error != NULL));
    }
}

static void parts_of_a_score_are_no_main_metrics(void)
{
    static const char *const mains[] = { "accuracy", "squad.f1", "rouge.rouge_2", "bleu", "f1_macro.f1", NULL };
    static const char *const parts[] = { "f1.precision", "bleu.precision_4", "bleu.length", "squad2.no_answer_f1",
                                         NULL };
    for (const char *const *name = mains; *name; name++)
        g_assert_true(metric_is_main(*name));
    for (const char *const *name = parts; *name; name++)
        g_assert_false(metric_is_main(*name));
}

/* A right prediction, a wrong one, and one of an example without a known answer, which is not scored. White space
 * around a right answer, which the tokenizer of a T5 drops, is not compared. */
static void scores_are_of_examples_with_known_answers(void)
{
    const Task task = { .scores = "accuracy,squad" };
    TaskScores scores = task_scores_new(&task);
    g_autoptr(GPtrArray) targets = g_ptr_array_new();
    g_autoptr(GArray) found = metric_list_new();
    g_ptr_array_add(targets, (void *)" yes ");
    TaskExample example = { .targets = targets, .known = true };
    task_scores_add(&scores, &example, "yes");
    task_scores_add(&scores, &example, "no");
    g_assert_true(scores.n_unknown == 0 && task_scores_metrics(&scores, found, NULL));
    g_assert_cmpfloat(metric_value(found, "accuracy"), ==, 50);
    g_assert_cmpfloat(metric_value(found, "squad.exact_match"), ==, 50);
    g_assert_true(isnan(metric_value(found, "f1")));
    example.known = false;
    task_scores_add(&scores, &example, "yes");
    g_assert_cmpint(scores.n_unknown, ==, 1);
    g_array_set_size(found, 0);
    g_assert_true(task_scores_metrics(&scores, found, NULL)); /* of the others */
    g_assert_cmpfloat(metric_value(found, "accuracy"), ==, 50);
    task_scores_free(&scores);
}

/* With task.labels, task.positive is a name, and predictions are whole targets. */
static void the_positive_label_is_compared_as_its_target(void)
{
    const Task task = { .scores = "f1", .labels = "no,yes", .positive = "yes", .target = " it is {label}" };
    TaskScores scores = task_scores_new(&task);
    g_autoptr(GPtrArray) targets = g_ptr_array_new();
    g_autoptr(GArray) found = metric_list_new();
    g_ptr_array_add(targets, (void *)" it is yes");
    const TaskExample example = { .targets = targets, .known = true };
    task_scores_add(&scores, &example, "it is yes");
    g_assert_true(task_scores_metrics(&scores, found, NULL));
    g_assert_cmpfloat(metric_value(found, "f1"), ==, 100);
    task_scores_free(&scores);
}

/* ---- which examples are answered ---- */

/* Six questions, each with three answers, which share a group. */
static char *write_multirc(const char *folder)
{
    GString *text = g_string_new(NULL);
    for (int question = 0; question < 6; question++) {
        g_string_append_printf(
            text,
            "{\"idx\": %d, \"passage\": {\"text\": \"p\", \"questions\": [{\"question\": \"q\", \"idx\": "
            "%d, \"answers\": [",
            question, question);
        for (int answer = 0; answer < 3; answer++)
            g_string_append_printf(text, "%s{\"text\": \"a%d\", \"idx\": %d, \"label\": %d}", answer ? ", " : "",
                                   answer, 3 * question + answer, answer == 1);
        g_string_append(text, "]}]}}\n");
    }
    char *path = file_write_text(folder, "val.jsonl", text->str);
    g_string_free(text, true);
    return path;
}

static TaskEval *open_some(const TaskEncoder *encoder, char *path, int64_t n)
{
    const TaskFile file = { .path = path, .part = TASK_PART_ALL };
    GError *error = NULL;
    TaskEval *eval = task_eval_open(encoder, &file, n, &error);
    g_assert_no_error(error);
    g_assert_nonnull(eval);
    return eval;
}

static void a_part_of_the_examples_keeps_groups_whole(void)
{
    char *folder = folder_new();
    g_autofree char *path = write_multirc(folder);
    Tokenizer *tok = tokenizer_open("bytes", NULL);
    char *const settings[] = { (char *)"task.name=multirc", NULL };
    TaskConfig config = task_config_of(settings);
    Task task;
    g_assert_true(task_configure(&task, &config, NULL));
    const TaskEncoder encoder = {
        .task = &task, .config = &config, .tok = tok, .input_length = 64, .target_length = 8
    };
    static const struct {
        int64_t n, count;
    } cases[] = { { 0, 18 }, { 18, 18 }, { 100, 18 }, { 1, 3 }, { 3, 3 }, { 4, 6 }, { 5, 6 } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        TaskEval *eval = open_some(&encoder, path, cases[i].n), *again = open_some(&encoder, path, cases[i].n);
        g_assert_cmpint(eval->examples->len, ==, cases[i].count);
        g_assert_cmpint(eval->total, ==, 18);
        g_assert_cmpuint(eval->hash, ==, again->hash);
        task_eval_close(again);
        task_eval_close(eval);
    }
    TaskEval *few = open_some(&encoder, path, 3), *more = open_some(&encoder, path, 6);
    g_assert_cmpuint(few->hash, !=, more->hash);
    task_eval_close(few);
    task_eval_close(more);
    task_config_clear(&config);
    tokenizer_close(tok);
    folder_remove(folder);
}

/* Of a test set there is nothing to open, and that is no error. */
static void examples_without_answers_are_not_opened(void)
{
    char *folder = folder_new();
    g_autofree char *path = file_write_text(folder, "test.tsv", "index\tsentence\n0\tone\n1\ttwo\n");
    Tokenizer *tok = tokenizer_open("bytes", NULL);
    char *const settings[] = { (char *)"task.name=sst2", NULL };
    TaskConfig config = task_config_of(settings);
    Task task;
    g_autoptr(GError) error = NULL;
    g_assert_true(task_configure(&task, &config, NULL));
    const TaskEncoder encoder = {
        .task = &task, .config = &config, .tok = tok, .input_length = 64, .target_length = 8
    };
    const TaskFile file = { .path = path, .part = TASK_PART_ALL };
    g_assert_null(task_eval_open(&encoder, &file, 0, &error));
    g_assert_no_error(error);
    task_config_clear(&config);
    tokenizer_close(tok);
    folder_remove(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/task_eval/a_metric_is_found_by_any_name_that_tells_it",
                    a_metric_is_found_by_any_name_that_tells_it);
    g_test_add_func("/task_eval/parts_of_a_score_are_no_main_metrics", parts_of_a_score_are_no_main_metrics);
    g_test_add_func("/task_eval/scores_are_of_examples_with_known_answers", scores_are_of_examples_with_known_answers);
    g_test_add_func("/eval/task/positive", the_positive_label_is_compared_as_its_target);
    g_test_add_func("/task_eval/a_part_of_the_examples_keeps_groups_whole", a_part_of_the_examples_keeps_groups_whole);
    g_test_add_func("/task_eval/examples_without_answers_are_not_opened", examples_without_answers_are_not_opened);
    return g_test_run();
}
