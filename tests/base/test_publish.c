/* What makes written files last: their final names, and the folder that holds these. */
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <string.h>

static char *folder;

/* A file system may be unable to sync folders; one that tries and fails is an error. */
static void a_folder_that_cannot_be_synced_is_told_from_a_failure(void)
{
    static const int unable[] = { EINVAL, ENOTSUP, ENOSYS, EBADF }, failures[] = { EIO, ENOSPC, ETIMEDOUT, ESTALE };
    for (size_t i = 0; i < G_N_ELEMENTS(unable); i++) {
        g_autoptr(GError) error = NULL;
        io_fail_at(2, unable[i]);
        g_assert_true(io_sync_directory(folder, NULL));
        io_fail_at(2, failures[i]);
        g_assert_false(io_sync_directory(folder, &error));
        io_fail_at(0, 0);
        g_assert_nonnull(strstr(error->message, "syncing folder"));
    }
}

/* A temporary file whose name another one has by now is neither renamed nor removed. */
static void another_file_of_the_name_stays(void)
{
    g_autofree char *temporary = g_build_filename(folder, "a.tmp", NULL), *final = g_build_filename(folder, "a", NULL);
    for (int publish = 0; publish < 2; publish++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;
        IoFile *file = io_create(temporary, NULL);
        g_assert_true(io_write(file, "mine", 4, NULL) && io_remove_file(temporary, NULL));
        g_assert_true(g_file_set_contents(temporary, "theirs", -1, NULL));
        if (publish) {
            g_assert_false(io_publish(file, final, &error));
            g_assert_nonnull(strstr(error->message, "a.tmp was removed or replaced while it was written"));
        } else {
            io_discard(file);
        }
        g_assert_true(g_file_get_contents(temporary, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, "theirs");
        g_assert_false(g_file_test(final, G_FILE_TEST_EXISTS));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-publish-XXXXXX", NULL);
    g_test_add_func("/publish/a_folder_that_cannot_be_synced_is_told_from_a_failure",
                    a_folder_that_cannot_be_synced_is_told_from_a_failure);
    g_test_add_func("/publish/another_file_of_the_name_stays", another_file_of_the_name_stays);
    int status = g_test_run();
    g_assert_true(io_remove_tree(folder, NULL));
    g_free(folder);
    return status;
}
