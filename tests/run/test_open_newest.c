/* The newest valid checkpoint of a run that saves and removes checkpoints while it is looked for. */
#include "base/file.h"
#include "run/checkpoint/checkpoint.h"
#include "run/run_dir.h"

static char *dir;

static void make(int64_t step)
{
    g_autofree char *folder = run_checkpoint_path(dir, step);
    g_assert_true(io_make_directories(folder, NULL));
}

static void drop(int64_t step)
{
    g_autofree char *folder = run_checkpoint_path(dir, step);
    g_assert_true(io_remove_tree(folder, NULL));
}

/* *context: how many of its saves the run makes while a checkpoint is opened. */
static bool opens_late(const char *folder, void *context, GError **error)
{
    int *saves = context;
    g_autoptr(GArray) steps = run_checkpoints(dir);
    const int64_t newest = g_array_index(steps, int64_t, 0);
    if (*saves > 0) {
        (*saves)--;
        make(newest + 1);
        drop(newest);
    }
    if (g_file_test(folder, G_FILE_TEST_IS_DIR))
        return true;
    g_set_error(error, CHECKPOINT_DAMAGED, LOAM_ERROR_USER, "%s is gone", folder);
    return false;
}

static void a_checkpoint_that_was_removed_meanwhile_is_no_damage(void)
{
    int64_t step;
    int saves = 3;
    GError *error = NULL;
    make(10);
    g_assert_true(run_open_newest(dir, opens_late, &saves, &step, &error));
    g_assert_no_error(error);
    g_assert_cmpint(step, ==, 13);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("loam-open-newest-XXXXXX", NULL);
    g_test_add_func("/run_dir/a_checkpoint_that_was_removed_meanwhile_is_no_damage",
                    a_checkpoint_that_was_removed_meanwhile_is_no_damage);
    const int status = g_test_run();
    io_remove_tree(dir, NULL);
    g_free(dir);
    return status;
}
