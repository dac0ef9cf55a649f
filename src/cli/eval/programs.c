#include "cli/eval/eval.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/answers_file.h"
#include "cli/task_model.h"
#include "eval/generate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

#define SEQUENCES 32 /* number of completions that a model generates in one batch */
#define CHUNK     64 /* number of given completions (--predictions) that are tested before their results are written */
#define MOST_K    16 /* largest number of values of k */

typedef struct ProgramItem {
    Problem problem;
    TaskExample example;            /* the prompt */
    int64_t n, passed, passed_base; /* number of tested completions; number that passed; number that passed the original
                                       tests (Trial) */
} ProgramItem;

/* An evaluation in progress. */
typedef struct Run {
    Task task;
    const EvalOptions *options;
    int64_t ks[MOST_K], least_k; /* (n_ks) the k of pass@k, and the smallest of them */
    int n_ks;
    const LoadedModel *loaded; /* NULL with --predictions */
    TaskEncoder encoder;       /* of the model */
    TaskFile file;
    GPtrArray *items; /* ProgramItem * */
    bool partly;      /* the file has problems that are not tested */
    AnswersFile *out; /* NULL means that results are not written to a file */
    int64_t n, passed, late;
} Run;

/* ---- the k of pass@k ---- */

/* Reads a list "1,10,100"; false if the text is not one. */
static bool read_ks(Run *run)
{
    g_auto(GStrv) parts = text_list(run->options->k);
    run->least_k = INT64_MAX;
    for (char **part = parts; *part; part++) {
        gint64 k = 0;
        if (run->n_ks == MOST_K || !g_ascii_string_to_signed(*part, 10, 1, 1000000, &k, NULL))
            return false;
        run->ks[run->n_ks++] = k;
        run->least_k = MIN(run->least_k, k);
    }
    return run->n_ks > 0;
}

/* ---- problems ---- */

static void free_item(gpointer data)
{
    ProgramItem *item = data;
    problem_clear(&item->problem);
    task_example_clear(&item->example);
    g_free(item);
}

static bool find_problems(Run *run, const TaskConfig *config, GError **error)
{
    g_auto(TaskFile) train = { 0 };
    if (!task_files(&run->task, config, &train, &run->file, error))
        return false;
    return run->file.path || fail_user(error, "task.valid is not set: the file of the problems");
}

/* Adds the problem of a record; false with an error if it cannot be posed. */
static bool add_problem(Run *run, const Record *record, const TaskExample *example, GError **error)
{
    ProgramItem *item = g_new0(ProgramItem, 1);
    item->example = *example;
    g_ptr_array_add(run->items, item);
    if (!problem_read(&item->problem, &run->task, record, error))
        return false;
    const char *text = run->options->predictions ? item->problem.prefix : example->input;
    return !record->replaced || !strstr(text, "\uFFFD") ||
           fail_user(error,
                     "%s: the prompt of %s has a NUL or half a surrogate pair, which no text can hold; "
                     "task.on_error=skip leaves it out",
                     record->where, item->problem.name);
}

/* With task.on_error=skip, removes a problem that cannot be posed, and clears the error. */
static void leave_out(Run *run, const TaskConfig *config, GError **problem)
{
    if (config->on_error != TASK_SKIP || (*problem)->code != LOAM_ERROR_USER)
        return;
    log_warning("left out: %s", (*problem)->message);
    g_ptr_array_remove_index(run->items, run->items->len - 1);
    run->partly = true;
    g_clear_error(problem);
}

static bool read_problems(Run *run, const TaskConfig *config, GError **error)
{
    g_autoptr(TaskReader) reader = task_reader_open(&run->task, config, &run->file, false, error);
    const guint most = run->options->samples > 0 ? (guint)MIN(run->options->samples, G_MAXUINT) : G_MAXUINT;
    GError *problem = NULL;
    run->partly = run->options->samples > 0;
    TaskExample example;
    Record record;
    while (reader && !problem && run->items->len < most && task_reader_next(reader, &example, &record, &problem)) {
        if (!add_problem(run, &record, &example, &problem))
            leave_out(run, config, &problem);
    }
    run->partly |= reader && task_reader_skipped(reader) > 0;
    if (problem)
        return fail_with(error, problem);
    return reader && (run->items->len > 0 || fail_user(error, "%s: no problem in it", run->file.path));
}

/* ---- results ---- */

