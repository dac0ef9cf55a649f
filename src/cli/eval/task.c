#include "cli/eval/eval.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/answers_file.h"
#include "cli/scores.h"
#include "cli/task_model.h"
#include "eval/shots.h"
#include "eval/task_examples.h"
#include "eval/task_scores.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

/* An evaluation in progress. */
typedef struct Run {
    Task task;
    const Config *whole;
    const TaskConfig *config; /* options task.* of the configuration */
    TaskEncoder encoder;
    const LoadedModel *loaded;
    AnswerOptions decoding;
    AnswerBatch batch;
    GPtrArray *waiting; /* TaskExample *: the examples of the batch */
    guint n_stored;     /* number of examples at the start of `waiting` whose answers the file of answers already has */
    GPtrArray *prompts; /* char *: their prompts, with examples before the input (--shots); empty without --shots */
    Shots *shots;       /* NULL means none */
    ShotOptions shot_options;
    TaskOverlap *overlap; /* the inputs beside those trained on; NULL means that those are not at hand */
    char *trained;        /* path prefix of the run's dataset */
    Ranking *ranking;     /* NULL means that the model generates its answers */
    AnswersFile *out;     /* NULL means that predictions are not written to a file */
    const char *out_path;
    TaskScores scores;
    int64_t n_examples; /* examples answered so far, by the model or in the file of answers */
    int64_t n_unlisted; /* those whose right answers are all other texts than the labels of `ranking` */
} Run;

/* ---- results ---- */

/* The key that identifies an example in the file of answers: its texts. */
static char *answer_key(const TaskExample *example)
{
    GString *key = g_string_new(example->input);
    g_string_append_printf(key, "\x1f%s", example->second ? example->second : "");
    for (guint i = 0; example->choices && i < example->choices->len; i++)
        g_string_append_printf(key, "\x1f%s", (char *)example->choices->pdata[i]);
    return g_string_free(key, false);
}

/* prompt: NULL means the example's input. */
static bool write_answer(Run *run, const TaskExample *example, const char *prompt, const Answer *answer, GError **error)
{
    bool replaced = false;
    g_autofree char *text = valid_text(answer->text, &replaced), *key = answer_key(example);
    json_t *object = json_pack("{s:s*, s:s, s:s*, s:s*}", "id", example->id, "input", example->input, "second",
                               example->second, "prompt", prompt);
    json_object_update_new(object, task_scores_line(&run->scores, example, text));
    json_object_update_new(object, json_pack("{s:f, s:o*}", "logprob", answer->logprob, "label_logprobs",
                                             ranking_logprobs(run->ranking, answer)));
    return answers_file_add(run->out, object, key, strlen(key), error);
}

/* Scores the example with its prediction in the file of answers; *found becomes false if the file has none. */
static bool take_stored(Run *run, const TaskExample *example, bool *found, GError **error)
{
    g_autofree char *key = run->out ? answer_key(example) : NULL;
    json_auto_t *answer = NULL;
    if (run->out && !answers_file_next(run->out, key, strlen(key), &answer, error))
        return false;
    const char *prediction = json_string_value(json_object_get(answer, "prediction"));
    *found = answer != NULL;
    if (answer && prediction == NULL)
        return fail_user(error, "%s: an answer has no prediction", run->out_path);
    if (answer)
        task_scores_add(&run->scores, example, prediction);
    return true;
}

static void keep(Run *run, const TaskExample *example, const Answer *answer)
{
    bool replaced = false;
    g_autofree char *text = valid_text(answer->text, &replaced);
    task_scores_add(&run->scores, example, text);
}

/* With --shots, cuts the answer at the separator, after which the model goes on with another example. */
static void cut_answer(const Run *run, Answer *answer)
{
    char *end = run->shots && !run->ranking ? strstr(answer->text, run->shot_options.separator) : NULL;
    if (end)
        *end = '\0';
}

/* Writes and scores those answers of the batch that the file did not have. */
static bool keep_new(Run *run, Answer *found, GError **error)
{
    for (guint i = run->n_stored; i < run->waiting->len; i++) {
        const TaskExample *example = run->waiting->pdata[i];
        const char *prompt = run->shots ? run->prompts->pdata[i] : NULL;
        cut_answer(run, &found[i]);
        if (run->out && !write_answer(run, example, prompt, &found[i], error))
            return false;
        keep(run, example, &found[i]);
    }
    return true;
}

/* Answers the whole batch if an answer of it is missing. The last bits of an answer depend on the other inputs in its
 * batch, so a continued file equals that of an uninterrupted evaluation only if the whole batch is computed again. */
