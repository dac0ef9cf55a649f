#include "cli/eval/task.h"

#include "base/file.h"
#include "base/log.h"
#include "cli/answers_file.h"
#include "cli/cli.h"
#include "cli/print_score.h"
#include "cli/task_model.h"
#include "eval/task_examples.h"
#include "eval/task_scores.h"

#include <inttypes.h>
#include <string.h>

/* An evaluation in progress. */
typedef struct Run {
    Task task;
    const Config *whole;
    const TaskConfig *config; /* of the whole configuration */
    TaskEncoder encoder;
    const LoadedModel *loaded;
    AnswerOptions decoding;
    AnswerBatch batch;
    GPtrArray *waiting; /* TaskExample *: the examples of the batch */
    AnswersFile *out;   /* NULL means that predictions are not kept */
    const char *out_path;
    TaskScores scores;
    int64_t n_examples; /* answered, by the model or by the file of answers */
} Run;

/* ---- results ---- */

static json_t *text_array(const GPtrArray *texts)
{
    json_t *array = json_array();
    for (guint i = 0; i < texts->len; i++)
        json_array_append_new(array, json_string(texts->pdata[i]));
    return array;
}

/* What stands for an example in a file of answers: its texts. */
static char *key_of(const TaskExample *example)
{
    GString *key = g_string_new(example->input);
    g_string_append_printf(key, "\x1f%s", example->second ? example->second : "");
    for (guint i = 0; example->choices && i < example->choices->len; i++)
        g_string_append_printf(key, "\x1f%s", (char *)example->choices->pdata[i]);
    return g_string_free(key, false);
}

/* The label that a task makes of a text that is none itself (WSC); NULL means that the prediction is the label. */
static char *graded_label(const Run *run, const TaskExample *example, const char *prediction)
{
    if (run->task.grade == NULL || run->task.labels == NULL || example->targets->len == 0)
        return NULL;
    g_autoptr(GPtrArray) references = g_ptr_array_new_with_free_func(g_free);
    char *graded = g_strdup(prediction);
    run->task.grade(example, &graded, references);
    return graded;
}

static bool write_line(Run *run, const TaskExample *example, const Answer *answer, GError **error)
{
    bool replaced = false;
    g_autofree char *text = valid_text(answer->text, &replaced), *key = key_of(example);
    g_autofree char *graded = graded_label(run, example, text);
    json_t *object =
        json_pack("{s:s*, s:s, s:s, s:s*, s:o*, s:s*, s:f}", "id", example->id, "input", example->input, "prediction",
                  text, "graded", graded, "references", example->known ? text_array(example->targets) : NULL, "group",
                  example->group, "logprob", answer->logprob);
    return answers_file_add(run->out, object, key, strlen(key), error);
}

/* Scores the example by the prediction that the file of answers has; *found is false where it has none. */
static bool take_stored(Run *run, const TaskExample *example, bool *found, GError **error)
{
    g_autofree char *key = run->out ? key_of(example) : NULL;
    json_t *answer = NULL;
    if (run->out && !answers_file_next(run->out, key, strlen(key), &answer, error))
        return false;
    const char *prediction = json_string_value(json_object_get(answer, "prediction"));
    *found = answer != NULL;
    if (answer && prediction == NULL)
        return fail_user(error, "%s: an answer has no prediction", run->out_path);
    if (answer)
        task_scores_add(&run->scores, example, prediction);
    json_decref(answer);
    return true;
}

static void keep(Run *run, const TaskExample *example, const Answer *answer)
{
    bool replaced = false;
    g_autofree char *text = valid_text(answer->text, &replaced);
    task_scores_add(&run->scores, example, text);
}

static bool answer_waiting(Run *run, GError **error)
{
    guint n = run->waiting->len;
    g_autofree Answer *found = g_new0(Answer, n + 1);
    if (n == 0)
        return true;
    bool good =
        answer_batch_run(&run->batch, 0, (int32_t)n, run->loaded->model, &run->encoder, &run->decoding, found, error);
    for (guint i = 0; i < n; i++) {
        const TaskExample *example = run->waiting->pdata[i];
        good = good && (!run->out || write_line(run, example, &found[i], error));
        if (good)
            keep(run, example, &found[i]);
        answer_clear(&found[i]);
    }
    g_ptr_array_set_size(run->waiting, 0);
    answer_batch_clear(&run->batch);
    return good;
}