/* The key that identifies a completion in the file of results: its text if it was given (--predictions), else its
 * number among the completions of its problem. g_free. */
static char *completion_key(const Run *run, const ProgramItem *item, const char *text)
{
    if (run->options->predictions)
        return g_strdup_printf("%s\x1f%s", item->problem.name, text);
    return g_strdup_printf("%s\x1f%" PRId64, item->problem.name, item->n);
}

static void count_program(Run *run, ProgramItem *item, bool passed, bool passed_base, const char *result)
{
    item->n++;
    item->passed += passed;
    item->passed_base += passed_base;
    run->n++;
    run->passed += passed;
    run->late += strcmp(result, "timed out") == 0;
}

/* If an interrupted command stored the result of the item's next completion, counts it and sets *found. */
static bool take_stored(Run *run, ProgramItem *item, const char *text, bool *found, GError **error)
{
    g_autofree char *key = completion_key(run, item, text);
    json_auto_t *answer = NULL;
    *found = false;
    if (!run->out)
        return true;
    if (!answers_file_next(run->out, key, strlen(key), &answer, error))
        return false;
    const char *result = json_string_value(json_object_get(answer, "result"));
    *found = answer != NULL;
    if (answer && result)
        count_program(run, item, json_is_true(json_object_get(answer, "passed")),
                      json_is_true(json_object_get(answer, "passed_base")), result);
    return !*found || result || fail_user(error, "%s: a line has no result", run->options->out);
}

static bool write_result(const Run *run, const ProgramItem *item, const Trial *trial, GError **error)
{
    g_autofree char *key = completion_key(run, item, trial->text);
    json_t *object =
        json_pack("{s:O, s:s, s:b, s:s, s:o*}", "task_id", trial->problem->id, trial->whole ? "solution" : "completion",
                  trial->text, "passed", trial->passed, "result", trial->result, "passed_base",
                  trial->problem->tests == TESTS_PLUS ? json_boolean(trial->passed_base) : NULL);
    return answers_file_add(run->out, object, key, strlen(key), error);
}

/* Runs the tests of the completions, writes and counts the results. */
static bool test_trials(Run *run, Trial *trials, size_t n, GError **error)
{
    if (!programs_run(trials, n, &run->options->run, error))
        return false;
    for (size_t i = 0; i < n; i++) {
        const Trial *trial = &trials[i];
        ProgramItem *item = (ProgramItem *)(uintptr_t)trial->problem; /* Problem is the first member of ProgramItem */
        if (run->out && !write_result(run, item, trial, error))
            return false;
        count_program(run, item, trial->passed, trial->passed_base, trial->result);
    }
    return true;
}

/* Removes the first n trials. */
static void remove_trials(GArray *trials, guint n)
{
    for (guint i = 0; i < n; i++)
        trial_clear(&g_array_index(trials, Trial, i));
    g_array_remove_range(trials, 0, n);
}

/* Fails unless every problem has a completion (pass@k is a mean over all), and at least the smallest k of them. */
static bool check_complete(const Run *run, const GArray *trials, GError **error)
{
    g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL); /* Problem * to number of completions */
    for (guint i = 0; i < trials->len; i++) {
        gpointer problem = (gpointer)(uintptr_t)g_array_index(trials, Trial, i).problem;
        g_hash_table_insert(counts, problem,
                            GINT_TO_POINTER(GPOINTER_TO_INT(g_hash_table_lookup(counts, problem)) + 1));
    }
    for (guint i = 0; i < run->items->len; i++) {
        const ProgramItem *item = run->items->pdata[i];
        const int64_t n = GPOINTER_TO_INT(g_hash_table_lookup(counts, &item->problem));
        if (n == 0)
            return fail_user(error, "%s: no completion of %s; pass@k is the mean over all problems",
                             run->options->predictions, item->problem.name);
        if (n < run->least_k)
            return fail_user(error, "--k %s: %s has %" PRId64 " completions of %s", run->options->k,
                             run->options->predictions, n, item->problem.name);
    }
    return true;
}

static bool read_predictions(const Run *run, GArray *trials, GError **error)
{
    g_autoptr(GHashTable) problems = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < run->items->len; i++) {
        ProgramItem *item = run->items->pdata[i];
        if (!g_hash_table_insert(problems, item->problem.name, &item->problem))
            return fail_user(error, "%s: two problems are called %s", run->file.path, item->problem.name);
    }
    return predictions_read(run->options->predictions, problems, run->partly, trials, error) &&
           check_complete(run, trials, error);
}