static bool answer_waiting(Run *run, GError **error)
{
    guint n = run->waiting->len;
    g_autofree Answer *found = g_new0(Answer, n + 1);
    bool good = n == run->n_stored || (answer_batch_run(&run->batch, 0, (int32_t)n, run->loaded->model, &run->encoder,
                                                        &run->decoding, found, error) &&
                                       keep_new(run, found, error));
    for (guint i = 0; i < n; i++)
        answer_clear(&found[i]);
    g_ptr_array_set_size(run->waiting, 0);
    g_ptr_array_set_size(run->prompts, 0);
    answer_batch_clear(&run->batch);
    run->n_stored = 0;
    return good;
}

/* ---- examples ---- */

/* Notes the ids of the last input in the batch, as a dataset has them: of several windows the first, and without EOS.
 * lost: the ids are not of the whole text. */
static void compare_input(const Run *run, const TaskExample *example, bool lost)
{
    const AnswerBatch *batch = &run->batch;
    const GArray *ids = batch->ids;
    guint first = 0, end;
    if (run->task.learns) {
        const TaskInputs *inputs = &g_array_index(batch->inputs, TaskInputs, batch->inputs->len - 1);
        ids = inputs->ids;
        end = run->task.learns == LABELS_SPAN ? (guint)g_array_index(inputs->cu, int32_t, 1) : ids->len;
        lost |= end < ids->len;
    } else {
        first = (guint)g_array_index(batch->cu, int32_t, batch->cu->len - 2);
        end = ids->len - (!run->encoder.joined && tokenizer_eos(run->encoder.tok) >= 0);
    }
    const int32_t *input = (const int32_t *)(const void *)ids->data + first, unknown = tokenizer_unk(run->encoder.tok);
    for (guint i = 0; i < end - first; i++)
        lost |= input[i] == unknown;
    task_overlap_hold(run->overlap, XXH3_64bits(input, (end - first) * sizeof *input),
                      lost ? task_input_hash(example) : 0);
}

/* Adds the example to the batch; with --shots, its prompt starts with labelled examples. */
static bool add_prompt(Run *run, const Record *record, const TaskExample *example, GError **error)
{
    TaskExample whole = *example;
    if (!run->shots) {
        const int64_t cut = run->encoder.inputs_cut;
        const bool good = answer_batch_add(&run->batch, &run->encoder, record, example, error);
        if (good && run->overlap)
            compare_input(run, example, run->encoder.inputs_cut > cut);
        return good;
    }
    whole.input = shots_prompt(run->shots, &run->encoder, example, run->encoder.target_length, error);
    if (!whole.input)
        return false;
    g_ptr_array_add(run->prompts, whole.input);
    return answer_batch_add(&run->batch, &run->encoder, record, &whole, error);
}

/* With --rank: fails if the example's right answer is known and no label. "<unk>" stands for a wrong answer of WSC. */
static bool check_label(const Run *run, const Record *record, const TaskExample *example, GError **error)
{
    if (!run->ranking || !run->task.labels || example->targets->len == 0)
        return true;
    const char *target = example->targets->pdata[0];
    g_auto(GStrv) labels = task_label_texts(&run->task);
    return g_strv_contains((const char *const *)labels, target) || strcmp(target, "<unk>") == 0 ||
           fail_user(error, "%s: --rank chooses among the labels %s, and the right answer is \"%s\"", record->where,
                     run->task.labels, target);
}

/* Whether the example has right answers and the ranking none of them, so that no choice can be right. White space
 * around them does not count, as in scores. */
static bool is_unlisted(const Run *run, const TaskExample *example)
{
    bool listed = !run->ranking || !example->known || example->targets->len == 0;
    for (guint i = 0; !listed && i < example->targets->len; i++) {
        g_autofree char *target = g_strstrip(g_strdup(example->targets->pdata[i]));
        for (char **name = run->ranking->names; !listed && *name; name++) {
            g_autofree char *label = g_strstrip(g_strdup(*name));
            listed = strcmp(label, target) == 0;
        }
    }
    return !listed;
}

/* Takes ownership of the example. */
static bool take_example(Run *run, const Record *record, TaskExample *example, GError **error)
{
    bool stored = false, good = check_label(run, record, example, error) &&
                                task_scores_check_example(&run->task, example, record->where, error) &&
                                take_stored(run, example, &stored, error);
    run->n_examples += good;
    run->n_unlisted += good && is_unlisted(run, example);
    if (good && run->waiting->len == ANSWER_BATCH)
        good = answer_waiting(run, error);
    if (good && (good = add_prompt(run, record, example, error))) {
        g_ptr_array_add(run->waiting, g_memdup2(example, sizeof *example));
        run->n_stored += stored;
    } else {
        task_example_clear(example);
    }
    return good;
}

