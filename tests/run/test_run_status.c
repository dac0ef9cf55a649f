#include "base/file.h"
#include "run/heartbeat.h"
#include "run/run_status.h"

#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

static char *dir;

static void put(const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* The heartbeat of a rank was written so many seconds ago by the file system's clock. */
static void set_file_age(int rank, double age)
{
    g_autofree char *path = heartbeat_path(dir, rank);
    const time_t then = (time_t)((double)g_get_real_time() / G_USEC_PER_SEC - age);
    g_assert_cmpint(g_utime(path, &(struct utimbuf){ then, then }), ==, 0);
}

/* A heartbeat of a rank that is where it is since `since`, last seen `age` seconds ago. */
static void beat_of(const char *host, int pid, int rank, int ranks, double since_age, double age, int ended)
{
    const double now = (double)g_get_real_time() / G_USEC_PER_SEC;
    g_autofree char *text =
        g_strdup_printf("{\"beat\":9,\"rank\":%d,\"ranks\":%d,\"host\":\"%s\",\"pid\":%d,\"step\":17,\"microbatch\":0,"
                        "\"phase\":\"update\","
                        "\"call\":\"\",\"since\":%.1f,\"time\":%.1f,\"stopping\":false,\"ended\":%d,\"last\":9}",
                        rank, ranks, host, pid, now - since_age, now - age, ended);
    g_autofree char *name = g_strdup_printf("ranks/%04d.json", rank);
    put(name, text);
    set_file_age(rank, age);
}

static void beat(int rank, int ranks, double since_age, double age, int ended)
{
    beat_of("node", 1, rank, ranks, since_age, age, ended);
}

static RunState state(void)
{
    RunStatus status;
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    const RunState found = status.state;
    run_status_clear(&status);
    return found;
}

static void heartbeats_tell_the_state(void)
{
    g_assert_cmpint(state(), ==, RUN_UNKNOWN);
    beat(0, 1, 0.2, 0.1, -1);
    g_assert_cmpint(state(), ==, RUN_ALIVE);
    beat(0, 1, 5000, 0.1, -1);
    g_assert_cmpint(state(), ==, RUN_STALLED);
    beat(0, 1, 5000, 1000, -1);
    g_assert_cmpint(state(), ==, RUN_LOST);
    beat(0, 1, 5000, 5000, 0);
    g_assert_cmpint(state(), ==, RUN_ENDED);
    beat(0, 1, 5000, 5000, 75);
    g_assert_cmpint(state(), ==, RUN_STOPPED);
    beat(0, 1, 5000, 5000, 1);
    g_assert_cmpint(state(), ==, RUN_FAILED);
}

/* The clock was set back after the last heartbeat, or clocks differ by a little. */
static void a_heartbeat_from_the_future_is_no_life(void)
{
    beat(0, 1, -7000, -7200, -1);
    g_assert_cmpint(state(), ==, RUN_LOST);
    beat(0, 1, 1, -20, -1);
    g_assert_cmpint(state(), ==, RUN_ALIVE);
    beat(0, 2, 1, -7200, -1);
    beat(1, 2, 1, 1, -1);
    g_assert_cmpint(state(), ==, RUN_ALIVE);
}

static void a_rank_whose_clock_differs_is_alive(void)
{
    beat(0, 1, 7200, 7200, -1);
    set_file_age(0, 2);
    g_assert_cmpint(state(), ==, RUN_ALIVE);
    beat(0, 1, -7200, -7200, -1);
    set_file_age(0, 2);
    g_assert_cmpint(state(), ==, RUN_ALIVE);
}

/* A rank that is ahead waits for the one that hangs. */
static void the_slowest_rank_decides(void)
{
    RunStatus status;
    beat(0, 2, 4000, 0.1, -1);
    beat(1, 2, 5000, 0.1, -1);
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_assert_cmpint(status.state, ==, RUN_STALLED);
    g_assert_true(strncmp(status.place, "rank 1 on node", 14) == 0);
    run_status_clear(&status);
}

/* The time in a phase is that of the rank whose phase it is, however fresh another rank's heartbeat is. */
static void the_silence_of_a_rank_is_its_own(void)
{
    RunStatus status;
    beat(0, 2, 23, 0.1, -1);
    beat(1, 2, 300, 250, -1);
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_assert_cmpint(status.state, ==, RUN_ALIVE);
    g_assert_true(g_str_has_prefix(status.place, "rank 1 on node") && strstr(status.place, " for 5m"));
    run_status_clear(&status);
}

/* Each rank's process is looked at: suspended, silent, gone. */
static void the_process_of_each_rank_counts(void)
{
    const char *host = g_get_host_name();
    const pid_t child = fork();
    int end;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no process behind */
        for (;;)
            pause();
    }
    beat(0, 2, 23, 0.1, -1);
    beat_of(host, (int)child, 1, 2, 23, 0.1, -1);
    g_assert_cmpint(state(), ==, RUN_ALIVE);
    beat_of(host, 1, 1, 2, 1, 100, -1); /* process 1 began before that */
    g_assert_cmpint(state(), ==, RUN_STALLED);
    g_assert_cmpint(kill(child, SIGSTOP), ==, 0);
    g_assert_cmpint(waitpid(child, &end, WUNTRACED), ==, child);
    beat_of(host, (int)child, 1, 2, 23, 0.1, -1);
    RunStatus status;
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_assert_cmpint(status.state, ==, RUN_STALLED);
    g_assert_true(g_str_has_prefix(status.place, "rank 1: process ") && strstr(status.place, " is suspended"));
    run_status_clear(&status);
    kill(child, SIGKILL);
    waitpid(child, &end, 0);
    beat_of(host, (int)child, 1, 2, 23, 20, -1);
    g_assert_cmpint(state(), ==, RUN_LOST);
}