static bool test_predictions(Run *run, GError **error)
{
    g_autoptr(GArray) trials = g_array_new(false, false, sizeof(Trial));
    bool good = read_predictions(run, trials, error), found = true;
    guint first = 0;
    while (good && found && first < trials->len) {
        const Trial *trial = &g_array_index(trials, Trial, first);
        good = take_stored(run, (ProgramItem *)(uintptr_t)trial->problem, trial->text, &found, error);
        first += found;
    }
    progress_open("testing", "programs", trials->len);
    for (guint i = first; good && i < trials->len; i += CHUNK) {
        good = test_trials(run, &g_array_index(trials, Trial, i), MIN(CHUNK, trials->len - i), error);
        progress_update(i);
    }
    progress_close();
    remove_trials(trials, trials->len);
    return good;
}

/* ---- completions that the model generates ---- */

/* Reduces the output of a span-filling model, "<extra_id_0> SPAN <extra_id_1> …", to the first span, the completion. */
static void keep_span(const Tokenizer *tok, GArray *ids)
{
    if (ids->len > 0 && tokenizer_sentinel_index(tok, g_array_index(ids, int32_t, 0)) >= 0)
        g_array_remove_index(ids, 0);
    for (guint i = 0; i < ids->len; i++)
        if (tokenizer_sentinel_index(tok, g_array_index(ids, int32_t, i)) >= 0)
            g_array_set_size(ids, i);
}

/* The text of `ids` as a continuation of the prompt (n ids). Both are decoded together, because a leading space of the
 * first piece would be lost otherwise. */
static char *decode_after(const Tokenizer *tok, const int32_t *prompt, int64_t n, const GArray *ids, GError **error)
{
    g_autoptr(GArray) all = g_array_new(false, false, sizeof(int32_t));
    g_array_append_vals(all, prompt, (guint)n);
    g_array_append_vals(all, ids->data, ids->len);
    g_autofree char *before = tokenizer_decode(tok, prompt, n, error);
    g_autofree char *text = before ? tokenizer_decode(tok, (const int32_t *)(void *)all->data, all->len, error) : NULL;
    if (text == NULL)
        return NULL;
    if (g_str_has_prefix(text, before))
        return g_strdup(text + strlen(before));
    return tokenizer_decode(tok, (const int32_t *)(const void *)ids->data, ids->len, error);
}

static void cut_completion(char *text, const char *const *stop)
{
    for (; stop && *stop; stop++) {
        char *at = **stop ? strstr(text, *stop) : NULL;
        if (at)
            *at = '\0';
    }
}

/* Adds a completion. If beam search found fewer sequences than requested, the missing completions are empty. */
static bool add_trial(const Run *run, const AnswerBatch *batch, int32_t prompt, const Problem *problem,
                      Generation *generation, GArray *trials, GError **error)
{
    const Tokenizer *tok = run->loaded->tok;
    const bool alone = model_config(run->loaded->model)->n_enc == 0;
    bool replaced = false;
    if (!generation->ids) {
        const Trial none = { .problem = problem, .text = g_strdup("") };
        g_array_append_val(trials, none);
        return true;
    }
    if (!isfinite(generation->logprob))
        return fail_not_finite(run->loaded->model, "its answer a log-probability", generation->logprob, error);
    const int32_t *cu = (const int32_t *)(const void *)batch->cu->data,
                  *ids = (const int32_t *)(const void *)batch->ids->data;
    if (!alone)
        keep_span(tok, generation->ids);
    g_autofree char *text =
        alone ? decode_after(tok, ids + cu[prompt], cu[prompt + 1] - cu[prompt], generation->ids, error)
              : tokenizer_decode_answer(tok, generation->ids, error);
    if (text == NULL)
        return false;
    cut_completion(text, run->options->stop ? (const char *const *)run->options->stop : run->task.stop);
    const Trial trial = { .problem = problem, .text = valid_text(text, &replaced) };
    g_array_append_val(trials, trial);
    return true;
}

