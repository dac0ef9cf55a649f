#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Standard error redirected for a while, into a file or a terminal of 80 columns. */
typedef struct Stderr {
    int saved, source; /* source: where what was written can be read */
} Stderr;

static Stderr stderr_into(int fd, int source)
{
    fflush(stderr);
    Stderr before = { dup(STDERR_FILENO), source };
    g_assert_cmpint(dup2(fd, STDERR_FILENO), ==, STDERR_FILENO);
    return before;
}

static Stderr stderr_into_terminal(void)
{
    int master, slave;
    struct winsize size = { .ws_col = 80, .ws_row = 20 };
    g_assert_cmpint(openpty(&master, &slave, NULL, NULL, &size), ==, 0);
    Stderr before = stderr_into(slave, master);
    close(slave);
    return before;
}

static Stderr stderr_into_file(void)
{
    FILE *file = tmpfile();
    g_assert_nonnull(file);
    int fd = dup(fileno(file));
    fclose(file);
    return stderr_into(fd, fd);
}

/* What was written since the redirection; ends it. */
static char *stderr_back(Stderr before, bool terminal)
{
    static char text[1 << 16];
    if (!terminal)
        g_assert_cmpint((int)lseek(before.source, 0, SEEK_SET), ==, 0);
    g_assert_cmpint((int)dup2(before.saved, STDERR_FILENO), ==, STDERR_FILENO); /* hangs a terminal up */
    close(before.saved);
    size_t used = 0;
    for (ssize_t n; (n = read(before.source, text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)n;
    close(before.source);
    text[used] = '\0';
    return g_strdup(text);
}

static void lines_go_to_stderr(void)
{
    Stderr before = stderr_into_file();
    log_info("step %d", 3);
    log_warning("%s is slow", "disk");
    g_autofree char *text = stderr_back(before, false);
    g_assert_cmpstr(text, ==, "step 3\nwarning: disk is slow\n");
}

static void lines_are_copied_with_the_time(void)
{
    g_autofree char *folder = g_dir_make_tmp("loam-log-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "log.txt", NULL);
    g_assert_true(io_write_file(path, "before\n", 7, NULL));
    Stderr before = stderr_into_file();
    g_assert_true(log_to_file(path, NULL));
    log_info("one");
    log_warning("two");
    g_assert_true(log_to_file(NULL, NULL));
    log_info("three");
    g_autofree char *talk = stderr_back(before, false);
    g_autofree char *text = io_read_file(path, 1000, NULL, NULL);
    g_assert_cmpstr(talk, ==, "one\nwarning: two\nthree\n");
    g_assert_true(g_regex_match_simple("^before\n\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ one\n"
                                       "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ warning: two\n$",
                                       text, 0, 0));
    g_assert_true(io_remove_tree(folder, NULL));
}

static void a_full_disk_stops_only_the_copy(void)
{
    Stderr before = stderr_into_file();
    g_assert_true(log_to_file("/dev/full", NULL));
    log_info("one");
    log_info("two");
    g_autofree char *text = stderr_back(before, false);
    g_assert_cmpstr(text, ==,
                    "one\nwarning: writing /dev/full: No space left on device; until it can be written the log is here "
                    "only\ntwo\n");
    g_autoptr(GError) error = NULL;
    g_assert_false(log_to_file("/absent/log.txt", &error));
    g_assert_nonnull(strstr(error->message, "/absent/log.txt: No such file or directory"));
}

static void lines_missing_in_the_copy_are_counted(void)
{
    g_autofree char *folder = g_dir_make_tmp("loam-log-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "log.txt", NULL);
    Stderr before = stderr_into_file();
    g_assert_true(log_to_file(path, NULL));
    log_info("one");
    for (int i = 0; i < 2; i++) {
        io_fail_at(1, ENOSPC);
        log_info("lost");
    }
    io_fail_at(0, 0);
    log_info("two");
    log_file_only("three");
    g_assert_true(log_to_file(NULL, NULL));
    g_autofree char *talk = stderr_back(before, false);
    g_autofree char *text = io_read_file(path, 1000, NULL, NULL);
    g_assert_null(strstr(talk, "three"));
    g_assert_true(g_regex_match_simple("^\\S+Z one\n"
                                       "\\S+Z warning: 2 lines are missing here: they could not be written\n"
                                       "\\S+Z two\n"
                                       "\\S+Z three\n$",
                                       text, 0, 0));
    io_remove_tree(folder, NULL);
}

static void no_bar_without_a_terminal(void)
{
    Stderr before = stderr_into_file();
    progress_open("reading", "B", 100);
    progress_update(50);
    progress_note("half");
    log_info("line");
    progress_close();
    g_autofree char *text = stderr_back(before, false);
    g_assert_cmpstr(text, ==, "line\n");
}

static void no_bar_on_a_terminal_that_clears_no_line(void)
{
    g_setenv("TERM", "dumb", true);
    Stderr before = stderr_into_terminal();
    progress_open("reading", "B", 100);
    progress_update(50);
    log_info("line");
    progress_close();
    g_autofree char *text = stderr_back(before, true);
    g_setenv("TERM", "xterm", true);
    g_assert_cmpstr(text, ==, "line\r\n");
}

static void the_bar_is_redrawn_around_lines(void)
{
    Stderr before = stderr_into_terminal();
    progress_open("reading", "B", 4096);
    progress_update(1024);
    log_info("line");
    progress_close();
    g_autofree char *text = stderr_back(before, true);
    g_auto(GStrv) draws = g_strsplit(text, "\r\033[K", -1);
    const char *const quarter = "reading  25% [======                  ] 1.0 KiB/4.0 KiB";
    /* A machine that takes a tenth of a second between the first two calls shows the update, too. */
    const guint n = g_strv_length(draws), line = n == 6 ? 3 : 2;
    g_assert_cmpuint(n, ==, line + 3);
    g_assert_cmpstr(draws[1], ==, "reading   0% [                        ] 0 B/4.0 KiB");
    g_assert_cmpstr(draws[line - 1], ==, line == 3 ? quarter : draws[1]);
    g_assert_cmpstr(draws[line], ==, "line\r\n");
    g_assert_cmpstr(draws[line + 1], ==, quarter);
    g_assert_cmpstr(draws[line + 2], ==, "");
}

static void the_bar_shows_rate_and_time_left(void)
{
    Stderr before = stderr_into_terminal();
    progress_open("training", "steps", 0);
    progress_update(1000); /* a resumed run: not part of the rate */
    g_usleep(110000);
    progress_update(1011);
    progress_close();
    progress_open("x", "steps", 3000);
    progress_update(1000);
    g_usleep(110000);
    progress_update(2000);
    progress_close();
    g_autofree char *text = stderr_back(before, true);
    g_assert_true(g_regex_match_simple("training 1.01k steps, [0-9.]+/s\r", text, 0, 0));
    g_assert_true(g_regex_match_simple("2k/3k steps, [0-9.]+k?/s, [0-9.]+m?s left", text, 0, 0));
}

/* A terminal would wrap a longer line, and the next redraw could not clear it. */
static void the_bar_fits_the_terminal(void)
{
    Stderr before = stderr_into_terminal();
    progress_open("reading", "B", 100);
    progress_note("%s", "übermäßig lange Bemerkungen, die nicht mehr in die Zeile passen, werden abgeschnitten");
    log_info("line");
    progress_close();
    g_autofree char *text = stderr_back(before, true);
    g_assert_true(g_utf8_validate(text, -1, NULL));
    g_auto(GStrv) draws = g_strsplit(text, "\r\033[K", -1);
    g_assert_cmpuint(g_strv_length(draws), ==, 5); /* "", bar, line, bar, "" */
    g_assert_nonnull(strstr(draws[3], "übermäßig"));
    g_assert_cmpint((int)g_utf8_strlen(draws[3], -1), ==, 79);
}

/* The bar gives way to what is said beside it. */
static void a_note_has_room_beside_the_bar(void)
{
    Stderr before = stderr_into_terminal();
    progress_open("step 123456", "samples", 2048);
    progress_update(512);
    progress_note("loss 10.1234, some 20 letters more");
    log_info("line");
    progress_close();
    g_autofree char *text = stderr_back(before, true);
    g_assert_nonnull(strstr(text, "step 123456  25% [=     ] 512/2.05k samples  loss 10.1234, some 20 letters more\r"));
}

/* SIGPIPE is blocked, as it is while training. */
static void a_pipe_that_nobody_reads_is_noticed(void)
{
    int ends[2];
    sigset_t broken;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, NULL);
    g_assert_cmpint(pipe(ends), ==, 0);
    Stderr before = stderr_into(ends[1], ends[0]);
    close(ends[1]);
    log_info("read");
    g_assert_false(log_unread());
    close(ends[0]);
    log_info("lost");
    g_assert_cmpint(dup2(before.saved, STDERR_FILENO), ==, STDERR_FILENO);
    close(before.saved);
    g_assert_true(log_unread());
}

static gpointer talk(gpointer name)
{
    for (int i = 0; i < 200; i++) {
        log_info("%s says something that could be torn", (const char *)name);
        progress_update((uint64_t)i);
    }
    return NULL;
}

static void lines_of_threads_are_not_torn(void)
{
    Stderr before = stderr_into_file();
    GThread *threads[] = { g_thread_new("a", talk, "a"), g_thread_new("b", talk, "b"), g_thread_new("c", talk, "c") };
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    g_autofree char *text = stderr_back(before, false);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 601);
    for (int i = 0; i < 600; i++)
        g_assert_true(g_regex_match_simple("^[abc] says something that could be torn$", lines[i], 0, 0));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_setenv("TERM", "xterm", true);
    g_test_add_func("/log/lines_go_to_stderr", lines_go_to_stderr);
    g_test_add_func("/log/lines_are_copied_with_the_time", lines_are_copied_with_the_time);
    g_test_add_func("/log/a_full_disk_stops_only_the_copy", a_full_disk_stops_only_the_copy);
    g_test_add_func("/log/lines_missing_in_the_copy_are_counted", lines_missing_in_the_copy_are_counted);
    g_test_add_func("/progress/no_bar_without_a_terminal", no_bar_without_a_terminal);
    g_test_add_func("/progress/no_bar_on_a_terminal_that_clears_no_line", no_bar_on_a_terminal_that_clears_no_line);
    g_test_add_func("/progress/the_bar_is_redrawn_around_lines", the_bar_is_redrawn_around_lines);
    g_test_add_func("/progress/the_bar_shows_rate_and_time_left", the_bar_shows_rate_and_time_left);
    g_test_add_func("/progress/the_bar_fits_the_terminal", the_bar_fits_the_terminal);
    g_test_add_func("/progress/a_note_has_room_beside_the_bar", a_note_has_room_beside_the_bar);
    g_test_add_func("/log/a_pipe_that_nobody_reads_is_noticed", a_pipe_that_nobody_reads_is_noticed);
    g_test_add_func("/log/lines_of_threads_are_not_torn", lines_of_threads_are_not_torn);
    return g_test_run();
}
