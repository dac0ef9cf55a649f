/* A store of MLflow: the files that its client writes and reads, and a run that goes on. */
#include "train/services/services.h"

#include "data/data_test.h"

#include <string.h>

static char *contents(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

/* The only folder of the run, in the only experiment; g_free. */
static char *run_folder(const char *root)
{
    char *path = g_strdup(root);
    for (int level = 0; level < 2; level++) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;
        char *found = NULL;
        while ((name = g_dir_read_name(dir)))
            if (strcmp(name, "meta.yaml") != 0) {
                g_assert_null(found);
                found = g_build_filename(path, name, NULL);
            }
        g_assert_nonnull(found);
        g_free(path);
        path = found;
    }
    return path;
}

static void expect_line(const char *text, const char *line)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    if (!g_strv_contains((const char *const *)lines, line))
        g_error("no line \"%s\" in:\n%s", line, text);
}

static void the_files_are_those_of_the_client(void)
{
    char *folder = folder_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *root = g_build_filename(folder, "mlruns", NULL), *run = g_build_filename(folder, "a: \"b\"", NULL);
    g_mkdir_with_parents(run, 0700);
    Mlflow *mlflow = mlflow_open(root, "loam", run, -1, &error);
    g_assert_no_error(error);
    g_assert_true(mlflow_metric(mlflow, "train/loss", 10, 1.5, &error));
    g_assert_true(mlflow_metric(mlflow, "train/loss", 20, 0.1, &error));
    g_assert_true(mlflow_param(mlflow, "train.batch", "128 samples", &error));
    g_autofree char *at = run_folder(root), *running = contents(at, "meta.yaml");
    expect_line(running, "status: 1");
    expect_line(running, "end_time: null");
    mlflow_close(mlflow, MLFLOW_FINISHED);
    g_autofree char *meta = contents(at, "meta.yaml"), *loss = contents(at, "metrics/train/loss"),
                    *batch = contents(at, "params/train.batch"), *name = contents(at, "tags/mlflow.runName"),
                    *id = g_path_get_basename(at), *with_id = g_strdup_printf("run_id: %s", id);
    expect_line(meta, "status: 3");
    expect_line(meta, "run_name: \"a: \\\"b\\\"\"");
    expect_line(meta, "lifecycle_stage: active");
    expect_line(meta, with_id);
    g_assert_cmpuint(strlen(id), ==, 32);
    g_assert_true(g_regex_match_simple("^\\d{13} 1.5 10\\n\\d{13} 0.1\\d* 20\\n$", loss, 0, 0));
    g_assert_cmpstr(batch, ==, "128 samples");
    g_assert_cmpstr(name, ==, "a: \"b\"");
    folder_remove(folder);
}

/* The lines after the step go, and a torn one; the run keeps its id and the time of its first start. */
static void a_run_that_goes_on_is_the_same_run(void)
{
    char *folder = folder_new();
    g_autoptr(GError) error = NULL;
    Mlflow *mlflow = mlflow_open(folder, "loam", folder, -1, &error);
    g_assert_no_error(error);
    for (int step = 1; step <= 4; step++)
        g_assert_true(mlflow_metric(mlflow, "valid/code/loss", step, step, &error));
    mlflow_close(mlflow, MLFLOW_KILLED);
    g_autofree char *id = contents(folder, "mlflow.txt");
    mlflow = mlflow_open(folder, "loam", folder, 2, &error);
    g_assert_no_error(error);
    g_assert_true(mlflow_metric(mlflow, "valid/code/loss", 3, 30, &error));
    mlflow_close(mlflow, MLFLOW_FAILED);
    g_autofree char *again = contents(folder, "mlflow.txt");
    g_assert_cmpstr(id, ==, again);
    g_autofree char *experiment = NULL;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir));)
        if (g_ascii_isdigit(*name))
            experiment = g_build_filename(folder, name, NULL);
    g_autofree char *run = g_strndup(id, 32), *at = g_build_filename(experiment, run, NULL),
                    *lines = contents(at, "metrics/valid/code/loss"), *meta = contents(at, "meta.yaml"),
                    *time = g_strndup(id + 32, strcspn(id + 32, "\n")),
                    *started = g_strconcat("start_time:", time, NULL);
    g_assert_true(g_regex_match_simple("^\\d+ 1 1\\n\\d+ 2 2\\n\\d+ 30 3\\n$", lines, 0, 0));
    expect_line(meta, "status: 4");
    expect_line(meta, started);
    folder_remove(folder);
}

static void an_experiment_of_the_client_is_found(void)
{
    char *folder = folder_new();
    g_autoptr(GError) error = NULL;
    const char *const metas[][2] = { { "7", "lifecycle_stage: active\nname: 'mine: all'\n" },
                                     { "8", "lifecycle_stage: deleted\nname: gone\n" } };
    for (size_t i = 0; i < G_N_ELEMENTS(metas); i++) {
        g_autofree char *at = g_build_filename(folder, metas[i][0], NULL);
        g_mkdir_with_parents(at, 0700);
        g_free(file_write_text(at, "meta.yaml", metas[i][1]));
    }
    mlflow_close(mlflow_open(folder, "mine: all", folder, -1, &error), MLFLOW_FINISHED);
    g_assert_no_error(error);
    g_autofree char *id = contents(folder, "mlflow.txt"), *run = g_strndup(id, 32),
                    *there = g_build_filename(folder, "7", run, "meta.yaml", NULL);
    g_assert_true(g_file_test(there, G_FILE_TEST_EXISTS));
    mlflow_close(mlflow_open(folder, "gone", folder, -1, &error), MLFLOW_FINISHED);
    g_autofree char *deleted = g_build_filename(folder, "8", run, NULL);
    g_assert_false(g_file_test(deleted, G_FILE_TEST_EXISTS));
    folder_remove(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define CASE(name) g_test_add_func("/mlflow/" #name, name)
    CASE(the_files_are_those_of_the_client);
    CASE(a_run_that_goes_on_is_the_same_run);
    CASE(an_experiment_of_the_client_is_found);
    return g_test_run();
}