static GenerateOptions generate_options(const Run *run)
{
    const EvalOptions *options = run->options;
    const TokenRoles *roles = model_roles(run->loaded->model);
    return (GenerateOptions){
        .sampling = { .temperature = options->temperature, .top_p = options->top_p, .repetition_penalty = 1 },
        .beams = (int32_t)options->beams,
        .length_penalty = options->length_penalty,
        .n = (int32_t)options->n,
        .max_tokens = run->encoder.target_length,
        .seed = (uint64_t)options->seed,
        .eos = roles->eos,
        .decoder_start = roles->generation_start >= 0 ? roles->generation_start : roles->decoder_start,
    };
}

/* Appends options->n completions (Trial) for each of the problems first … first + n - 1 to `trials`. */
static bool completions_generate(Run *run, int64_t first, int64_t n, GArray *trials, GError **error)
{
    const EvalOptions *options = run->options;
    ProgramItem *const *items = (ProgramItem *const *)run->items->pdata;
    const GenerateOptions how = generate_options(run);
    AnswerBatch batch = answer_batch_new();
    g_autofree Generation *found = g_new0(Generation, (gsize)(n * options->n));
    bool good = true;
    for (int64_t i = 0; good && i < n; i++)
        good = answer_batch_add(&batch, &run->encoder, NULL, &items[first + i]->example, error);
    const Prompts prompts = { .ids = (const int32_t *)(const void *)batch.ids->data,
                              .cu = (const int32_t *)(const void *)batch.cu->data,
                              .n = answer_batch_count(&batch) };
    good = good && generate(run->loaded->model, &prompts, first, &how, found, error);
    for (int64_t i = 0; i < n * options->n; i++) {
        if (good)
            good = add_trial(run, &batch, (int32_t)(i / options->n), &items[first + i / options->n]->problem, &found[i],
                             trials, error);
        generation_clear(&found[i]);
    }
    answer_batch_free(&batch);
    return good;
}

/* *stored: the completions, of the first items, whose results an interrupted run left. */
static bool take_all_stored(Run *run, int64_t *stored, GError **error)
{
    bool found = true;
    *stored = 0;
    for (guint i = 0; found && i < run->items->len; i++)
        for (int64_t k = 0; found && k < run->options->n; k++) {
            if (!take_stored(run, run->items->pdata[i], NULL, &found, error))
                return false;
            *stored += found;
        }
    return true;
}

/* Tests completions that the model generates. If an interrupted command stored some results of a problem, all its
 * completions are generated again, which gives the same ones, and the missing ones are tested. */
static bool test_model(Run *run, GError **error)
{
    const EvalOptions *options = run->options;
    const int64_t n = run->items->len, step = MAX(1, SEQUENCES / MAX(options->n, options->beams));
    g_autoptr(GArray) trials = g_array_new(false, false, sizeof(Trial));
    int64_t stored;
    bool good = take_all_stored(run, &stored, error);
    progress_open("answering", "problems", (uint64_t)n);
    for (int64_t first = good ? stored / options->n : n, i = first; good && i < n; i += step) {
        good = completions_generate(run, i, MIN(step, n - i), trials, error);
        if (i == first)
            remove_trials(trials, MIN((guint)(stored % options->n), trials->len));
        good = good && test_trials(run, (Trial *)(void *)trials->data, trials->len, error);
        remove_trials(trials, trials->len);
        progress_update((uint64_t)i);
    }
    progress_close();
    return good;
}

/* ---- pass@k ---- */

/* Whether results of the benchmark's original tests can be printed apart from those of EvalPlus's additional tests:
 * only if all problems have EvalPlus's form with lists of inputs (TESTS_PLUS). */
static bool has_base(const Run *run)
{
    for (guint i = 0; i < run->items->len; i++)
        if (((const ProgramItem *)run->items->pdata[i])->problem.tests != TESTS_PLUS)
            return false;
    return true;
}

static double mean_pass(const Run *run, bool base, int64_t k)
{
    double sum = 0;
    for (guint i = 0; i < run->items->len; i++) {
        const ProgramItem *item = run->items->pdata[i];
        sum += pass_at_k(item->n, base ? item->passed_base : item->passed, k);
    }
    return 100 * sum / run->items->len;
}

