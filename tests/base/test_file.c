#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

typedef struct Folder {
    char *path;
} Folder;

static void set_up(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autoptr(GError) error = NULL;
    folder->path = g_dir_make_tmp("loam-file-XXXXXX", &error);
    g_assert_no_error(error);
}

static void tear_down(Folder *folder, gconstpointer data)
{
    (void)data;
    io_fail_at(0, 0);
    g_assert_true(io_remove_tree(folder->path, NULL));
    g_assert_false(g_file_test(folder->path, G_FILE_TEST_EXISTS));
    g_free(folder->path);
}

static char *inside(const Folder *folder, const char *name)
{
    return g_build_filename(folder->path, name, NULL);
}

static void expect_content(const char *path, const char *wanted)
{
    g_autoptr(GError) error = NULL;
    size_t bytes;
    g_autofree char *text = io_read_file(path, 1 << 20, &bytes, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(text, ==, wanted);
    g_assert_cmpuint(bytes, ==, strlen(wanted));
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, sorted, with a blank between them. */
static void expect_names(const char *path, const char *wanted)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(dir)))
        g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(" ", (char **)names->pdata);
    g_assert_cmpstr(all, ==, wanted);
}

static void expect_message(GError *error, LoamError code, const char *end)
{
    g_assert_error(error, LOAM_ERROR, (gint)code);
    if (!g_str_has_suffix(error->message, end))
        g_error("\"%s\" does not end with \"%s\"", error->message, end);
}

static void writes_pass_the_buffer(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "f");
    g_autoptr(GString) wanted = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    IoFile *file = io_create(path, &error);
    g_assert_no_error(error);
    for (int i = 0; i < 400; i++) { /* below, at and above the size of the buffer */
        static const size_t sizes[] = { 0, 1, 100, 1000, 65535, 65536, 65537, 200000 };
        size_t bytes = sizes[i < 8 ? i : i % 4];
        g_autofree char *piece = g_malloc(bytes);
        for (size_t j = 0; j < bytes; j++)
            piece[j] = (char)('a' + ((size_t)i + j) % 26);
        g_string_append_len(wanted, piece, (gssize)bytes);
        g_assert_true(io_write(file, piece, bytes, &error));
    }
    g_assert_true(io_close(file, true, &error));
    expect_content(path, wanted->str);
}

static void append_goes_on(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "log");
    for (int i = 0; i < 3; i++) {
        IoFile *file = io_append(path, NULL);
        g_assert_true(io_write(file, "line\n", 5, NULL));
        g_assert_true(io_close(file, false, NULL));
    }
    expect_content(path, "line\nline\nline\n");
    io_abort(io_create(path, NULL));
    expect_content(path, "");
}

static void flush_reaches_the_file(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "f");
    IoFile *file = io_create(path, NULL);
    g_assert_true(io_write(file, "abc", 3, NULL));
    expect_content(path, "");
    g_assert_true(io_flush(file, NULL));
    expect_content(path, "abc");
    io_abort(file);
}

static void read_is_bounded(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "f");
    g_autoptr(GError) error = NULL;
    g_assert_true(io_write_file(path, "12345", 5, NULL));
    g_autofree char *text = io_read_file(path, 5, NULL, NULL);
    g_assert_cmpstr(text, ==, "12345");
    g_assert_null(io_read_file(path, 4, NULL, &error));
    expect_message(error, LOAM_ERROR_USER, "f: more than the 4 B allowed here");
    g_clear_error(&error);
    int ends[2]; /* a pipe's size is known only at its end */
    g_assert_cmpint(pipe(ends), ==, 0);
    g_assert_cmpint((int)write(ends[1], "123456", 6), ==, 6);
    close(ends[1]);
    g_autofree char *read_end = g_strdup_printf("/proc/self/fd/%d", ends[0]);
    g_assert_null(io_read_file(read_end, 5, NULL, &error));
    expect_message(error, LOAM_ERROR_USER, ": more than the 5 B allowed here");
    close(ends[0]);
    g_clear_error(&error);
    g_assert_null(io_read_file("/dev/zero", 100000, NULL, &error));
    expect_message(error, LOAM_ERROR_USER, "reading /dev/zero: more than the 97.7 KiB allowed here");
}