/* A step of ten minutes is no stall. */
static void a_slow_run_does_not_stall(void)
{
    beat(0, 1, 5000, 0.1, -1);
    put("metrics.jsonl", "{\"kind\":\"train\",\"step\":3,\"loss\":2.5,\"step_s\":600.0}\n");
    g_assert_cmpint(state(), ==, RUN_ALIVE);
}

static void the_end_of_the_metrics_tells_the_rest(void)
{
    g_autoptr(GString) lines = g_string_new(NULL);
    for (int step = 1; step <= 9000; step++)
        g_string_append_printf(
            lines, "{\"kind\":\"train\",\"step\":%d,\"loss\":%d.5,\"lr\":0.001,\"tokens_per_s\":1500.0}\n", step, step);
    g_string_append(lines, "{\"kind\":\"valid\",\"step\":9000,\"loss\":3.25}\n"
                           "{\"kind\":\"event\",\"step\":9000,\"what\":\"a\\u001b[2Jb\"}\n{\"kind\":\"train\",\"st");
    put("metrics.jsonl", lines->str);
    RunStatus status;
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_assert_cmpint(status.step, ==, 9000);
    g_assert_cmpfloat(status.loss, ==, 9000.5);
    g_assert_cmpfloat(status.valid_loss, ==, 3.25);
    g_assert_cmpint(status.n_losses, ==, RUN_RECENT);
    g_assert_cmpfloat(status.losses[0], ==, 8941.5);
    g_assert_cmpstr(status.event, ==, "a\\x1b[2Jb");
    g_autofree char *text = run_status_describe(&status, "runs/a");
    g_assert_nonnull(strstr(text, "step 9000  loss 9000.5000  lr 1.00e-03  1.5k tokens/s  held-out loss 3.2500"));
    run_status_clear(&status);
}

/* A hole of NULs, as a machine that lost its power leaves it, a number written as 9.0, a line without a speed. */
static void a_damaged_end_of_the_metrics_is_read(void)
{
    static const char text[] = "{\"kind\":\"train\",\"step\":1,\"loss\":2.5,\"lr\":0.5}\n\0\0\0\0"
                               "{\"kind\": \"train\", \"step\": 9.0, \"loss\": 1.5, \"lr\": NaN}\r\n";
    g_autofree char *path = g_build_filename(dir, "metrics.jsonl", NULL);
    g_assert_true(g_file_set_contents(path, text, sizeof text - 1, NULL));
    RunStatus status;
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_autofree char *described = run_status_describe(&status, "runs/a");
    g_assert_nonnull(strstr(described, "  step 9  loss 1.5000\n"));
    run_status_clear(&status);
}

static void put_failure(double age)
{
    g_autofree char *text = g_strdup_printf("{\"kind\":\"event\",\"step\":3,\"what\":\"disk full\",\"failed\":true,"
                                            "\"time\":%.0f}\n",
                                            floor((double)g_get_real_time() / G_USEC_PER_SEC - age));
    put("metrics.jsonl", text);
}

/* An error that could not write its exit status, or after which a launcher killed the other ranks; not that of an
 * earlier start. */
