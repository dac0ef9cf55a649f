/* labels: any-processor */
#include "eval/programs/sandbox/sandbox.h"

#include "base/file.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Debian's essential packages bring /bin/sh and perl. */
#define SH   "/bin/sh", "-c"
#define PERL "/usr/bin/perl", "-e"

static bool can_run; /* a sandbox can be made here */

typedef struct Trial {
    SandboxLimits limits;
    const char *input;
    bool unsafe;
} Trial;

static Trial trial(void)
{
    Trial with = { .limits = sandbox_limits_default };
    with.limits.wall_s = 60; /* tests share the machine */
    return with;
}

/* False where the test is skipped. */
static bool run(SandboxResult *out, const Trial *with, const char *program, const char *option, const char *text)
{
    g_autoptr(GError) error = NULL;
    const SandboxFile file = { .name = "given", .text = "of the job\n", .n_bytes = 11 };
    const SandboxJob job = { .argv = (const char *const[]){ program, option, text, NULL },
                             .files = &file,
                             .n_files = 1,
                             .input = with->input ? with->input : "",
                             .n_input = with->input ? strlen(with->input) : 0,
                             .limits = with->limits,
                             .unsafe = with->unsafe };
    if (!with->unsafe && !can_run) {
        g_test_skip("no user namespaces on this machine");
        return false;
    }
    const bool good = sandbox_run(out, &job, &error);
    g_assert_no_error(error);
    g_assert_true(good);
    return true;
}

static void expect_output(const SandboxResult *result, const char *wanted)
{
    if (result->err->len > 0)
        g_test_message("standard error: %s", result->err->str);
    g_assert_cmpstr(result->out->str, ==, wanted);
    g_assert_cmpint(result->end, ==, SANDBOX_EXITED);
    g_assert_cmpint(result->status, ==, 0);
}

/* Runs a program that prints `wanted` and ends with 0. */
static void expect_run(const char *program, const char *option, const char *text, const char *wanted)
{
    SandboxResult result;
    const Trial with = trial();
    if (!run(&result, &with, program, option, text))
        return;
    expect_output(&result, wanted);
    sandbox_result_clear(&result);
}

/* ---- what a program gets ---- */

static void a_program_reads_its_input_and_files(void)
{
    SandboxResult result;
    Trial with = trial();
    with.input = "from outside";
    if (!run(&result, &with, SH, "cat; cat given; pwd; ls -A; echo oops >&2; exit 7"))
        return;
    g_assert_cmpstr(result.out->str, ==, "from outsideof the job\n/sandbox\ngiven\n");
    g_assert_cmpstr(result.err->str, ==, "oops\n");
    g_assert_cmpint(result.end, ==, SANDBOX_EXITED);
    g_assert_cmpint(result.status, ==, 7);
    sandbox_result_clear(&result);
}

static void an_input_of_a_megabyte_arrives(void)
{
    SandboxResult result;
    Trial with = trial();
    g_autofree char *input = g_strnfill(1 << 20, 'x');
    with.input = input;
    if (!run(&result, &with, SH, "wc -c"))
        return;
    expect_output(&result, "1048576\n");
    sandbox_result_clear(&result);
}