static bool answer_file(Run *run, TaskExamples *examples, int64_t most, GError **error)
{
    TaskExample example;
    Record record;
    GError *problem = NULL;
    for (int64_t n = 0; (most == 0 || n < most) && task_examples_next(examples, &example, &record, &problem); n++)
        if (!take_example(run, &record, &example, &problem))
            break;
    if (problem)
        return fail_with(error, problem);
    return answer_waiting(run, error);
}

/* ---- scores ---- */

static bool show_score(const ScoreKind *kind, const ScoreResult *result, void *as_json, GError **error)
{
    return print_score(kind, result, *(const bool *)as_json, error);
}

/* ---- all together ---- */

/* The caller frees the paths, also after an error. */
static bool find_files(const Run *run, TaskFile *train, TaskFile *file, GError **error)
{
    if (!task_files(&run->task, run->config, train, file, error))
        return false;
    train->quiet = file->part == TASK_PART_HELD_OUT; /* of one table; the pass that answers the examples tells */
    return (file->path || fail_user(error, "task.valid is not set: a file of labelled data to evaluate on"));
}

/* Opens the examples of --shots. A prompt with them may be as long as the model's maximum, which then replaces
 * data.input_length; if the model has none, data.input_length limits the whole prompt. */
static bool open_shots(Run *run, const TaskFile *train, const EvalOptions *options, GError **error)
{
    const ModelConfig *model = model_config(run->loaded->model);
    if (options->shots == 0)
        return true;
    if (!train->path)
        return fail_user(error, "--shots takes labelled examples of task.data, which is not set");
    if (run->config->trained && task_source_changed(train->path, run->config->trained))
        log_warning("--shots takes examples of %s as it is now, and the run was trained on others", train->path);
    if (model_config_bounds_length(model)) {
        run->encoder.input_length = model->max_positions;
        run->encoder.input_limit = "model.max_positions";
    }
    run->shot_options.n = options->shots;
    run->shot_options.seed = (uint64_t)options->shots_seed;
    return (run->shots = shots_open(&run->task, run->config, train, &run->shot_options, error)) != NULL;
}

/* Whether a text must have a space before a word for the piece with this space, as for GPT-2 (" good"). SentencePiece
 * adds the space at the start of a text itself. */
static bool pieces_hold_spaces(const Tokenizer *tok)
{
    return g_str_has_prefix(tokenizer_kind(tok), "byte") || strcmp(tokenizer_kind(tok), "tiktoken") == 0;
}

static bool open_ranking(Run *run, const TaskFile *file, const EvalOptions *options, GError **error)
{
    const bool joined = run->encoder.joined;
    const char *input = run->task.input ? run->task.input : "";
    if (!options->rank_by)
        return true;
    const RankOptions rank = { .by = (RankBy)rank_find(options->rank_by),
                               .joined = joined,
                               .eos = !options->no_eos && !(joined && run->shots),
                               .before = task_frame_before_target(&run->encoder),
                               .gap = joined && run->shots && *shots_gap(input, "x") &&
                                      pieces_hold_spaces(run->encoder.tok) };
    TaskFile quiet = *file;
    quiet.quiet = true; /* the pass that answers the examples tells */
    g_auto(GStrv) labels = rank_collect_labels(&run->task, run->config, run->encoder.tok, &quiet, error);
    if (!labels || !(run->ranking = ranking_open(run->encoder.tok, labels, &rank, error)))
        return false;
    run->decoding.ranking = run->ranking;
    run->encoder.target_length = run->ranking->longest;
    return true;
}

static char *answers_settings(const Run *run, const EvalOptions *options)
{
    GString *text = g_string_new(NULL);
    g_autofree char *task = task_settings(run->whole, &run->encoder, options->beams);
    g_string_append(text, task);
    if (run->shots)
        g_string_append_printf(text, " shots=%016" PRIx64, shots_hash(run->shots));
    if (run->ranking)
        g_string_append_printf(text, " rank=%016" PRIx64, ranking_hash(run->ranking));
    return g_string_free(text, false);
}

static bool report_task(Run *run, const TaskFile *file, const TaskExamples *examples, const EvalOptions *options,
                        GError **error)
{
    bool as_json = options->as_json;
    guint different;
    const char *example;
    const int64_t strange = task_scores_strange(&run->scores, &different, &example);
    const int64_t n_known = run->n_examples - run->scores.n_unknown;
    g_autofree char *answered = text_counted(run->n_examples, "example");
    log_info("%s: %s%s answered", file->path, run->n_examples == options->samples ? "the first " : "", answered);
    task_encoder_report(&run->encoder, file->path);
    if (run->shots)
        shots_report(run->shots, &run->encoder, file->path);
    if (task_examples_skipped(examples) > 0)
        log_warning("%s: %" PRId64 " rows were left out", file->path, task_examples_skipped(examples));
    if (run->n_unlisted > 0)
        log_warning("%s: %" PRId64 " of %" PRId64 " right answers are none of the %u labels compared, so the model "
                    "cannot give them; task.labels names the labels",
                    file->path, run->n_unlisted, n_known, g_strv_length(run->ranking->names));
    if (strange > 0)
        log_warning("%s: %" PRId64 " of %" PRId64 " predictions are none of the %u right answers of the file, such as "
                    "\"%s\"",
                    file->path, strange, n_known, different, example);
    if (n_known == 0)
        log_info("%s: the examples have no right answers, so there are no scores", file->path);
    else if (run->scores.n_unknown > 0)
        log_info("%s: %" PRId64 " of %" PRId64 " examples have no right answer: they are predicted, not scored",
                 file->path, run->scores.n_unknown, run->n_examples);
    return task_scores_each(&run->scores, show_score, &as_json, error);
}

