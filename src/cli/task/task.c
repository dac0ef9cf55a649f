/* task.c: `loam task`: lists tasks, shows and prepares their labelled data, writes files for leaderboards. */
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/task/submission.h"
#include "run/config/config.h"
#include "run/task_set.h"

#include <inttypes.h>
#include <string.h>

/* ---- list ---- */

static bool list_tasks(int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = { { 0 } };
    const Task *task;
    if (!cli_parse(&argc, &argv, entries, "loam task list",
                   "Lists the tasks that task.name accepts, with their scores. docs/task.md describes their files.\n\n"
                   "  loam task list\n",
                   error))
        return false;
    if (argc > 1)
        return fail_user(error, "%s is not an option; usage: loam task list", argv[1]);
    for (size_t i = 0; (task = task_at(i)); i++)
        printf("%-16s %-27s %s\n", task->name, task->tests ? "pass@k" : task->scores, task->does);
    return true;
}

/* ---- show and prepare ---- */

/* Reads "[CONFIG.yaml] [group.key=value]…". */
static bool load_task_config(Config *config, int argc, char **argv, Task *task, GError **error)
{
    bool file = argc > 1 && strchr(argv[1], '=') == NULL;
    if (!config_load(config, file ? argv[1] : NULL, argv + 1 + file, argc - 1 - file, error))
        return false;
    if (!*config->task.data && !*config->task.valid)
        return fail_user(error, "task.data is not set: a file of labelled data");
    return task_configure(task, &config->task, error);
}

static int64_t n_shown = 3;
static gboolean show_valid;
static const GOptionEntry show_entries[] = {
    CLI_VALUE("n", n_shown, "N", "number of examples (default 3)"),
    CLI_SWITCH("valid", show_valid, "show the examples for evaluation, with all right answers"),
    { 0 },
};

static void print_example(const TaskExample *example, int64_t number)
{
    g_autofree char *input = one_line(example->input);
    printf("%s%" PRId64 "\n  input   %s\n", number > 1 ? "\n" : "", number, input);
    if (example->second) {
        g_autofree char *second = one_line(example->second);
        printf("  second  %s\n", second);
    }
    for (guint i = 0; example->choices && i < example->choices->len; i++) {
        g_autofree char *choice = one_line(example->choices->pdata[i]);
        printf("  %-7u %s\n", i, choice);
    }
    for (guint i = 0; i < (show_valid ? example->targets->len : MIN(example->targets->len, 1)); i++) {
        g_autofree char *target = one_line(example->targets->pdata[i]);
        printf("  %-7s %s\n", i == 0 ? "target" : "or", target);
    }
    if (example->group)
        printf("  group   %s\n", example->group);
}

static bool show_task(const Task *task, const TaskConfig *config, GError **error)
{
    g_auto(TaskFile) train = { 0 }, valid = { 0 };
    if (!task_files(task, config, &train, &valid, error))
        return false;
    const TaskFile *file = show_valid || !train.path ? &valid : &train;
    g_autoptr(TaskReader) reader = NULL;
    bool good = file->path || fail_user(error, "task.valid is not set: a file of labelled data to evaluate on");
    const bool trains = file != &valid; /* the file is trained on, so each example needs a target */
    good = good && (reader = task_reader_open(task, config, file, trains, error)) != NULL;
    TaskExample example;
    Record record;
    GError *problem = NULL;
    for (int64_t n = 1; good && n <= n_shown && task_reader_next(reader, &example, &record, &problem); n++) {
        print_example(&example, n);
        task_example_clear(&example);
    }
    if (problem)
        return fail_with(error, problem);
    if (good && task_reader_count(reader) == 0)
        return fail_user(error, "%s: the file holds no examples", file->path);
    fflush(stdout); /* a large file takes a while */
    if (!good || !train.path)
        return good;
    /* a folder may lack the file to train on, which --valid does not show */
    return task_compare(task, config, &train, &valid, show_valid ? NULL : error) || show_valid;
}

static bool show_examples(int argc, char **argv, GError **error)
{
    g_auto(Config) config = { 0 };
    Task task;
    if (!cli_parse(&argc, &argv, show_entries, "loam task show [CONFIG.yaml] [--n N] [--valid] [task.key=value]…",
                   "Prints examples of labelled data as the texts that the model reads and learns to answer, to check\n"
                   "templates before training.\n\n"
                   "  loam task show task.data=reviews.tsv task.input=\"review: {text}\" task.target=\"{label}\"\n",
                   error))
        return false;
    if (n_shown < 1)
        return fail_user(error, "--n %" PRId64 ": it must be at least 1", n_shown);
    return load_task_config(&config, argc, argv, &task, error) && show_task(&task, &config.task, error);
}

static char *out;
static gboolean replace;
static const GOptionEntry prepare_entries[] = {
    CLI_PATH("out", out, "PREFIX", "path prefix of the dataset; missing folders are created"),
    CLI_REPLACE(replace),
    { 0 },
};

