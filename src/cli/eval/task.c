#include "cli/eval/task.h"

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/print_score.h"
#include "cli/task_model.h"
#include "eval/scores/scores.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>

/* An evaluation in progress. */
typedef struct Run {
    Task task;
    const TaskConfig *config;
    TaskEncoder encoder;
    const LoadedModel *loaded;
    AnswerOptions decoding;
    AnswerBatch batch;
    GPtrArray *waiting;  /* TaskExample *: the examples of the batch */
    IoFile *out;         /* NULL means that predictions are not kept */
    GHashTable *answers; /* Task.merge_ids: id -> GPtrArray of char *, right answers that no example has taken */
    bool scored;         /* the right answers of all examples are known */
    GPtrArray *predictions, *groups; /* char * */
    GPtrArray *references;           /* GStrv */
} Run;

/* ---- results ---- */

static json_t *text_array(const GPtrArray *texts)
{
    json_t *array = json_array();
    for (guint i = 0; i < texts->len; i++)
        json_array_append_new(array, json_string(texts->pdata[i]));
    return array;
}

static bool write_line(Run *run, const TaskExample *example, const Answer *answer, GError **error)
{
    bool replaced = false;
    g_autofree char *text = valid_text(answer->text, &replaced);
    json_auto_t *object =
        json_pack("{s:s*, s:s, s:s, s:o*, s:s*, s:f}", "id", example->id, "input", example->input, "prediction", text,
                  "references", example->known ? text_array(example->targets) : NULL, "group", example->group,
                  "logprob", answer->logprob);
    char *line = json_dumps(object, JSON_COMPACT);
    bool good = io_write(run->out, line, strlen(line), error) && io_write(run->out, "\n", 1, error) &&
                io_flush(run->out, error);
    free(line);
    return good;
}

static GStrv take_references(GPtrArray *texts)
{
    GStrv all = g_new0(char *, texts->len + 1);
    for (guint i = 0; i < texts->len; i++)
        all[i] = g_strdup(texts->pdata[i]);
    return all;
}

/* Keeps what the scores compare. */
static void keep(Run *run, const TaskExample *example, const Answer *answer)
{
    bool replaced = false;
    g_autoptr(GPtrArray) references = g_ptr_array_new_with_free_func(g_free);
    char *prediction = valid_text(answer->text, &replaced);
    for (guint i = 0; i < example->targets->len; i++) {
        char *text = g_strdup(example->targets->pdata[i]);
        g_ptr_array_add(references, run->encoder.joined ? g_strchug(text) : text);
    }
    if (run->task.grade)
        run->task.grade(example, &prediction, references);
    g_ptr_array_add(run->predictions, prediction);
    g_ptr_array_add(run->references, take_references(references));
    g_ptr_array_add(run->groups, g_strdup(example->group ? example->group : ""));
}