static void a_missing_program_is_an_error(void)
{
    g_autoptr(GError) error = NULL;
    SandboxResult result;
    const SandboxJob job = { .argv = (const char *const[]){ "/usr/bin/no-such-program", NULL },
                             .limits = sandbox_limits_default };
    if (!can_run) {
        g_test_skip("no user namespaces on this machine");
        return;
    }
    g_assert_false(sandbox_run(&result, &job, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
    g_assert_cmpstr(error->message, ==, "no sandbox: starting /usr/bin/no-such-program: No such file or directory");
}

/* ---- what it does not get ---- */

static void the_world_outside_is_not_seen(void)
{
    expect_run(SH,
               "for i in /home /root /proc /sys /etc/passwd /var /dev/tty /old; do [ -e $i ] && echo $i; done; id -u; "
               "ls -A /dev; ls -d /usr",
               "65534\nnull\nurandom\nzero\n/usr\n");
}

/* Nothing here would do harm outside: a file is opened for appending, and new ones are made. */
static void files_outside_cannot_be_changed(void)
{
    expect_run(
        SH,
        "for i in /new /usr/loam-new /usr/bin/ls /etc/new /dev/new; do (: >>$i) 2>/dev/null && echo wrote $i; done; "
        "mkdir /usr/loam-new 2>/dev/null && echo made; ls given; echo x >mine; cat /tmp/mine; mkdir a; echo y >a/b; "
        "rm -r a; ls",
        "given\nx\ngiven\nmine\n");
    g_assert_false(g_file_test("/usr/loam-new", G_FILE_TEST_EXISTS));
    expect_run(PERL, "mkdir '/usr/loam-new'; print $!", "Read-only file system");
}

static void files_of_the_tester_stay(void)
{
    g_autofree char *folder = g_dir_make_tmp("loam-sandbox-XXXXXX", NULL), *path = g_build_filename(folder, "f", NULL);
    g_assert_true(g_file_set_contents(path, "kept", 4, NULL));
    g_autofree char *text = g_strdup_printf("rm -rf %s; ls %s 2>/dev/null; echo done", folder, folder);
    expect_run(SH, text, "done\n");
    g_autofree char *kept = NULL;
    g_assert_true(g_file_get_contents(path, &kept, NULL, NULL));
    g_assert_cmpstr(kept, ==, "kept");
    g_assert_true(io_remove_tree(folder, NULL));
}

static void there_is_no_network(void)
{
    expect_run(PERL,
               "use Socket; print socket(my $s, PF_INET, SOCK_STREAM, 0) ? 'socket' : $!; "
               "print socket(my $u, PF_UNIX, SOCK_STREAM, 0) ? ' socket' : \" $!\"",
               "Operation not permitted Operation not permitted");
}

static void namespaces_and_tracing_are_refused(void)
{
    /* unshare(NEWUSER), mount, ptrace(ATTACH, 1), keyctl, chroot, clone with NEWUSER: numbers of x86-64 */
    expect_run(PERL,
#ifdef __x86_64__
               "for ([272, 0x10000000], [165, 0, 0, 0, 0, 0], [101, 16, 1, 0, 0], [250, 0, 0], [161, 0], "
               "[56, 0x10000011, 0, 0, 0, 0]) { $! = 0; my $n = shift @$_; "
               "my $r = syscall($n, map { $_ + 0 } @$_, (0) x (5 - @$_)); print \"$n \" if $r >= 0 || $! != 1 }",
#else
               "1",
#endif
               "");
}

static void folders_are_shown_where_they_lie(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("loam-sandbox-XXXXXX", NULL), *path = g_build_filename(folder, "f", NULL),
                    *link = g_strconcat(folder, "-link", NULL),
                    *text =
                        g_strdup_printf("cat %s; cat %s/f; (: >>%s) 2>/dev/null && echo wrote; pwd", path, link, path);
    SandboxResult result;
    const SandboxJob job = { .argv = (const char *const[]){ SH, text, NULL },
                             .shown = (const char *const[]){ link, folder, "/no-such-folder", NULL },
                             .limits = sandbox_limits_default };
    if (!can_run) {
        g_test_skip("no user namespaces on this machine");
        return;
    }
    g_assert_cmpint(g_chmod(folder, 0755), ==, 0);
    g_assert_true(g_file_set_contents(path, "shown\n", -1, NULL));
    g_assert_cmpint(symlink(folder, link), ==, 0);
    sandbox_run(&result, &job, &error);
    g_assert_no_error(error);
    expect_output(&result, "shown\nshown\n/sandbox\n");
    sandbox_result_clear(&result);
    g_assert_cmpint(g_unlink(link), ==, 0);
    g_assert_true(io_remove_tree(folder, NULL));
}

/* ---- limits ---- */

static void an_endless_loop_ends(void)
{
    SandboxResult result;
    Trial with = trial();
    with.limits.wall_s = 0.3;
    if (!run(&result, &with, SH, "while :; do :; done"))
        return;
    g_assert_cmpint(result.end, ==, SANDBOX_TIME);
    g_assert_cmpfloat(result.wall_s, >=, 0.3);
    sandbox_result_clear(&result);
}

static void processor_time_is_limited(void)
{
    SandboxResult result;
    Trial with = trial();
    with.limits.cpu_s = 1;
    with.limits.wall_s = 60;
    if (!run(&result, &with, PERL, "1 while 1"))
        return;
    g_assert_cmpint(result.end, ==, SANDBOX_KILLED);
    g_assert_cmpint(result.status, ==, SIGXCPU);
    sandbox_result_clear(&result);
}

static void a_fork_bomb_is_contained(void)
{
    SandboxResult result;
    Trial with = trial();
    if (!run(&result, &with, PERL,
             "my $n = 0; for (1..1000) { my $p = fork; last if !defined $p; if (!$p) { sleep 60; exit } $n++ } print "
             "$n"))
        return;
    expect_output(&result, "15"); /* of 16 processes one forks */
    sandbox_result_clear(&result);
    with.limits.wall_s = 0.5;
    run(&result, &with, PERL, "1 while defined fork || 1");
    g_assert_cmpint(result.end, ==, SANDBOX_TIME);
    sandbox_result_clear(&result);
}

static void memory_is_limited(void)
{
    SandboxResult result;
    Trial with = trial();
    with.limits.memory_bytes = INT64_C(256) << 20;
    if (!run(&result, &with, PERL, "my $x = 'x' x (512 << 20); print 'all'"))
        return;
    g_assert_cmpstr(result.out->str, ==, "");
    g_assert_cmpint(result.end, ==, SANDBOX_EXITED);
    g_assert_cmpint(result.status, !=, 0);
    sandbox_result_clear(&result);
}

static void huge_output_ends_the_program(void)
{
    SandboxResult result;
    Trial with = trial();
    with.limits.output_bytes = 100000;
    if (!run(&result, &with, SH, "yes"))
        return;
    g_assert_cmpint(result.end, ==, SANDBOX_OUTPUT);
    g_assert_cmpuint(result.out->len, ==, 100000);
    sandbox_result_clear(&result);
}

static void a_huge_file_ends_the_program(void)
{
    SandboxResult result;
    Trial with = trial();
    with.limits.file_bytes = 1 << 20;
    if (!run(&result, &with, SH, "exec yes >big"))
        return;
    g_assert_cmpint(result.end, ==, SANDBOX_KILLED);
    g_assert_cmpint(result.status, ==, SIGXFSZ);
    sandbox_result_clear(&result);
}

static void many_files_fill_the_folder(void)
{
    SandboxResult result;
    Trial with = trial();
    with.limits.folder_bytes = 1 << 20;
    if (!run(&result, &with, PERL,
             "for my $i (1..64) { open my $f, '>', $i; print $f 'x' x 65536; close $f or print($i > 12 ? 'full' : "
             "'early'), exit }"))
        return;
    expect_output(&result, "full");
    sandbox_result_clear(&result);
}

/* ---- what is left ---- */

/* Whether a process has the word on its command line. */
static bool runs_outside(const char *word)
{
    g_autoptr(GDir) processes = g_dir_open("/proc", 0, NULL);
    bool found = false;
    for (const char *name; processes && (name = g_dir_read_name(processes));) {
        g_autofree char *path = g_strdup_printf("/proc/%s/cmdline", name), *line = NULL;
        gsize n = 0;
        if (!g_ascii_isdigit(name[0]) || !g_file_get_contents(path, &line, &n, NULL))
            continue;
        found |= memmem(line, n, word, strlen(word)) != NULL;
    }
    return found;
}

static void a_daemon_does_not_outlive_the_program(void)
{
    g_autofree char *word = g_strdup_printf("loam-daemon-%d", (int)getpid()),
                    *text =
                        g_strdup_printf("use POSIX; if (!fork) { POSIX::setsid(); if (!fork) { exec { '/bin/sleep' } "
                                        "'%s', 60 } exit } wait; print 'parent ends'",
                                        word);
    SandboxResult result;
    const Trial with = trial();
    if (!run(&result, &with, PERL, text))
        return;
    expect_output(&result, "parent ends");
    g_assert_cmpfloat(result.wall_s, <, 30);
    g_assert_false(runs_outside(word));
    sandbox_result_clear(&result);
}

/* Waits until a process has the word on its command line, or none has. */
static void wait_for(const char *word, bool running)
{
    for (int i = 0; i < 600 && runs_outside(word) != running; i++)
        g_usleep(50000);
    g_assert_cmpint(runs_outside(word), ==, running);
}

static void programs_end_with_a_parent_that_is_killed(void)
{
    g_autofree char *word = g_strdup_printf("61.%d", (int)getpid());
    const SandboxJob job = { .argv = (const char *const[]){ "/bin/sleep", word, NULL }, .limits = trial().limits };
    SandboxResult result;
    if (!can_run) {
        g_test_skip("no user namespaces on this machine");
        return;
    }
    const pid_t parent = fork();
    if (parent == 0)
        _exit(sandbox_run(&result, &job, NULL));
    wait_for(word, true);
    kill(parent, SIGKILL);
    g_assert_cmpint(waitpid(parent, NULL, 0), ==, parent);
    wait_for(word, false);
}

static void signals_do_not_reach_the_parent(void)
{
    SandboxResult result;
    const Trial with = trial();
    if (!run(&result, &with, PERL,
             "print getppid; kill 9, 1; kill 15, 1; kill 19, 1; print kill(9, 4711) ? 'killed' : ' none'; "
             "$SIG{TERM} = 'IGNORE'; kill 15, -1; print ' alive'"))
        return;
    expect_output(&result, "1 none alive");
    sandbox_result_clear(&result);
    if (run(&result, &with, PERL, "kill 9, -1; kill 9, 0; sleep 60")) {
        g_assert_cmpint(result.end, ==, SANDBOX_KILLED);
        sandbox_result_clear(&result);
    }
}

static guint descriptors(void)
{
    g_autoptr(GDir) open = g_dir_open("/proc/self/fd", 0, NULL);
    guint n = 0;
    while (g_dir_read_name(open))
        n++;
    return n;
}

static gpointer run_many(gpointer failed)
{
    for (int i = 0; i < 8; i++) {
        SandboxResult result;
        const Trial with = trial();
        if (!run(&result, &with, SH, "cat given"))
            break;
        if (strcmp(result.out->str, "of the job\n") != 0)
            g_atomic_int_inc((gint *)failed);
        sandbox_result_clear(&result);
    }
    return NULL;
}

static void threads_run_programs_at_once(void)
{
    GThread *threads[4];
    gint failed = 0;
    const guint before = descriptors();
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("runner", run_many, &failed);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    g_assert_cmpint(failed, ==, 0);
    g_assert_cmpuint(descriptors(), ==, before);
}

/* ---- without a sandbox ---- */

static void unsafe_programs_keep_the_filter_and_limits(void)
{
    /* A daemon with a session and an environment of its own. */
    g_autofree char *word = g_strdup_printf("62.%d", (int)getpid()),
                    *text = g_strdup_printf("use POSIX; if (!fork) { POSIX::setsid(); if (!fork) { %%ENV = (); "
                                            "exec { '/bin/sleep' } 'sleep', '%s' } exit } wait; print 'parent ends'",
                                            word);
    SandboxResult result;
    Trial with = trial();
    with.unsafe = true;
    with.limits.wall_s = 3;
    run(&result, &with, SH, "cat given; pwd; touch /dev/null; sleep 60 & yes >/dev/null");
    g_assert_cmpint(result.end, ==, SANDBOX_TIME);
    g_assert_true(g_str_has_prefix(result.out->str, "of the job\n/"));
    g_autofree char *folder = g_strstrip(g_strdup(strchr(result.out->str, '/')));
    g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
    sandbox_result_clear(&result);
    run(&result, &with, PERL, text);
    expect_output(&result, "parent ends");
    g_assert_false(runs_outside(word));
    sandbox_result_clear(&result);
    run(&result, &with, SH, "cat /proc/self/oom_score_adj");
    expect_output(&result, "1000\n");
    sandbox_result_clear(&result);
    run(&result, &with, PERL, "use Socket; print socket(my $s, PF_INET, SOCK_STREAM, 0) ? 'socket' : $!");
    expect_output(&result, "Operation not permitted");
    sandbox_result_clear(&result);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_test_init(&argc, &argv, NULL);
    SandboxResult result;
    const SandboxJob nothing = { .argv = (const char *const[]){ "/bin/sh", "-c", "exit 0", NULL },
                                 .limits = sandbox_limits_default };
    can_run = sandbox_run(&result, &nothing, &error);
    if (can_run)
        sandbox_result_clear(&result);
    else
        g_test_message("%s", error->message);
#define TEST(name) g_test_add_func("/base/sandbox/" #name, name)
    TEST(a_program_reads_its_input_and_files);
    TEST(an_input_of_a_megabyte_arrives);
    TEST(a_missing_program_is_an_error);
    TEST(the_world_outside_is_not_seen);
    TEST(files_outside_cannot_be_changed);
    TEST(files_of_the_tester_stay);
    TEST(there_is_no_network);
    TEST(namespaces_and_tracing_are_refused);
    TEST(folders_are_shown_where_they_lie);
    TEST(an_endless_loop_ends);
    TEST(processor_time_is_limited);
    TEST(a_fork_bomb_is_contained);
    TEST(memory_is_limited);
    TEST(huge_output_ends_the_program);
    TEST(a_huge_file_ends_the_program);
    TEST(many_files_fill_the_folder);
    TEST(a_daemon_does_not_outlive_the_program);
    TEST(programs_end_with_a_parent_that_is_killed);
    TEST(signals_do_not_reach_the_parent);
    TEST(threads_run_programs_at_once);
    TEST(unsafe_programs_keep_the_filter_and_limits);
    return g_test_run();
}
