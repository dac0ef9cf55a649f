#include "eval/programs/programs.h"

#include "eval/programs/sandbox/sandbox.h"

#include <stdlib.h>
#include <string.h>

#define START_S      5.0                 /* time to start the interpreter on a busy machine */
#define FOLDER_BYTES (INT64_C(64) << 20) /* limit on the files that a program writes */

double pass_at_k(int64_t n, int64_t c, int64_t k)
{
    double none = 1;
    if (n - c < k)
        return 1;
    for (int64_t i = n - c + 1; i <= n; i++)
        none *= 1 - (double)k / (double)i;
    return 1 - none;
}

double programs_timeout(TaskTests tests)
{
    return tests == TESTS_PLUS ? 60 : 3;
}

/* ---- the interpreter ---- */

static bool has_dots(const char *path)
{
    return strstr(path, "/../") || strstr(path, "/./") || g_str_has_suffix(path, "/..") || g_str_has_suffix(path, "/.");
}

/* The path without "." and ".." components, under which the sandbox could not show it. If the path is the interpreter
 * itself, a symbolic link as its last component is not resolved, since Python finds its virtual environment by the
 * folder of this link. g_free. */
static char *plain_path(const char *path, bool is_folder)
{
    if (!has_dots(path))
        return g_strdup(path);
    g_autofree char *folder = is_folder ? g_strdup(path) : g_path_get_dirname(path),
                    *name = is_folder ? NULL : g_path_get_basename(path);
    g_autofree char *resolved = realpath(folder, NULL);
    return resolved ? g_build_filename(resolved, name, NULL) : g_strdup(path);
}

bool python_find(Python *out, const char *name, GError **error)
{
    static char ask[] = "import sys; print(sys.executable, sys.prefix, sys.base_prefix, sep='\\n')";
    char *argv[] = { (char *)(uintptr_t)name, (char[]){ "-I" }, (char[]){ "-c" }, ask, NULL };
    g_autofree char *said = NULL;
    g_autoptr(GError) problem = NULL;
    int status = 0;
    if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &said, NULL,
                      &status, &problem))
        return fail_user(error, "%s: %s; it runs the programs: name another with --python FILE", name,
                         problem->message);
    g_auto(GStrv) lines = g_strsplit(said, "\n", -1);
    if (status != 0 || g_strv_length(lines) != 4 || !g_path_is_absolute(lines[0]))
        return fail_user(error, "%s is no interpreter of Python 3; name another with --python FILE", name);
    out->path = plain_path(lines[0], false);
    out->folders = g_new0(char *, 3);
    for (int i = 0; i < 2; i++)
        out->folders[i] = plain_path(lines[1 + i], true);
    return true;
}

void python_clear(Python *python)
{
    g_clear_pointer(&python->path, g_free);
    g_clear_pointer(&python->folders, g_strfreev);
}

/* ---- problems ---- */

/* Fields that a problem must have, by TaskTests. */
static const char *const fields[][6] = {
    [TESTS_NONE] = { NULL },
    [TESTS_HUMANEVAL] = { "prompt", "test", "entry_point", NULL },
    [TESTS_MBPP] = { "test_list", NULL },
    [TESTS_PLUS] = { "prompt", "canonical_solution", "entry_point", "base_input", "plus_input", NULL },
};

/* Whether an EvalPlus record has the form of Hugging Face's datasets: a test program in `test` instead of inputs. */
static bool has_test(const Record *record)
{
    return json_is_string(record_value(record, "test")) && !record_value(record, "plus_input");
}

bool problem_read(Problem *out, const Task *task, const Record *record, GError **error)
{
    TaskTests tests = task->tests;
    *out = (Problem){ 0 };
    if (tests == TESTS_PLUS && has_test(record))
        tests = record_value(record, "entry_point") ? TESTS_HUMANEVAL : TESTS_MBPP;
    const json_t *id = record_value(record, "task_id"), *prompt = record_value(record, "prompt");
    if (!json_is_string(id) && !json_is_integer(id))
        return record_fail_missing(record, "task_id", error);
    for (const char *const *field = fields[tests]; *field; field++) {
        const json_t *value = record_value(record, *field);
        const bool list = g_str_has_suffix(*field, "_input") || g_str_has_suffix(*field, "_list");
        if (value == NULL)
            return record_fail_missing(record, *field, error);
        if (list ? !json_is_array(value) : !json_is_string(value))
            return fail_user(error, "%s: the field \"%s\" is no %s", record->where, *field, list ? "list" : "text");
    }
    g_autofree char *json = record->text ? NULL : json_dumps(record->levels[record->n_levels - 1], JSON_COMPACT);
    *out = (Problem){ .id = json_deep_copy(id),
                      .name = json_is_string(id) ? g_strdup(json_string_value(id))
                                                 : g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(id)),
                      .prefix = g_strdup(tests != TESTS_MBPP && prompt ? json_string_value(prompt) : ""),
                      .json = g_strdelimit(g_strdup(json ? json : record->text), "\r\n", ' '),
                      .tests = tests };
    return true;
}