/* Whether the task has examples that are held out into PREFIX-valid. */
static bool find_valid(bool *found, const Task *task, const TaskConfig *config, GError **error)
{
    g_auto(TaskFile) train = { 0 }, valid = { 0 };
    const bool read = task_files(task, config, &train, &valid, error);
    *found = valid.path != NULL;
    return read;
}

static bool prepare_task(Config *config, const Task *task, GError **error)
{
    if (*config->tokenizer.path == '\0')
        return fail_user(error, "tokenizer.path is not set: the tokenizer of the model that is to be trained");
    g_autoptr(Tokenizer) tok = config_open_tokenizer(config, error);
    if (!tok || !config_fit_lengths(config, tok, error))
        return false;
    g_autofree char *beside = g_strconcat(out, "-valid", NULL);
    bool holds_out;
    if (!find_valid(&holds_out, task, &config->task, error) ||
        (holds_out && !cli_check_dataset(beside, replace, error)))
        return false;
    const TaskEncoder encoder = config_task_encoder(config, &config->model, task, tok);
    /* PREFIX-valid.task.yaml (run/task_set.h) is for runs, which score the held-out dataset by it. */
    return task_prepare(&encoder, out, error) && (!holds_out || task_set_write(beside, &config->task, error));
}

static bool prepare_examples(int argc, char **argv, GError **error)
{
    g_auto(Config) config = { 0 };
    Task task;
    if (!cli_parse(
            &argc, &argv, prepare_entries, "loam task prepare --out PREFIX [CONFIG.yaml] [group.key=value]…",
            "Converts labelled data into a token dataset of pairs, and task.valid into PREFIX-valid, for mixtures of "
            "tasks.\n"
            "`loam train` does this itself for a run with task.data. The lengths of inputs and targets are limited by\n"
            "data.input_length and data.target_length.\n\n"
            "  loam task prepare --out data/rte tokenizer.path=t5/ task.name=rte task.data=glue/RTE\n",
            error))
        return false;
    if (out == NULL)
        return fail_user(error,
                         "--out is missing; usage: loam task prepare --out PREFIX [CONFIG.yaml] [group.key=value]…");
    return cli_check_prefix(out, error) && cli_check_dataset(out, replace, error) &&
           load_task_config(&config, argc, argv, &task, error) && prepare_task(&config, &task, error);
}

/* ---- submit ---- */

#define SUBMIT_USAGE "loam task submit NAME PREDICTIONS.jsonl --out FOLDER"

static const char submit_about[] =
    "Turns the predictions that `loam eval --task --out` wrote for a test set into the file that the leaderboard of "
    "GLUE,\n"
    "SuperGLUE, SQuAD or SCROLLS accepts. NAME is the task; the file gets the name that the leaderboard requires.\n"
    "\n"
    "  loam eval runs/rte@best --task task.valid=glue/RTE/test.tsv --out rte.jsonl\n"
    "  loam task submit rte rte.jsonl --out submission\n";

static char *out_folder;
static const GOptionEntry submit_entries[] = {
    CLI_PATH("out", out_folder, "FOLDER", "folder for the file; created if missing"),
    { 0 },
};

static bool submit(const Submission *form, const char *task, const char *path, GError **error)
{
    g_autofree char *target = g_build_filename(out_folder, submission_file(form), NULL);
    char *const read[] = { (char *)path };
    g_auto(SubmissionText) made;
    bool good = submission_read(form, path, &made, error) && io_make_directories(out_folder, error) &&
                io_check_apart(target, read, 1, error) && io_write_file(target, made.text->str, made.text->len, error);
    if (good && made.unknown > 0)
        log_warning("%" PRId64 " of %" PRId64 " predictions are not labels of %s, and are written as %s", made.unknown,
                    made.n, task, made.stands_as);
    if (good)
        log_info("%s: %" PRId64 " predictions", target, made.n);
    return good;
}

static bool submit_predictions(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, submit_entries, SUBMIT_USAGE, submit_about, error))
        return false;
    if (argc != 3 || out_folder == NULL)
        return fail_user(error, "a task, a file of predictions and --out are wanted; usage: " SUBMIT_USAGE);
    const Submission *form = submission_find(argv[1]);
    if (!form)
        return fail_user(error, "%s: no leaderboard takes predictions of this task; `loam task list` lists the tasks",
                         argv[1]);
    return submit(form, argv[1], argv[2], error);
}

/* ---- the verb ---- */

static const SubVerb sub_verbs[] = {
    { "list", list_tasks, "list the tasks that loam knows" },
    { "show", show_examples, "print examples as the model reads them" },
    { "prepare", prepare_examples, "convert a task into a token dataset" },
    { "submit", submit_predictions, "convert predictions into a leaderboard's file" },
};

bool verb_task(int argc, char **argv, GError **error)
{
    return cli_run_sub_verb(sub_verbs, G_N_ELEMENTS(sub_verbs), "task",
                            "loam task show task.name=rte task.data=glue/RTE", argc, argv, error);
}
