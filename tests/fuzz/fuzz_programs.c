/* Any bytes as a file of problems or of completions: texts, or an error that says something. The first byte chooses the
 * task and which file it is. */
#include "eval/programs/programs.h"
#include "fuzz_folder.h"

#include <string.h>

static const char *const names[] = { "humaneval", "humaneval_plus", "mbpp", "mbpp_plus" };

static void read_problems(const Task *task, const char *path, GError **error)
{
    const TaskFile file = { .path = (char *)(uintptr_t)path };
    char none[] = "";
    const TaskConfig config = { .on_error = TASK_SKIP, .value = none, .label = none, .target = none };
    TaskReader *reader = task_reader_open(task, &config, &file, false, error);
    TaskExample example;
    Problem problem;
    Record record;
    while (reader && !*error && task_reader_next(reader, &example, &record, error)) {
        if (problem_read(&problem, task, &record, error)) {
            CHECK(g_utf8_validate(problem.name, -1, NULL) && g_utf8_validate(problem.prefix, -1, NULL), "not UTF-8");
            CHECK(problem.tests != TESTS_NONE && *problem.json, "nothing to test");
            problem_clear(&problem);
        }
        task_example_clear(&example);
    }
    task_reader_close(reader);
}

static void read_predictions(const char *path, GError **error)
{
    Problem problem = { .name = (char[]){ "HumanEval/0" }, .prefix = (char[]){ "" } };
    g_autoptr(GHashTable) problems = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GArray) trials = g_array_new(false, false, sizeof(Trial));
    g_hash_table_insert(problems, problem.name, &problem);
    predictions_read(path, problems, false, trials, error);
    for (guint i = 0; i < trials->len; i++) {
        CHECK(g_utf8_validate(g_array_index(trials, Trial, i).text, -1, NULL), "not UTF-8");
        trial_clear(&g_array_index(trials, Trial, i));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 1)
        return 0;
    g_autofree char *path = g_build_filename(fuzz_folder(), "programs.jsonl", NULL);
    g_autoptr(GError) error = NULL;
    fuzz_keep("programs.jsonl", data + 1, bytes - 1);
    if (data[0] & 4)
        read_predictions(path, &error);
    else
        read_problems(task_find(names[data[0] & 3]), path, &error);
    CHECK(error == NULL || *error->message, "no word about what is wrong");
    return 0;
}