void problem_clear(Problem *problem)
{
    json_decref(problem->id);
    g_free(problem->name);
    g_free(problem->prefix);
    g_free(problem->json);
}

void trial_clear(Trial *trial)
{
    g_clear_pointer(&trial->text, g_free);
    g_clear_pointer(&trial->result, g_free);
}

/* ---- completions that another program made ---- */

static const char *text_of(const Record *record, const char *name)
{
    return json_string_value(record_value(record, name));
}

/* The name of a task_id, which is a text or an integer. g_free; NULL means that it is neither. */
static char *problem_name(const Record *record)
{
    const json_t *id = record_value(record, "task_id");
    if (json_is_integer(id))
        return g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(id));
    return g_strdup(json_string_value(id));
}

static bool read_trial(const Record *record, GHashTable *problems, bool partly, GArray *trials, GError **error)
{
    g_autofree char *name = problem_name(record);
    const char *completion = text_of(record, "completion"), *solution = text_of(record, "solution");
    if (!name)
        return fail_user(error, "%s: no field \"task_id\", which names the problem", record->where);
    if (!completion && !solution)
        return fail_user(error, "%s: no text \"completion\" or \"solution\"", record->where);
    const Problem *problem = g_hash_table_lookup(problems, name);
    if (!problem && partly)
        return true;
    if (!problem)
        return fail_user(error, "%s: no problem is called %s", record->where, name);
    const char *text = solution ? solution : completion;
    const bool broken = record->replaced && strstr(text, "\uFFFD");
    const Trial trial = { .problem = problem,
                          .text = g_strdup(text),
                          .whole = solution != NULL,
                          .result = broken ? g_strdup("failed: a NUL or half a surrogate pair is in it") : NULL };
    g_array_append_val(trials, trial);
    return true;
}

bool predictions_read(const char *path, GHashTable *problems, bool partly, GArray *trials, GError **error)
{
    const RecordSource source = { .path = path, .format = RECORD_JSONL, .rows = "", .columns = "", .any_text = true };
    RecordReader *reader = record_reader_open(&source, error);
    GError *bad = NULL;
    Record record;
    while (reader && !bad && record_reader_next(reader, &record, &bad))
        read_trial(&record, problems, partly, trials, &bad);
    record_reader_close(reader);
    if (bad)
        g_propagate_error(error, bad);
    return reader && !bad;
}

/* ---- running ---- */

static const char *const kind_names[] = {
    [TESTS_NONE] = "", [TESTS_HUMANEVAL] = "script", [TESTS_MBPP] = "script", [TESTS_PLUS] = "plus"
};

/* Reads what the harness wrote; false if it wrote nothing. */
static bool read_answer(Trial *trial, const SandboxResult *result, const char *token)
{
    const char *at = g_strrstr_len(result->out->str, (gssize)result->out->len, token);
    json_auto_t *answer = at ? json_loads(at + strlen(token), 0, NULL) : NULL;
    const char *text = json_string_value(json_object_get(answer, "result"));
    if (text == NULL)
        return false;
    trial->result = g_utf8_make_valid(text, -1);
    trial->passed = strcmp(text, "passed") == 0;
    trial->passed_base = json_is_true(json_object_get(answer, "base"));
    return true;
}