static void errors_name_the_path(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *absent = inside(folder, "absent"), *below = inside(folder, "absent/f");
    g_autoptr(GError) error = NULL;
    g_assert_null(io_read_file(absent, 10, NULL, &error));
    expect_message(error, LOAM_ERROR_USER, "/absent: No such file or directory");
    g_assert_true(g_str_has_prefix(error->message, "opening /"));
    g_clear_error(&error);
    g_assert_null(io_create(below, &error));
    expect_message(error, LOAM_ERROR_USER, "/absent/f: No such file or directory");
    g_clear_error(&error);
    g_assert_null(io_read_file(folder->path, 10, NULL, &error));
    expect_message(error, LOAM_ERROR_USER, ": Is a directory");
    g_clear_error(&error);
    g_assert_false(io_rename(absent, below, &error));
    expect_message(error, LOAM_ERROR_USER, "/absent/f: No such file or directory");
}

/* /dev/full answers every write with ENOSPC. */
static void full_disk_is_the_machines(void)
{
    g_autoptr(GError) error = NULL;
    IoFile *file = io_append("/dev/full", &error);
    g_assert_no_error(error);
    g_assert_true(io_write(file, "x", 1, &error));
    g_assert_false(io_close(file, false, &error));
    expect_message(error, LOAM_ERROR_MACHINE, "writing /dev/full: No space left on device");
}