/* ---- examples ---- */

static void free_example(gpointer example)
{
    task_example_clear(example);
    g_free(example);
}

/* Takes the example. */
static bool add_example(Run *run, const Record *record, TaskExample *example, GError **error)
{
    bool stored = false, good = take_stored(run, example, &stored, error);
    run->n_examples += good;
    if (good && !stored && run->waiting->len == ANSWER_BATCH)
        good = answer_waiting(run, error);
    if (good && !stored && (good = answer_batch_add(&run->batch, &run->encoder, record, example, error)))
        g_ptr_array_add(run->waiting, g_memdup2(example, sizeof *example));
    else
        task_example_clear(example);
    return good;
}

static bool answer_file(Run *run, TaskExamples *examples, int64_t most, GError **error)
{
    TaskExample example;
    Record record;
    GError *problem = NULL;
    for (int64_t n = 0; (most == 0 || n < most) && task_examples_next(examples, &example, &record, &problem); n++)
        if (!add_example(run, &record, &example, &problem))
            break;
    if (problem) {
        g_propagate_error(error, problem);
        return false;
    }
    return answer_waiting(run, error);
}

/* ---- scores ---- */

static bool show_score(const ScoreKind *kind, const ScoreResult *result, void *as_json, GError **error)
{
    return print_score(kind, result, *(const bool *)as_json, error);
}

/* ---- the whole ---- */

static bool find_file(const Run *run, TaskFile *file, GError **error)
{
    TaskFile train;
    if (!task_files(&run->task, run->config, &train, file, error))
        return false;
    g_free(train.path);
    return file->path || fail_user(error, "task.valid is not set: a file of labelled data to evaluate on");
}

static bool report(Run *run, const TaskFile *file, const TaskExamples *examples, const TaskEvalOptions *options,
                   GError **error)
{
    bool as_json = options->json;
    log_info("%s: %" PRId64 " examples answered", file->path, run->n_examples);
    task_encoder_report(&run->encoder, file->path);
    if (task_examples_skipped(examples) > 0)
        log_warning("%s: %" PRId64 " rows were left out", file->path, task_examples_skipped(examples));
    if (!run->scores.complete)
        log_info("%s: not every example has its right answer, so there are no scores", file->path);
    return !run->scores.complete || task_scores_each(&run->scores, show_score, &as_json, error);
}

static bool evaluate(Run *run, const TaskEvalOptions *options, GError **error)
{
    TaskFile file;
    if (!task_scores_check(&run->task, error) || !find_file(run, &file, error))
        return false;
    char *const read[] = { file.path };
    g_autofree char *settings = task_settings(run->whole, &run->encoder, options->beams);
    TaskExamples *examples = NULL;
    bool good = !options->out || io_check_apart(options->out, read, 1, error);
    good = good && (examples = task_examples_open(&run->task, run->config, &file, error)) != NULL &&
           (!options->out || (run->out = answers_file_open(options->out, model_hash(run->loaded, settings), file.path,
                                                           error)) != NULL) &&
           answer_file(run, examples, options->samples, error);
    if (run->out)
        good = answers_file_close(run->out, good, error);
    if (good && run->n_examples == 0)
        good = fail_user(error, "%s: no example to evaluate on", file.path);
    good = good && report(run, &file, examples, options, error);
    task_examples_close(examples);
    g_free(file.path);
    return good;
}

bool eval_task(LoadedModel *loaded, const Config *config, const char *model_path, const TaskEvalOptions *options,
               GError **error)
{
    Run run = { .whole = config, .config = &config->task, .loaded = loaded, .out_path = options->out };
    if (!task_of_model(&run.task, config, loaded, model_path, error))
        return false;
    run.encoder = task_encoder(&run.task, config, loaded);
    run.decoding = (AnswerOptions){ .max_tokens = run.encoder.target_length, .beams = options->beams };
    run.batch = answer_batch_new();
    run.waiting = g_ptr_array_new_with_free_func(free_example);
    run.scores = task_scores_new(&run.task, run.encoder.joined);
    bool good = evaluate(&run, options, error);
    answer_batch_free(&run.batch);
    g_ptr_array_unref(run.waiting);
    task_scores_free(&run.scores);
    return good;
}
