/* What an interrupted rollback has left in RUN/rollback, whole or spoiled, loses no checkpoint of the run. */
#include "train/train.h"

#include "base/file.h"
#include "run/checkpoint/format.h"

#include <string.h>

static const int steps[] = { 4, 8, 12 };
/* A checkpoint as far as a rollback reads it. */
static const char state[] = "{\"files\":{},\"format\":1,\"model\":{\"model.vocab\":\"64\"},\"tokenizer\":\"0\","
                            "\"state\":{\"attempts\":4,\"updates\":4,\"samples\":32,\"tokens\":2048,\"data\":7}}";
static char *dir;

static void put(const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(dir, name, NULL), *folder = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static bool is_in(const char *place, int step)
{
    g_autofree char *path = g_strdup_printf("%s/%s/step-%08d/state.json", dir, place, step);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void make_run(void)
{
    json_t *root = json_loads(state, 0, NULL);
    g_assert_nonnull(root);
    checkpoint_seal(root);
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        g_autofree char *name = g_strdup_printf("checkpoints/step-%08d/state.json", steps[i]);
        put(name, text);
    }
    free(text);
    put("metrics.jsonl", "{\"kind\":\"train\",\"step\":4,\"loss\":1}\n{\"kind\":\"train\",\"step\":8,\"loss\":1}\n");
}

/* The rollback was interrupted with these contents of its files; NULL means that there is none. */
static void check(const char *to, const char *link, const char *mark)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(io_remove_tree(dir, NULL));
    make_run();
    if (to)
        put("rollback/to", to);
    if (link) {
        put("rollback/latest", link);
        put("rollback/best", link);
    }
    if (mark)
        put(mark, "");
    const bool finished = rollback_finish(dir, &error);
    g_assert_true(finished == (error == NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
        g_assert_true(is_in("checkpoints", steps[i]) || is_in("rollback/checkpoints", steps[i]));
    if (finished && rollback_undo(dir, NULL))
        for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
            g_assert_true(is_in("checkpoints", steps[i]));
}

static void no_content_of_its_files_loses_a_checkpoint(void)
{
    static const char *const to[] = { NULL,
                                      "",
                                      "4\n",
                                      "0\n",
                                      "8 x",
                                      "-3\n",
                                      "\n4\n",
                                      "abc\n",
                                      "99999999999999999999999\n",
                                      "44444444444444444444444444444444444444444444444444444444444444444\n" };
    static const char *const links[] = { NULL, "12\n", "x" };
    static const char *const marks[] = { NULL, "rollback/done", "rollback/undo" };
    for (size_t i = 0; i < G_N_ELEMENTS(to); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(links); j++)
            for (size_t k = 0; k < G_N_ELEMENTS(marks); k++)
                check(to[i], links[j], marks[k]);
}

static void an_interrupted_rollback_is_completed_and_undone(void)
{
    g_assert_true(io_remove_tree(dir, NULL));
    make_run();
    put("rollback/checkpoints/none", "");
    put("rollback/to", "4\n");
    put("rollback/latest", "12\n");
    g_assert_true(rollback_finish(dir, NULL));
    g_assert_true(is_in("checkpoints", 4) && !is_in("checkpoints", 8) && is_in("rollback/checkpoints", 12));
    g_assert_true(rollback_undo(dir, NULL));
    g_assert_true(is_in("checkpoints", 8) && is_in("checkpoints", 12));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("loam-rollback-XXXXXX", NULL);
    g_test_add_func("/no_content_of_its_files_loses_a_checkpoint", no_content_of_its_files_loses_a_checkpoint);
    g_test_add_func("/an_interrupted_rollback_is_completed_and_undone",
                    an_interrupted_rollback_is_completed_and_undone);
    int status = g_test_run();
    io_remove_tree(dir, NULL);
    g_free(dir);
    return status;
}