static void makes_and_removes_trees(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *deep = inside(folder, "a/b/c/"), *top = inside(folder, "a"), *file = inside(folder, "a/b/f");
    g_autofree char *link = inside(folder, "a/outside"), *kept = inside(folder, "kept"),
                    *in = inside(folder, "a/b/f/x");
    g_autofree char *kept_file = inside(folder, "kept/f");
    g_autoptr(GError) error = NULL;
    g_assert_true(io_make_directories(deep, NULL));
    g_assert_true(io_make_directories(deep, NULL));
    g_assert_true(io_make_directories(kept, NULL));
    g_assert_true(io_write_file(file, "x", 1, NULL) && io_write_file(kept_file, "x", 1, NULL));
    g_assert_false(io_make_directories(in, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_true(io_replace_link(link, kept, NULL));
    g_assert_true(io_remove_tree(top, NULL));
    g_assert_true(io_remove_tree(top, NULL)); /* fine if absent */
    g_clear_error(&error);
    g_assert_false(io_remove_file(kept, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_true(io_remove_file(file, NULL)); /* fine if absent */
    g_assert_false(g_file_test(top, G_FILE_TEST_EXISTS));
    g_assert_true(g_file_test(kept_file, G_FILE_TEST_EXISTS)); /* links are not followed */
}

static void links_are_replaced(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *link = inside(folder, "latest"), *debris = inside(folder, "latest.tmp");
    g_assert_true(io_replace_link(link, "step-1", NULL));
    g_assert_cmpint(symlink("debris", debris), ==, 0); /* a crash between making and renaming */
    g_assert_true(io_replace_link(link, "step-2", NULL));
    g_autofree char *target = g_file_read_link(link, NULL);
    g_assert_cmpstr(target, ==, "step-2");
    g_assert_false(g_file_test(debris, G_FILE_TEST_IS_SYMLINK));
}

static void write_in(const char *folder, const char *text)
{
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    g_assert_true(io_write_file(path, text, strlen(text), NULL));
}

static void expect_in(const char *folder, const char *text)
{
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    expect_content(path, text);
}

static void temporary_names_are_nobody_elses(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "f"), *theirs = inside(folder, "f.tmp"), *model = inside(folder, "m");
    g_autofree char *their_folder = inside(folder, "tmp-m");
    g_assert_true(g_file_set_contents(theirs, "theirs", -1, NULL) && io_make_directories(their_folder, NULL));
    g_assert_true(io_write_file(path, "x", 1, NULL));
    g_autofree char *fresh = io_make_folder_beside(model, NULL), *other = io_make_folder_beside(model, NULL);
    g_assert_cmpstr(fresh, !=, other);
    g_assert_true(io_swap_in(fresh, model, NULL) && io_remove_tree(other, NULL));
    expect_content(theirs, "theirs");
    expect_names(folder->path, "f f.tmp m tmp-m");
}

static void folders_are_swapped_in(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "deep/m/"), *link = inside(folder, "link"), *deep = inside(folder, "deep");
    const char *const places[] = { path, path, link };
    for (int i = 0; i < 3; i++) {
        g_autofree char *fresh = io_make_folder_beside(places[i], NULL);
        g_autofree char *text = g_strdup_printf("%d", i);
        struct stat info, plain;
        g_assert_true(stat(fresh, &info) == 0 && stat(deep, &plain) == 0);
        g_assert_cmpuint(info.st_mode, ==, plain.st_mode); /* not mkdtemp's 0700 */
        write_in(fresh, text);
        g_assert_true(io_swap_in(fresh, places[i], NULL));
        expect_in(path, text);
        if (i == 1)
            g_assert_cmpint(symlink("deep/m", link), ==, 0);
    }
    expect_names(folder->path, "deep link");
    expect_names(deep, "m");
    g_assert_true(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
}

/* A new folder beside, two renames, open, fsync and close of the parent; then the old file and folder are removed. */
static void nth_call_failing_keeps_a_folder(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "m");
    g_assert_true(io_make_directories(path, NULL));
    for (int n = 1; n <= 9; n++) {
        g_autoptr(GError) error = NULL;
        write_in(path, "old");
        g_autofree char *fresh = io_make_folder_beside(path, NULL);
        write_in(fresh, "new");
        io_fail_at(n, EIO);
        g_assert_cmpint(io_swap_in(fresh, path, &error), ==, n == 9);
        io_fail_at(0, 0);
        expect_in(path, n <= 3 ? "old" : "new");
        if (n <= 3)
            g_assert_true(io_remove_tree(fresh, NULL));
        if (n <= 3 || n == 9)
            g_assert_false(g_file_test(fresh, G_FILE_TEST_EXISTS));
        if (n < 9)
            g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
    }
}

/* The calls that one io_write_file makes when nothing fails. */
static int calls_of_write_file(const char *path)
{
    io_fail_at(0, 0);
    g_assert_true(io_write_file(path, "new", 3, NULL));
    return io_calls();
}

/* open, write, fsync, rename; then open, fsync and close of the folder, when the new file is in place. */
static void nth_call_failing_keeps_the_old_file(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "f");
    int calls = calls_of_write_file(path);
    g_assert_cmpint(calls, ==, 7);
    for (int n = 1; n <= calls; n++) {
        g_autoptr(GError) error = NULL;
        io_fail_at(0, 0);
        g_assert_true(io_write_file(path, "old", 3, NULL));
        io_fail_at(n, ENOSPC);
        g_assert_false(io_write_file(path, "new", 3, &error));
        expect_message(error, LOAM_ERROR_MACHINE, ": No space left on device");
        g_assert_nonnull(strstr(error->message, folder->path));
        io_fail_at(0, 0);
        expect_content(path, n <= 4 ? "old" : "new");
        expect_names(folder->path, "f");
    }
    io_fail_at(calls + 1, ENOSPC);
    g_assert_true(io_write_file(path, "new", 3, NULL));
}

static void nth_call_failing_keeps_a_link(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *link = inside(folder, "latest");
    int calls = 0;
    for (int n = 1;; n++) {
        g_autoptr(GError) error = NULL;
        io_fail_at(0, 0);
        g_assert_true(io_replace_link(link, "old", NULL));
        io_fail_at(n, EIO);
        bool ok = io_replace_link(link, "new", &error);
        g_autofree char *target = g_file_read_link(link, NULL);
        g_assert_true(g_strcmp0(target, "old") == 0 || g_strcmp0(target, "new") == 0);
        if (ok)
            break;
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
        calls = n;
    }
    g_assert_cmpint(calls, ==, 6); /* unlink, symlink, rename; open, fsync and close of the folder */
}

static void nth_call_failing_is_told_everywhere(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *deep = inside(folder, "x/y"), *top = inside(folder, "x"), *file = inside(folder, "x/y/f");
    g_autoptr(GError) error = NULL;
    io_fail_at(2, ENOSPC);
    g_assert_false(io_make_directories(deep, &error));
    expect_message(error, LOAM_ERROR_MACHINE, "/x/y: No space left on device");
    g_clear_error(&error);
    io_fail_at(0, 0);
    g_assert_true(io_make_directories(deep, NULL) && io_write_file(file, "abc", 3, NULL));
    for (int n = 1; n <= 3; n++) { /* open, read, read at the end */
        io_fail_at(n, EIO);
        g_assert_null(io_read_file(file, 100, NULL, &error));
        expect_message(error, LOAM_ERROR_MACHINE, "/x/y/f: Input/output error");
        g_clear_error(&error);
    }
    for (int n = 1; n <= 3; n++) { /* the file, y, x; what went stays gone, so each attempt gets one further */
        io_fail_at(1, EIO);
        g_assert_false(io_remove_tree(top, &error));
        expect_message(error, LOAM_ERROR_MACHINE, ": Input/output error");
        g_clear_error(&error);
        io_fail_at(2, EIO);
        g_assert_cmpint(io_remove_tree(top, NULL), ==, n == 3);
    }
}

static void interrupted_calls_go_on(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "f");
    io_fail_at(2, EINTR);
    g_assert_true(io_write_file(path, "abc", 3, NULL));
    expect_content(path, "abc");
    io_fail_at(2, EINTR);
    expect_content(path, "abc");
}