static bool print_pass(const Run *run, GError **error)
{
    int64_t least = INT64_MAX;
    json_t *object = json_pack("{s:s, s:I, s:I, s:I}", "name", run->task.name, "problems", (json_int_t)run->items->len,
                               "programs", (json_int_t)run->n, "passed", (json_int_t)run->passed);
    const char *name = run->task.name;
    for (guint i = 0; i < run->items->len; i++)
        least = MIN(least, ((const ProgramItem *)run->items->pdata[i])->n);
    for (int base = has_base(run); base >= 0; base--)
        for (int i = 0; i < run->n_ks; i++) {
            if (run->ks[i] > least)
                continue;
            g_autofree char *value = g_strdup_printf("%spass@%" PRId64, base ? "base_" : "", run->ks[i]);
            json_object_set_new(object, value, json_finite(mean_pass(run, base, run->ks[i])));
            if (!run->options->as_json)
                printf("%-14s %-22s %10.4f\n", name, value, mean_pass(run, base, run->ks[i]));
            name = "";
        }
    if (run->options->as_json)
        return print_json_line(object, error);
    json_decref(object);
    return true;
}

/* ---- the whole ---- */

/* A hash of everything that determines the results besides the problems: model, settings, options. */
static uint64_t hash_settings(const Run *run, const Config *config)
{
    const EvalOptions *o = run->options;
    g_autofree char *task = run->loaded ? task_settings(config, &run->encoder, o->beams) : g_strdup(run->task.name),
                    *stop = o->stop ? g_strjoinv("\x1f", o->stop) : NULL,
                    *all = g_strdup_printf("%s %g %g %g %" PRId64 " %g %" PRId64 " %d %s", task, o->length_penalty,
                                           o->temperature, o->top_p, o->seed, o->run.timeout_s, o->run.memory_bytes,
                                           o->run.unsafe, stop ? stop : "");
    return run->loaded ? model_hash(run->loaded, all) : XXH3_64bits(all, strlen(all));
}

static bool open_out(Run *run, uint64_t hash, GError **error)
{
    const EvalOptions *o = run->options;
    char *const read[] = { run->file.path, (char *)(uintptr_t)o->predictions };
    return io_check_apart(o->out, read, o->predictions ? 2 : 1, error) &&
           (run->out = answers_file_open(o->out, hash, o->predictions ? o->predictions : run->file.path, error)) !=
               NULL;
}

static bool check_sandbox_options(Run *run, GError **error)
{
    const EvalOptions *o = run->options;
    if (!run->task.tests)
        return fail_user(error,
                         "task %s has no programs to test; --predictions, --n, --temperature, --top-p, --k and "
                         "--timeout are for humaneval, mbpp and their like (loam task list)",
                         run->task.name);
    if (!read_ks(run))
        return fail_user(error, "--k %s is not a list of up to %d numbers such as 1,10,100", o->k, MOST_K);
    return o->predictions || run->least_k <= o->n ||
           fail_user(error, "--k %s: there are only %" PRId64 " completions of a problem, as --n says", o->k, o->n);
}

static bool evaluate_run(Run *run, const Config *config, GError **error)
{
    if (run->loaded)
        run->encoder = task_encoder(&run->task, config, run->loaded);
    bool good = find_problems(run, &config->task, error) && read_problems(run, &config->task, error) &&
                programs_check(&run->options->run, error) &&
                (!run->options->out || open_out(run, hash_settings(run, config), error));
    good = good && (run->loaded ? test_model(run, error) : test_predictions(run, error));
    if (run->out)
        good = answers_file_close(run->out, good, error);
    if (!good)
        return false;
    if (run->loaded)
        task_encoder_report(&run->encoder, run->file.path);
    log_info("%s: %u problems, %" PRId64 " programs: %" PRId64 " passed, %" PRId64 " failed, %" PRId64 " timed out",
             run->file.path, run->items->len, run->n, run->passed, run->n - run->passed - run->late, run->late);
    return print_pass(run, error);
}

bool eval_programs(const LoadedModel *loaded, const Config *config, const char *model_path, const EvalOptions *options,
                   GError **error)
{
    EvalOptions own = *options;
    Run run = { .options = &own, .loaded = loaded };
    if (!task_is_set(&config->task))
        return fail_user(error, "no task is named; write --task NAME (loam task list)");
    if (loaded ? !task_of_model(&run.task, config, loaded, model_path, error)
               : !task_configure(&run.task, &config->task, error))
        return false;
    if (!check_sandbox_options(&run, error))
        return false;
    own.run.timeout_s = options->timeout_s > 0 ? options->timeout_s : programs_timeout(run.task.tests);
    run.items = g_ptr_array_new_with_free_func(free_item);
    const bool good = evaluate_run(&run, config, error);
    g_ptr_array_unref(run.items);
    g_free(run.file.path);
    return good;
}
