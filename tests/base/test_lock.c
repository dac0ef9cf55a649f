#include "base/file.h"
#include "base/lock.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int n_flocks;

/* In place of the C library's: counts the calls. */
int flock(int file, int operation)
{
    n_flocks++;
    return (int)syscall(SYS_flock, file, operation);
}

static LockResult lock_in_a_child(const char *path, int fail_at, int number)
{
    pid_t child = fork();
    if (child == 0) {
        int lock;
        io_fail_at(fail_at, number);
        _exit((int)lock_file(path, &lock, NULL));
    }
    int status;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    return (LockResult)WEXITSTATUS(status);
}

static char *fresh_path(void)
{
    g_autofree char *folder = g_dir_make_tmp("loam-lock-XXXXXX", NULL);
    return g_build_filename(folder, "lock", NULL);
}

static void remove_folder(char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    io_remove_tree(folder, NULL);
    g_free(path);
}

static void one_process_holds_a_file(void)
{
    char *path = fresh_path();
    int lock;
    g_assert_cmpint(lock_in_a_child(path, 0, 0), ==, LOCK_HELD); /* and drops it with its end */
    g_assert_cmpint(lock_file(path, &lock, NULL), ==, LOCK_HELD);
    g_assert_cmpint(lock_in_a_child(path, 0, 0), ==, LOCK_TAKEN);
    remove_folder(path);
}

/* Of as many locks as a sweep takes one after another, each is free again, and none keeps a descriptor. Where files
 * cannot be locked, the name of the owner is gone too. */
static void a_lock_is_released_before_the_process_ends(void)
{
    char *path = fresh_path();
    int lock, first;
    g_assert_cmpint(lock_file(path, &first, NULL), ==, LOCK_HELD);
    lock_release(first);
    for (int i = 0; i < 100; i++) {
        g_assert_cmpint(lock_file(path, &lock, NULL), ==, LOCK_HELD);
        g_assert_cmpint(lock, ==, first);
        lock_release(lock);
    }
    lock_release(-1);
    g_assert_cmpint(lock_in_a_child(path, 0, 0), ==, LOCK_HELD);
    g_assert_cmpint(lock_file(path, &lock, NULL), ==, LOCK_HELD);
    lock_release(lock);
    g_assert_cmpint(lock_in_a_child(path, -1, ENOSYS), ==, LOCK_HELD);
    remove_folder(path);
}

/* Network file systems: Lustre without flock says ENOSYS, NFS without its lock daemon ENOLCK. */
static void a_file_system_without_flock_is_locked_by_fcntl(void)
{
    static const int numbers[] = { ENOSYS, ENOLCK, EINVAL };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        char *path = fresh_path();
        int lock;
        io_fail_at(1, numbers[i]);
        g_assert_cmpint(lock_file(path, &lock, NULL), ==, LOCK_HELD);
        io_fail_at(0, 0);
        g_assert_cmpint(lock_in_a_child(path, 1, numbers[i]), ==, LOCK_TAKEN);
        remove_folder(path);
    }
}

/* The owner that is named in the file: this process, which lives; one that ended; one of another machine. */
static void without_any_lock_the_owner_is_believed_while_it_lives(void)
{
    char *path = fresh_path();
    g_autofree char *alive = g_strdup_printf("%s %d\n", g_get_host_name(), (int)getppid()),
                    *gone = g_strdup_printf("%s %d\n", g_get_host_name(), 1 << 30),
                    *elsewhere = g_strdup("elsewhere 1\n");
    const struct {
        const char *owner;
        LockResult result;
    } cases[] = { { alive, LOCK_TAKEN }, { gone, LOCK_HELD }, { elsewhere, LOCK_HELD }, { "", LOCK_HELD } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_true(io_write_file(path, cases[i].owner, strlen(cases[i].owner), NULL));
        g_assert_cmpint(lock_in_a_child(path, -1, ENOSYS), ==, cases[i].result);
    }
    remove_folder(path);
}

/* Another process that asked with a lock of its own would refuse the owner for a moment. */
static void a_lock_that_is_held_shows_without_a_lock(void)
{
    char *path = fresh_path();
    int lock;
    g_assert_false(lock_is_free(path)); /* no file */
    for (int by_fcntl = 0; by_fcntl < 2; by_fcntl++) {
        io_fail_at(by_fcntl, ENOLCK);
        g_assert_cmpint(lock_file(path, &lock, NULL), ==, LOCK_HELD);
        io_fail_at(0, 0);
        n_flocks = 0;
        for (int child = 0; child < 2; child++) {
            pid_t asker = fork();
            if (asker == 0)
                _exit(lock_is_free(path) == (child == 1) && n_flocks == 0 ? 0 : 1);
            int status;
            g_assert_cmpint(waitpid(asker, &status, 0), ==, asker);
            g_assert_cmpint(status, ==, 0);
            lock_release(child == 0 ? lock : -1);
        }
    }
    remove_folder(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lock/one_process_holds_a_file", one_process_holds_a_file);
    g_test_add_func("/lock/a_lock_is_released_before_the_process_ends", a_lock_is_released_before_the_process_ends);
    g_test_add_func("/lock/a_lock_that_is_held_shows_without_a_lock", a_lock_that_is_held_shows_without_a_lock);
    g_test_add_func("/lock/a_file_system_without_flock_is_locked_by_fcntl",
                    a_file_system_without_flock_is_locked_by_fcntl);
    g_test_add_func("/lock/without_any_lock_the_owner_is_believed_while_it_lives",
                    without_any_lock_the_owner_is_believed_while_it_lives);
    return g_test_run();
}