/* The result to report for a program that ended before the harness wrote an answer. g_free. */
static char *describe_end(const SandboxResult *result)
{
    const char *error = result->err->len > 0 ? strrchr(g_strchomp(result->err->str), '\n') : NULL;
    error = error ? error + 1 : result->err->str;
    if (result->end == SANDBOX_TIME || (result->end == SANDBOX_KILLED && result->status == SIGXCPU))
        return g_strdup("timed out");
    if (result->end == SANDBOX_OUTPUT)
        return g_strdup("failed: too much output");
    if (result->end == SANDBOX_KILLED)
        return g_strdup_printf("failed: killed by signal %d", result->status);
    g_autofree char *all = g_strdup_printf("failed: ended with status %d before its tests%s%.300s", result->status,
                                           *error ? ": " : "", error);
    return g_utf8_make_valid(all, -1);
}

static bool run_one(Trial *trial, const ProgramOptions *options, GError **error)
{
    const Problem *problem = trial->problem;
    g_autofree char *token = g_strdup_printf("%08x%08x:", g_random_int(), g_random_int()),
                    *input = g_strdup_printf("{\"token\": \"%s\", \"kind\": \"%s\", \"timeout\": %.3f}\n%s\n%s%s",
                                             token, kind_names[problem->tests], options->timeout_s, problem->json,
                                             trial->whole ? "" : problem->prefix, trial->text);
    const SandboxFile files[] = { { "harness.py", program_harness, strlen(program_harness) } };
    SandboxJob job = { .argv = (const char *const[]){ options->python->path, "-I", "-B", "harness.py", NULL },
                       .shown = (const char *const *)options->python->folders,
                       .files = files,
                       .n_files = G_N_ELEMENTS(files),
                       .input = input,
                       .n_input = strlen(input),
                       .limits = sandbox_limits_default,
                       .unsafe = options->unsafe };
    job.limits.wall_s = options->timeout_s + START_S;
    job.limits.cpu_s = (int64_t)job.limits.wall_s + 1;
    job.limits.memory_bytes = options->memory_bytes;
    job.limits.folder_bytes = FOLDER_BYTES;
    job.limits.processes++; /* that of the tests */
    g_auto(SandboxResult) result = { 0 };
    if (trial->result)
        return true;
    if (!sandbox_run(&result, &job, error))
        return false;
    if (!read_answer(trial, &result, token))
        trial->result = describe_end(&result);
    return true;
}

/* The programs to test; each thread takes the next one. */
typedef struct Queue {
    Trial *trials;
    const ProgramOptions *options;
    gint next, n; /* next: index of the first program that no thread has taken */
    GMutex lock;
    GError *error; /* the error of the first program that could not run */
} Queue;

static gpointer work_programs(gpointer data)
{
    Queue *queue = data;
    for (gint i; (i = g_atomic_int_add(&queue->next, 1)) < queue->n;) {
        GError *error = NULL;
        if (run_one(&queue->trials[i], queue->options, &error))
            continue;
        g_mutex_lock(&queue->lock);
        if (queue->error)
            g_error_free(error);
        else
            queue->error = error;
        g_mutex_unlock(&queue->lock);
        break;
    }
    return NULL;
}

bool programs_run(Trial *trials, size_t n, const ProgramOptions *options, GError **error)
{
    Queue queue = { .trials = trials, .options = options, .n = (gint)n };
    const int n_threads = MIN(options->jobs, (int)n);
    g_autofree GThread **threads = g_new0(GThread *, n_threads);
    g_mutex_init(&queue.lock);
    for (int i = 0; i < n_threads; i++)
        threads[i] = g_thread_new("program", work_programs, &queue);
    for (int i = 0; i < n_threads; i++)
        g_thread_join(threads[i]);
    g_mutex_clear(&queue.lock);
    return queue.error == NULL || fail_with(error, queue.error);
}

bool programs_check(const ProgramOptions *options, GError **error)
{
    const SandboxJob job = { .argv = (const char *const[]){ options->python->path, "-I", "-c", "import json", NULL },
                             .shown = (const char *const *)options->python->folders,
                             .limits = sandbox_limits_default,
                             .unsafe = options->unsafe };
    g_auto(SandboxResult) result = { 0 };
    if (!sandbox_run(&result, &job, error))
        return false;
    const bool good = result.end == SANDBOX_EXITED && result.status == 0;
    g_autofree char *said = g_strdelimit(g_strchomp(g_utf8_make_valid(result.err->str, -1)), "\n", ' ');
    return good || fail_machine(error, "%s does not run in the sandbox: %s", options->python->path, said);
}
