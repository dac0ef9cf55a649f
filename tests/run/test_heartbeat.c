/* Heartbeats: what is written is read; damaged files are refused; which rank of a dead run was lost first. */
#include "run/heartbeat.h"

#include "base/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>

static char *dir;

/* A heartbeat of rank `rank` of three, written `age` seconds before the latest. */
static Heartbeat beat_of(int rank, int ended, bool stopping)
{
    Heartbeat beat = { .rank = rank, .ranks = 3, .pid = 100 + rank, .step = 17, .ended = ended, .stopping = stopping };
    g_snprintf(beat.host, sizeof beat.host, "node%d", rank);
    g_strlcpy(beat.phase, "update", sizeof beat.phase);
    g_strlcpy(beat.call, "all-reduce", sizeof beat.call);
    beat.since = (double)g_get_real_time() / 1e6 - 3;
    return beat;
}

/* Moves the time of a file into the past by `seconds`. */
static void make_older(int rank, double seconds)
{
    g_autofree char *path = heartbeat_path(dir, rank), *text = io_read_file(path, HEARTBEAT_BYTES, NULL, NULL);
    char *time = strstr(text, "\"time\":");
    char number[16];
    double then = g_ascii_strtod(time + strlen("\"time\":"), NULL) - seconds;
    g_snprintf(number, sizeof number, "%.1f", then);
    memcpy(time + strlen("\"time\":"), number, strlen(number));
    g_assert_true(g_file_set_contents(path, text, HEARTBEAT_BYTES, NULL));
}

static void write_three(const int ended[3], const bool stopping[3])
{
    for (int r = 0; r < 3; r++) {
        g_autofree char *path = heartbeat_path(dir, r);
        Heartbeat beat = beat_of(r, ended[r], stopping[r]);
        heartbeat_write(AT_FDCWD, path, &beat);
    }
}

/* A host whose clock is an hour behind stands where it stands for as long as its own clock says. */
static void places_are_by_the_clock_of_each_host(void)
{
    write_three((int[]){ -1, -1, -1 }, (bool[]){ false, false, false });
    Heartbeat beat;
    g_assert_true(heartbeat_read(dir, 1, &beat));
    g_autofree char *path = heartbeat_path(dir, 1), *text = NULL;
    make_older(1, 3600);
    text = io_read_file(path, HEARTBEAT_BYTES, NULL, NULL);
    char *since = strstr(text, "\"since\":") + strlen("\"since\":"), number[16];
    g_snprintf(number, sizeof number, "%.1f", beat.since - 3600);
    memcpy(since, number, strlen(number));
    g_assert_true(g_file_set_contents(path, text, HEARTBEAT_BYTES, NULL));
    g_assert_true(heartbeat_read(dir, 1, &beat));
    const double now = (double)g_get_real_time() / 1e6, present = heartbeat_present(dir, &beat, now);
    g_assert_cmpfloat(present - beat.time, >=, 0);
    g_assert_cmpfloat(present - beat.time, <, 1800); /* not the hour that the clocks differ by */
    g_autofree char *places = heartbeat_places(dir, now);
    g_assert_null(strstr(places, " for 1h"));
    heartbeat_clear(dir);
}

static void what_is_written_is_read(void)
{
    g_autofree char *path = heartbeat_path(dir, 1);
    Heartbeat beat = beat_of(1, -1, true), read;
    g_strlcpy(beat.host, "a \"host\"\n", sizeof beat.host);
    beat.microbatch = 2;
    heartbeat_write(AT_FDCWD, path, &beat);
    heartbeat_write(AT_FDCWD, path, &beat);
    g_assert_true(heartbeat_read(dir, 1, &read));
    g_assert_cmpstr(read.host, ==, "a ?host??");
    g_assert_true(read.beat == 2 && read.rank == 1 && read.ranks == 3 && read.pid == 101 && read.step == 17);
    g_assert_true(read.microbatch == 2 && read.stopping && read.ended == -1);
    g_assert_cmpfloat_with_epsilon(read.time - read.since, 3, 0.5);
    g_autofree char *line = heartbeat_describe(&read, read.since + 2);
    g_assert_cmpstr(line, ==,
                    "rank 1 on a ?host?? (process 101): step 17, microbatch 2, update, waits in all-reduce for 2.0s");
    g_assert_false(heartbeat_read(dir, 0, &read));
}