static void a_place_to_write_is_tried_without_a_trace(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = inside(folder, "f"), *below = inside(folder, "none/f");
    g_assert_true(io_check_writable(path, NULL));
    g_assert_false(io_check_writable(below, &error));
    g_assert_nonnull(strstr(error->message, "none/f"));
    g_clear_error(&error);
    g_assert_false(io_check_writable(folder->path, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_autoptr(GDir) dir = g_dir_open(folder->path, 0, NULL);
    g_assert_null(g_dir_read_name(dir));
}

static mode_t type_of(const char *path)
{
    struct stat info;
    g_assert_cmpint(lstat(path, &info), ==, 0);
    return info.st_mode & S_IFMT;
}

static void a_pipe_is_written_not_replaced(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = inside(folder, "fifo");
    char got[8] = { 0 };
    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    g_assert_true(io_check_writable(path, NULL)); /* without waiting for a reader */
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    g_assert_cmpint(reader, >=, 0);
    g_assert_true(io_write_file(path, "abc", 3, &error));
    g_assert_no_error(error);
    g_assert_cmpint(read(reader, got, sizeof got), ==, 3);
    g_assert_cmpstr(got, ==, "abc");
    close(reader);
    g_assert_cmpuint(type_of(path), ==, S_IFIFO);
    g_assert_null(io_create_beside(path, &error));
    expect_message(error, LOAM_ERROR_USER, "is a device or a pipe; want the name of a file");
    expect_names(folder->path, "fifo");
}

/* A node of our own like /dev/full, where this user may make one. */
static void a_device_is_written_not_replaced(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = inside(folder, "full");
    int fd = mknod(path, S_IFCHR | 0600, makedev(1, 7)) == 0 ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        g_test_skip("no permission to make a device");
        return;
    }
    close(fd);
    g_assert_true(io_check_writable(path, NULL));
    g_assert_false(io_write_file(path, "abc", 3, &error));
    expect_message(error, LOAM_ERROR_MACHINE, "full: No space left on device");
    g_assert_cmpuint(type_of(path), ==, S_IFCHR);
    expect_names(folder->path, "full");
}

static void the_target_of_a_link_is_replaced(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *below = inside(folder, "below"), *file = inside(folder, "below/f"), *link = inside(folder, "link"),
                    *second = inside(folder, "second");
    g_assert_true(io_make_directories(below, NULL));
    g_assert_true(symlink("below/f", link) == 0 && symlink(link, second) == 0);
    for (int i = 0; i < 2; i++) { /* the file is missing, then it is there */
        g_assert_true(io_check_writable(second, NULL));
        g_assert_true(io_write_file(second, i ? "new" : "old", 3, NULL));
        expect_content(file, i ? "new" : "old");
        g_assert_cmpuint(type_of(link), ==, S_IFLNK);
        g_assert_cmpuint(type_of(second), ==, S_IFLNK);
        expect_names(folder->path, "below link second");
    }
}

static void the_file_that_output_goes_to_is_written_not_replaced(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "out");
    int kept = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    fflush(stdout);
    g_assert_true(kept >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
    bool written = io_write_file(path, "abc", 3, NULL) && write(STDOUT_FILENO, "def", 3) == 3;
    g_assert_cmpint(dup2(kept, STDOUT_FILENO), ==, STDOUT_FILENO);
    close(kept);
    close(fd);
    g_assert_true(written);
    expect_content(path, "abcdef");
}

static void only_a_file_of_the_same_kind_is_replaced(Folder *folder, gconstpointer data)
{
    static const struct {
        const char *content;
        bool passes;
    } cases[] = { { "", true }, { "<svg>", true }, { "<svg", true }, { "<sv", false }, { "run: {}", false } };
    (void)data;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = inside(folder, "f");
    g_assert_true(io_check_replaces(path, "<svg", "picture", NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_true(io_write_file(path, cases[i].content, strlen(cases[i].content), NULL));
        g_assert_cmpint(io_check_replaces(path, "<svg", "picture", NULL), ==, cases[i].passes);
    }
    g_assert_false(io_check_replaces(path, "<svg", "picture", &error));
    expect_message(error, LOAM_ERROR_USER, "exists and is no picture: give another name");
}

/* No file may grow beyond this: a write that would is cut short, the next fails. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    limit.rlim_cur = MIN(bytes, limit.rlim_max);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
}

static bool write_record(IoFile *file, const char *text)
{
    return io_write(file, text, strlen(text), NULL) && io_flush(file, NULL);
}

static void a_record_is_there_as_a_whole_or_not_at_all(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "f");
    for (int append = 0; append < 2; append++) {
        unlink(path);
        IoFile *file = append ? io_append(path, NULL) : io_create(path, NULL);
        g_assert_true(write_record(file, "first\n"));
        limit_files(9);
        g_assert_false(write_record(file, "second\n"));
        expect_content(path, "first\n");
        limit_files(RLIM_INFINITY);
        g_assert_true(write_record(file, "third\n"));
        io_abort(file);
        expect_content(path, "first\nthird\n");
    }
}

/* The disk fails again when the torn part is to be cut off: that is done before anything else is written. */
static void what_could_not_be_cut_off_is_cut_off_later(Folder *folder, gconstpointer data)
{
    (void)data;
    g_autofree char *path = inside(folder, "f");
    IoFile *file = io_append(path, NULL);
    g_assert_true(write_record(file, "first\n"));
    limit_files(9);
    io_fail_at(3, EIO); /* a write cut short, one that fails, the cut */
    g_assert_false(write_record(file, "second\n"));
    expect_content(path, "first\nsec");
    io_fail_at(1, EIO);
    g_assert_false(write_record(file, "third\n"));
    limit_files(RLIM_INFINITY);
    g_assert_true(write_record(file, "fourth\n"));
    io_abort(file);
    expect_content(path, "first\nfourth\n");
}

static void add(const char *name, void (*test)(Folder *, gconstpointer))
{
    g_test_add(name, Folder, NULL, set_up, test, tear_down);
}

static void temporaries_of_killed_processes_are_removed(Folder *folder, gconstpointer data)
{
    (void)data;
    static const char *const names[] = {
        "a.csv.Ab3xYz.tmp", "a.tmp", "a.12345.tmp", "a.123-56.tmp", ".123456.tmp", "a"
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder->path, names[i], NULL);
        g_assert_true(g_file_set_contents(path, "x", 1, NULL));
    }
    io_remove_temporaries(folder->path);
    io_remove_temporaries("/nonexistent");
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        g_assert_cmpint(io_exists(folder->path, names[i]), ==, i > 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add("/file/writes_pass_the_buffer", writes_pass_the_buffer);
    add("/file/append_goes_on", append_goes_on);
    add("/file/flush_reaches_the_file", flush_reaches_the_file);
    add("/file/read_is_bounded", read_is_bounded);
    add("/file/errors_name_the_path", errors_name_the_path);
    g_test_add_func("/file/full_disk_is_the_machines", full_disk_is_the_machines);
    add("/file/makes_and_removes_trees", makes_and_removes_trees);
    add("/file/links_are_replaced", links_are_replaced);
    add("/file/temporary_names_are_nobody_elses", temporary_names_are_nobody_elses);
    add("/file/folders_are_swapped_in", folders_are_swapped_in);
    add("/file/nth_call_failing_keeps_a_folder", nth_call_failing_keeps_a_folder);
    add("/file/nth_call_failing_keeps_the_old_file", nth_call_failing_keeps_the_old_file);
    add("/file/nth_call_failing_keeps_a_link", nth_call_failing_keeps_a_link);
    add("/file/nth_call_failing_is_told_everywhere", nth_call_failing_is_told_everywhere);
    add("/file/interrupted_calls_go_on", interrupted_calls_go_on);
    add("/file/a_place_to_write_is_tried_without_a_trace", a_place_to_write_is_tried_without_a_trace);
    add("/file/a_pipe_is_written_not_replaced", a_pipe_is_written_not_replaced);
    add("/file/a_device_is_written_not_replaced", a_device_is_written_not_replaced);
    add("/file/the_target_of_a_link_is_replaced", the_target_of_a_link_is_replaced);
    add("/file/the_file_that_output_goes_to_is_written_not_replaced",
        the_file_that_output_goes_to_is_written_not_replaced);
    add("/file/only_a_file_of_the_same_kind_is_replaced", only_a_file_of_the_same_kind_is_replaced);
    add("/file/a_record_is_there_as_a_whole_or_not_at_all", a_record_is_there_as_a_whole_or_not_at_all);
    add("/file/what_could_not_be_cut_off_is_cut_off_later", what_could_not_be_cut_off_is_cut_off_later);
    add("/file/temporaries_of_killed_processes_are_removed", temporaries_of_killed_processes_are_removed);
    return g_test_run();
}
