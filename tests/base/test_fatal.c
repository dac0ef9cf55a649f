#include "base/fatal.h"

#include "base/error.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define HUGE_BYTES ((size_t)1 << 60)

static char *folder;

/* What a process says that meets this; its status must be 2, and what it registered to clean up must be done. */
static char *last_words(void (*meet)(void), const char *cleaned)
{
    char text[2000];
    int ends[2], status;
    size_t n = 0;
    g_assert_cmpint(pipe(ends), ==, 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        fatal_install();
        meet();
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + n, sizeof text - n)) > 0;)
        n += (size_t)got;
    close(ends[0]);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, LOAM_ERROR_MACHINE);
    g_assert_false(g_file_test(cleaned, G_FILE_TEST_EXISTS));
    return g_strndup(text, n);
}

static char *left_behind;

static void clean_up(void)
{
    unlink(left_behind);
}

static void leave_something(void)
{
    g_assert_true(g_file_set_contents(left_behind, "x", 1, NULL));
    at_quick_exit(clean_up);
}

static void read_what_was_cut(void)
{
    g_autofree char *path = g_build_filename(folder, "cut.idx", NULL), *bytes = g_malloc0(10000);
    leave_something();
    g_assert_true(g_file_set_contents(path, bytes, 10000, NULL));
    int fd = open(path, O_RDWR);
    const volatile char *map = mmap(NULL, 10000, PROT_READ, MAP_SHARED, fd, 0);
    g_assert_cmpint(ftruncate(fd, 100), ==, 0);
    bytes[0] = map[9000];
}

static void ask_glib_for_too_much(void)
{
    leave_something();
    g_free(g_malloc(HUGE_BYTES));
}

/* As under ulimit -v, with all of it used up: GLib then calls itself for ever. */
static void use_up_memory(void)
{
    const struct rlimit none = { 1 << 20, 1 << 20 };
    leave_something();
    setrlimit(RLIMIT_AS, &none);
    while (true)
        g_strdup_printf("%s", "small");
}

static void abort_without_memory(void)
{
    const struct rlimit none = { 1 << 20, 1 << 20 };
    leave_something();
    setrlimit(RLIMIT_AS, &none);
    raise(SIGABRT);
}

static void a_mapped_file_that_is_cut_is_named(void)
{
    g_autofree char *text = last_words(read_what_was_cut, left_behind);
    g_autofree char *want = g_strdup_printf("loam: %s/cut.idx: cannot be read any more: it was cut short", folder);
    g_assert_true(g_str_has_prefix(text, want));
}

static void memory_that_is_refused_is_one_line(void)
{
#ifdef __SANITIZE_ADDRESS__
    g_test_skip("the sanitizer's own allocator ends the program");
#else
    g_autofree char *text = last_words(ask_glib_for_too_much, left_behind);
    g_assert_true(g_str_has_prefix(text, "loam: no memory for 1152921504606846976 bytes"));
    g_assert_true(strchr(text, '\n') == text + strlen(text) - 1);
    g_autofree char *small = last_words(use_up_memory, left_behind),
                    *aborted = last_words(abort_without_memory, left_behind);
    g_assert_true(g_str_has_prefix(small, "loam: no memory for "));
    g_assert_nonnull(strstr(aborted, "loam: no memory for a library, which crashed"));
#endif
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-fatal-XXXXXX", NULL);
    left_behind = g_build_filename(folder, "data.bin.tmp", NULL);
    g_test_add_func("/fatal/a_mapped_file_that_is_cut_is_named", a_mapped_file_that_is_cut_is_named);
    g_test_add_func("/fatal/memory_that_is_refused_is_one_line", memory_that_is_refused_is_one_line);
    int status = g_test_run();
    g_autofree char *cut = g_build_filename(folder, "cut.idx", NULL);
    unlink(cut);
    rmdir(folder);
    g_free(left_behind);
    g_free(folder);
    return status;
}