static void ranks_that_stand_alike_share_a_line(void)
{
    Heartbeat read;
    write_three((int[]){ -1, -1, -1 }, (bool[]){ false, false, false });
    g_assert_true(heartbeat_read(dir, 0, &read));
    g_autofree char *lasted = text_duration(read.time - read.since),
                    *want = g_strdup_printf("step 17, update, waits in all-reduce for %s", lasted),
                    *all = g_strdup_printf("ranks 0-2: %s", want), *alike = heartbeat_places(dir, read.time);
    g_assert_cmpstr(alike, ==, all);
    Heartbeat other = beat_of(1, -1, false);
    other.call[0] = 0;
    other.since = read.since;
    g_autofree char *path = heartbeat_path(dir, 1);
    heartbeat_write(AT_FDCWD, path, &other);
    g_autofree char *places = heartbeat_places(dir, read.time),
                    *two = g_strdup_printf("ranks 0, 2: %s\nrank 1 on node1 (process 101): step 17, update for ", want);
    g_assert_true(g_str_has_prefix(places, two));
    write_three((int[]){ 2, -1, 2 }, (bool[]){ false, false, false });
    heartbeat_write(AT_FDCWD, path, &other);
    g_autofree char *ended = heartbeat_places(dir, read.time);
    g_assert_true(g_str_has_prefix(ended, "ranks 0, 2: ended with status 2\nrank 1 on node1"));
    heartbeat_clear(dir);
    g_assert_null(heartbeat_places(dir, 0));
}

static void half_a_write_is_refused(void)
{
    g_autofree char *path = heartbeat_path(dir, 0);
    Heartbeat beat = beat_of(0, -1, false), read;
    heartbeat_write(AT_FDCWD, path, &beat);
    g_autofree char *text = io_read_file(path, HEARTBEAT_BYTES, NULL, NULL);
    memcpy(strstr(text, "\"beat\":1"), "\"beat\":2", 8);
    g_assert_true(g_file_set_contents(path, text, HEARTBEAT_BYTES, NULL));
    g_assert_false(heartbeat_read(dir, 0, &read));
    g_assert_true(g_file_set_contents(path, text, 100, NULL));
    g_assert_false(heartbeat_read(dir, 0, &read));
}

static void the_rank_that_was_lost_first_is_named(void)
{
    static const bool none[3], others[3] = { true, false, true };
    write_three((const int[]){ -1, -1, -1 }, none);
    make_older(1, 2);
    g_autofree char *oldest = heartbeat_last_words(dir);
    g_assert_nonnull(strstr(oldest, "rank 1 on node1 (process 101): step 17, update, waits in all-reduce"));
    /* Files have times in tenths of a second, and the others may have been written in the next tenth. */
    g_assert_true(g_regex_match_simple("; the others were seen up to 2[.][0-3]s longer", oldest, 0, 0));

    write_three((const int[]){ -1, -1, -1 }, others); /* asked to stop, as by a launcher after another's death */
    g_autofree char *not_asked = heartbeat_last_words(dir);
    g_assert_nonnull(strstr(not_asked, "rank 1 on node1"));

    write_three((const int[]){ -1, -1, -1 }, none);
    g_autofree char *together = heartbeat_last_words(dir);
    g_assert_nonnull(strstr(together, "; 3 of 3 ranks vanished together"));

    write_three((const int[]){ 2, 2, -1 }, none);
    g_autofree char *alone = heartbeat_last_words(dir);
    g_assert_nonnull(strstr(alone, "rank 2 on node2"));
    g_assert_nonnull(strstr(alone, "; no other of the 3 ranks vanished"));

    write_three((const int[]){ 0, 75, 2 }, none);
    g_assert_null(heartbeat_last_words(dir));
    heartbeat_clear(dir);
    g_assert_null(heartbeat_last_words(dir));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("loam-heartbeat-XXXXXX", NULL);
    g_autofree char *ranks = g_build_filename(dir, "ranks", NULL);
    g_assert_true(io_make_directories(ranks, NULL));
    g_test_add_func("/places_are_by_the_clock_of_each_host", places_are_by_the_clock_of_each_host);
    g_test_add_func("/what_is_written_is_read", what_is_written_is_read);
    g_test_add_func("/ranks_that_stand_alike_share_a_line", ranks_that_stand_alike_share_a_line);
    g_test_add_func("/half_a_write_is_refused", half_a_write_is_refused);
    g_test_add_func("/the_rank_that_was_lost_first_is_named", the_rank_that_was_lost_first_is_named);
    int status = g_test_run();
    io_remove_tree(dir, NULL);
    g_free(dir);
    return status;
}