static bool answer_waiting(Run *run, GError **error)
{
    guint n = run->waiting->len;
    g_autofree Answer *found = g_new0(Answer, n + 1);
    if (n == 0)
        return true;
    bool good = answer_batch_run(&run->batch, run->loaded, &run->encoder, &run->decoding, found, error);
    for (guint i = 0; i < n; i++) {
        const TaskExample *example = run->waiting->pdata[i];
        good = good && (!run->out || write_line(run, example, &found[i], error));
        run->scored &= example->known;
        if (good && run->scored)
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

/* Gives the first example of an id the right answers of all its records; false for the other examples of the id. */
static bool take_answers(Run *run, TaskExample *example)
{
    GPtrArray *all;
    gpointer key;
    if (!run->answers || !example->id)
        return true;
    if (!g_hash_table_steal_extended(run->answers, example->id, &key, (gpointer *)&all))
        return false;
    g_ptr_array_unref(example->targets);
    example->targets = all;
    g_free(key);
    return true;
}

/* Reads the right answers of each id. */
static bool collect_answers(Run *run, const TaskFile *file, GError **error)
{
    TaskReader *reader = task_reader_open(&run->task, run->config, file, false, error);
    if (!reader)
        return false;
    TaskExample example;
    Record record;
    GError *problem = NULL;
    run->answers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    while (task_reader_next(reader, &example, &record, &problem)) {
        GPtrArray *all = example.id ? g_hash_table_lookup(run->answers, example.id) : NULL;
        for (guint i = 0; all && i < example.targets->len; i++)
            g_ptr_array_add(all, g_strdup(example.targets->pdata[i]));
        if (example.id && !all)
            g_hash_table_insert(run->answers, g_strdup(example.id), g_ptr_array_ref(example.targets));
        task_example_clear(&example);
    }
    task_reader_close(reader);
    if (problem)
        g_propagate_error(error, problem);
    return problem == NULL;
}

static bool add_example(Run *run, const Record *record, TaskExample *example, GError **error)
{
    if (!take_answers(run, example)) {
        task_example_clear(example);
        return true;
    }
    bool full = run->waiting->len == ANSWER_BATCH;
    bool good =
        (!full || answer_waiting(run, error)) && answer_batch_add(&run->batch, &run->encoder, record, example, error);
    if (good)
        g_ptr_array_add(run->waiting, g_memdup2(example, sizeof *example));
    else
        task_example_clear(example);
    return good;
}

static bool answer_file(Run *run, TaskReader *reader, int64_t most, GError **error)
{
    TaskExample example;
    Record record;
    GError *problem = NULL;
    for (int64_t n = 0; (most == 0 || n < most) && task_reader_next(reader, &example, &record, &problem); n++)
        if (!add_example(run, &record, &example, &problem))
            break;
    if (problem) {
        g_propagate_error(error, problem);
        return false;
    }
    return answer_waiting(run, error);
}

/* ---- scores ---- */

static bool print_scores(const Run *run, bool as_json, GError **error)
{
    const Task *task = &run->task;
    const ScoreInput in = { .n = run->predictions->len,
                            .predictions = (const char *const *)run->predictions->pdata,
                            .references = (const char *const *const *)run->references->pdata,
                            .groups = (const char *const *)run->groups->pdata };
    g_auto(GStrv) names = g_strsplit(task->scores, ",", -1),
                  labels = g_strsplit(task->labels ? task->labels : "", ",", -1);
    const ScoreOptions options = { .positive = task->positive,
                                   .labels = task->average_labels ? (const char *const *)labels : NULL,
                                   .tokenizer = task->intl ? BLEU_INTL : BLEU_13A,
                                   .language = task->language };
    for (char **name = names; *name; name++) {
        const ScoreKind *kind = score_find(*name);
        ScoreResult result;
        if (!kind)
            return fail_user(error, "task.scores: no score is called %s; `loam scores --list` lists them", *name);
        if (!score_compute(&result, kind, &in, &options, error))
            return fail_context(error, "%s", *name);
        bool good = print_score(kind, &result, as_json, error);
        score_result_clear(&result);
        if (!good)
            return false;
    }
    return true;
}

static bool check_scores(const Task *task, GError **error)
{
    g_auto(GStrv) names = g_strsplit(task->scores, ",", -1);
    for (char **name = names; *name; name++)
        if (!score_find(*name))
            return fail_user(error, "task.scores: no score is called %s; `loam scores --list` lists them", *name);
    return true;
}

/* ---- the whole ---- */

/* Answers that cost hours are not written over. */
static bool out_is_free(const char *out, GError **error)
{
    GStatBuf found;
    return g_stat(out, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size == 0 ||
           fail_user(error, "%s exists and is not empty: give another --out, or remove the file", out);
}

static bool find_file(const Run *run, TaskFile *file, GError **error)
{
    TaskFile train;
    if (!task_files(&run->task, run->config, &train, file, error))
        return false;
    g_free(train.path);
    return file->path || fail_user(error, "task.valid is not set: a file of labelled data to evaluate on");
}

static bool evaluate(Run *run, const TaskEvalOptions *options, GError **error)
{
    TaskFile file;
    if (!check_scores(&run->task, error) || !find_file(run, &file, error))
        return false;
    char *const read[] = { file.path };
    TaskReader *reader = NULL;
    bool good = !options->out || (io_check_apart(options->out, read, 1, error) && out_is_free(options->out, error));
    good = good && (!run->task.merge_ids || collect_answers(run, &file, error));
    good = good && (reader = task_reader_open(&run->task, run->config, &file, false, error)) != NULL &&
           (!options->out || (run->out = io_create(options->out, error)) != NULL) &&
           answer_file(run, reader, options->samples, error);
    if (run->out && good)
        good = io_close(run->out, true, error);
    else if (run->out)
        io_abort(run->out);
    if (good && run->encoder.inputs == 0)
        good = fail_user(error, "%s: no example to evaluate on", file.path);
    if (good) {
        log_info("%s: %" PRId64 " examples answered", file.path, run->encoder.inputs);
        task_encoder_report(&run->encoder, file.path);
        if (task_reader_skipped(reader) > 0)
            log_warning("%s: %" PRId64 " rows were left out", file.path, task_reader_skipped(reader));
        if (!run->scored)
            log_info("%s: not every example has its right answer, so there are no scores", file.path);
        good = !run->scored || print_scores(run, options->json, error);
    }
    task_reader_close(reader);
    g_free(file.path);
    return good;
}

bool eval_task(LoadedModel *loaded, const Config *config, const char *model_path, const TaskEvalOptions *options,
               GError **error)
{
    Run run = { .config = &config->task, .loaded = loaded, .scored = true };
    if (!task_of_model(&run.task, config, loaded, model_path, error))
        return false;
    run.encoder = task_encoder(&run.task, config, loaded);
    run.decoding = (AnswerOptions){ .max_tokens = run.encoder.target_length, .beams = options->beams };
    run.batch = answer_batch_new();
    run.waiting = g_ptr_array_new_with_free_func(free_example);
    run.predictions = g_ptr_array_new_with_free_func(g_free);
    run.groups = g_ptr_array_new_with_free_func(g_free);
    run.references = g_ptr_array_new_with_free_func((GDestroyNotify)(void (*)(void))g_strfreev);
    bool good = evaluate(&run, options, error);
    answer_batch_free(&run.batch);
    g_clear_pointer(&run.answers, g_hash_table_unref);
    g_ptr_array_unref(run.waiting);
    g_ptr_array_unref(run.predictions);
    g_ptr_array_unref(run.groups);
    g_ptr_array_unref(run.references);
    return good;
}