static void a_run_whose_last_event_is_its_error_failed(void)
{
    put_failure(1000);
    beat(0, 1, 5000, 1500, -1);
    g_assert_cmpint(state(), ==, RUN_FAILED);
    g_assert_true(run_told_error(dir));
    beat(0, 1, 5000, 500, -1);
    g_assert_cmpint(state(), ==, RUN_LOST);
    g_assert_false(run_told_error(dir));
    RunStatus status;
    beat(0, 2, 5000, 1500, 2);
    beat(1, 2, 5000, 980, -1);
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_assert_cmpint(status.state, ==, RUN_FAILED);
    g_assert_true(run_told_error(dir));
    g_assert_null(status.place);
    g_assert_true(g_str_has_prefix(status.places, "rank 0 on node (process 1): ended with status 2\nrank 1 on node"));
    run_status_clear(&status);
    beat(0, 2, 5000, 1500, 75);
    g_assert_cmpint(state(), ==, RUN_LOST);
}

#define EVENT(what) "{\"kind\":\"event\",\"step\":8,\"what\":\"" what "\"}\n"
#define HOOK        EVENT("hooks.on_stop of step 8 failed once")
/* A hook that failed after the end of a run is told beside the end, until a command goes on. */
static void what_follows_an_end_does_not_hide_it(void)
{
    static const char *const stopped = EVENT("stopped at step 8 (train.stop_at=8 steps)") HOOK,
                             *const goes_on = EVENT("stopped on request") HOOK
                             "{\"kind\":\"event\",\"step\":8,\"what\":\"goes on\",\"start\":{}}\n";
    RunStatus status;
    beat(0, 1, 5000, 1000, 0);
    put("metrics.jsonl", stopped);
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_autofree char *text = run_status_describe(&status, "runs/a");
    g_assert_cmpint(status.state, ==, RUN_STOPPED);
    g_assert_nonnull(strstr(text, "  last event: stopped at step 8 (train.stop_at=8 steps)\n"
                                  "  after it: hooks.on_stop of step 8 failed once\n"));
    run_status_clear(&status);
    put("metrics.jsonl", goes_on);
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_assert_cmpstr(status.event, ==, "goes on");
    g_assert_null(status.after);
    run_status_clear(&status);
}

/* An error before metrics.jsonl exists, or before a start has an event, is the end of log.txt. */
static void an_error_without_an_event_is_in_the_log(void)
{
    RunStatus status;
    beat(0, 1, 5000, 1000, 2);
    put("metrics.jsonl", "{\"kind\":\"event\",\"step\":3,\"what\":\"stopped on request\"}\n");
    put("log.txt", "first\nwriting spiece.model:\tFile too large\n");
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_autofree char *text = run_status_describe(&status, "runs/a");
    g_assert_true(g_str_has_suffix(text, "  end of log.txt: writing spiece.model:\\x09File too large\n"));
    run_status_clear(&status);
    put_failure(1000);
    run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
    g_assert_null(status.log);
    run_status_clear(&status);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("loam-status-XXXXXX", NULL);
    g_autofree char *ranks = g_build_filename(dir, "ranks", NULL);
    g_assert_true(io_make_directories(ranks, NULL));
    g_test_add_func("/run_status/heartbeats_tell_the_state", heartbeats_tell_the_state);
    g_test_add_func("/run_status/a_heartbeat_from_the_future_is_no_life", a_heartbeat_from_the_future_is_no_life);
    g_test_add_func("/run_status/a_rank_whose_clock_differs_is_alive", a_rank_whose_clock_differs_is_alive);
    g_test_add_func("/run_status/the_slowest_rank_decides", the_slowest_rank_decides);
    g_test_add_func("/run_status/the_silence_of_a_rank_is_its_own", the_silence_of_a_rank_is_its_own);
    g_test_add_func("/run_status/the_process_of_each_rank_counts", the_process_of_each_rank_counts);
    g_test_add_func("/run_status/a_slow_run_does_not_stall", a_slow_run_does_not_stall);
    g_test_add_func("/run_status/the_end_of_the_metrics_tells_the_rest", the_end_of_the_metrics_tells_the_rest);
    g_test_add_func("/run_status/a_damaged_end_of_the_metrics_is_read", a_damaged_end_of_the_metrics_is_read);
    g_test_add_func("/run_status/a_run_whose_last_event_is_its_error_failed",
                    a_run_whose_last_event_is_its_error_failed);
    g_test_add_func("/run_status/what_follows_an_end_does_not_hide_it", what_follows_an_end_does_not_hide_it);
    g_test_add_func("/run_status/an_error_without_an_event_is_in_the_log", an_error_without_an_event_is_in_the_log);
    int failed = g_test_run();
    io_remove_tree(dir, NULL);
    g_free(dir);
    return failed;
}