/* Says how many inputs the run was trained on, unless its dataset is gone or cannot be read. */
static void report_overlap(const Run *run, const TaskFile *file)
{
    if (run->overlap && task_overlap_train_dataset(run->overlap, run->trained, NULL))
        task_overlap_warn(run->overlap, file->path);
}

static bool evaluate_file(Run *run, const TaskFile *file, const EvalOptions *options, GError **error)
{
    char *const read[] = { file->path };
    g_autofree char *settings = answers_settings(run, options);
    g_autoptr(TaskExamples) examples = NULL;
    bool good = !options->out || io_check_apart(options->out, read, 1, error);
    good = good && (examples = task_examples_open(&run->task, run->config, file, error)) != NULL &&
           (!options->out || (run->out = answers_file_open(options->out, model_hash(run->loaded, settings), file->path,
                                                           error)) != NULL) &&
           answer_file(run, examples, options->samples, error);
    if (run->out)
        good = answers_file_close(run->out, good, error);
    if (good && run->n_examples == 0)
        good = fail_user(error, "%s: no example to evaluate on", file->path);
    if (good)
        report_overlap(run, file);
    return good && report_task(run, file, examples, options, error);
}

/* Evaluates. With --rank and no task.labels, labels are the distinct answers in the training data, if any. */
static bool evaluate_task(Run *run, const EvalOptions *options, GError **error)
{
    g_auto(TaskFile) train = { 0 }, file = { 0 };
    return task_scores_check(&run->task, error) && task_labels_check(&run->task, run->config->classes, error) &&
           find_files(run, &train, &file, error) && open_shots(run, &train, options, error) &&
           open_ranking(run, train.path && !run->config->trained ? &train : &file, options, error) &&
           evaluate_file(run, &file, options, error);
}

/* Opens run->overlap if the model is of a run that has its dataset of a task. */
static bool open_overlap(Run *run, const char *model_path, GError **error)
{
    g_autofree char *dir = NULL;
    if (!model_find_run(&dir, model_path, error))
        return false;
    run->trained = dir ? g_build_filename(dir, "task", "train", NULL) : NULL;
    g_autofree char *meta = dir ? g_strconcat(run->trained, ".json", NULL) : NULL;
    run->overlap = meta && g_file_test(meta, G_FILE_TEST_EXISTS) ? task_overlap_new() : NULL;
    return true;
}

bool eval_task(LoadedModel *loaded, const Config *config, const char *model_path, const EvalOptions *options,
               GError **error)
{
    g_autofree char *separator = g_strcompress(options->shots_separator);
    Run run = { .whole = config,
                .config = &config->task,
                .loaded = loaded,
                .out_path = options->out,
                .shot_options.separator = separator };
    if (!task_of_model(&run.task, config, loaded, model_path, error))
        return false;
    if (run.task.learns && (options->rank_by || options->shots > 0 || options->beams > 1))
        return fail_user(error, "%s has a classifier: --beams, --rank and --shots are for models that write text",
                         model_path);
    run.encoder = task_encoder(&run.task, config, loaded);
    run.decoding = (AnswerOptions){ .max_tokens = run.encoder.target_length, .beams = (int32_t)options->beams };
    run.batch = answer_batch_new();
    run.waiting = g_ptr_array_new_with_free_func(task_example_free);
    run.prompts = g_ptr_array_new_with_free_func(g_free);
    run.scores = task_scores_new(&run.task);
    run.scores.resamples = options->resamples;
    run.scores.confidence = options->confidence;
    run.scores.seed = (uint64_t)options->resample_seed;
    bool good = open_overlap(&run, model_path, error) && evaluate_task(&run, options, error);
    answer_batch_free(&run.batch);
    g_ptr_array_unref(run.waiting);
    g_ptr_array_unref(run.prompts);
    shots_close(run.shots);
    ranking_close(run.ranking);
    task_overlap_free(run.overlap);
    g_free(run.trained);
    task_scores_free(&run.scores);
    return good;
}
