#include "base/file.h"
#include "format/bytes.h"
#include "format/events.h"
#include "golden.h"

#include <errno.h>
#include <string.h>

static char *fresh_folder(void)
{
    return g_dir_make_tmp("loam-events-XXXXXX", NULL);
}

/* The only file of the folder; its path in *path. */
static char *only_file(const char *folder, char **path, size_t *bytes)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name = g_dir_read_name(dir);
    g_assert_true(name && g_str_has_prefix(name, "events.out.tfevents."));
    *path = g_build_filename(folder, name, NULL);
    g_assert_null(g_dir_read_name(dir));
    char *data = NULL;
    g_assert_true(g_file_get_contents(*path, &data, bytes, NULL));
    return data;
}

static void write_steps(const char *folder, int first, int last)
{
    g_autoptr(GError) error = NULL;
    IoFile *writer = events_open(folder, &error);
    g_assert_no_error(error);
    for (int step = first; step <= last; step++)
        g_assert_true(events_scalar(writer, "train/loss", step, 1.5, &error));
    g_assert_true(io_flush(writer, &error));
    events_close(writer);
}

#define FIRST_BYTES  (16 + 9 + 2 + 15)                   /* the record that names the version */
#define SCALAR_BYTES (16 + 9 + 2 + 2 + 2 + (2 + 10) + 5) /* train/loss at a step below 128 */

static void checksums_are_castagnoli_s(void)
{
    unsigned char zeros[32] = { 0 }; /* RFC 3720, B.4 */
    g_assert_cmphex(crc32c(zeros, 32), ==, 0x8a9136aa);
    g_assert_cmphex(crc32c("123456789", 9), ==, 0xe3069283);
    g_assert_cmphex(crc32c("", 0), ==, 0);
}

static void a_scalar_has_tensorboard_s_bytes(void)
{
    g_autofree char *folder = fresh_folder(), *path = NULL;
    write_steps(folder, 3, 3);
    size_t bytes;
    g_autofree char *data = only_file(folder, &path, &bytes);
    g_assert_cmpuint(bytes, ==, FIRST_BYTES + SCALAR_BYTES);
    expect_bytes(data + 12 + 9, 17,
                 "\x10\x00\x1a\x0d"
                 "brain.Event:2",
                 17);
    static const char scalar[] = "\x10\x03\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15\x00\x00\xc0\x3f";
    expect_bytes(data + FIRST_BYTES + 12 + 9, sizeof scalar - 1, scalar, sizeof scalar - 1);
    io_remove_tree(folder, NULL);
}

/* A scalar's summary with tag, a tensor of one string, and the plugin that shows it. */
static void a_text_has_tensorboard_s_bytes(void)
{
    static const char text[] =
        "\x10\x03\x2a\x1f\x0a\x1d\x0a\x01t\x4a\x0a\x0a\x06\x0a\x04text\x20\x02\x42\x0c\x08\x07\x12\x00"
        "\x42\x06*a* b\x0a";
    g_autofree char *folder = fresh_folder(), *path = NULL;
    IoFile *writer = events_open(folder, NULL);
    g_assert_true(events_text(writer, "t", 3, "*a* b\n", NULL));
    events_close(writer);
    size_t bytes;
    g_autofree char *data = only_file(folder, &path, &bytes);
    g_assert_cmpuint(bytes, ==, FIRST_BYTES + 16 + 9 + sizeof text - 1);
    expect_bytes(data + FIRST_BYTES + 12 + 9, sizeof text - 1, text, sizeof text - 1);
    io_remove_tree(folder, NULL);
}

static void two_writers_have_two_files(void)
{
    g_autofree char *folder = fresh_folder();
    write_steps(folder, 1, 1);
    write_steps(folder, 2, 2);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    int n = 0;
    while (g_dir_read_name(dir))
        n++;
    g_assert_cmpint(n, ==, 2);
    io_remove_tree(folder, NULL);
}

static void a_cut_keeps_what_came_before(void)
{
    g_autofree char *folder = fresh_folder(), *path = NULL, *again = NULL;
    write_steps(folder, 1, 20);
    size_t before, after;
    g_autofree char *whole = only_file(folder, &path, &before);
    g_autoptr(GError) error = NULL;
    g_assert_true(events_cut(folder, 20, 20, &error));
    g_autofree char *same = only_file(folder, &again, &after);
    expect_bytes(same, after, whole, before);
    g_assert_true(events_cut(folder, 12, 12, &error));
    g_free(again);
    g_autofree char *cut = only_file(folder, &again, &after);
    expect_bytes(cut, after, whole, FIRST_BYTES + 12 * SCALAR_BYTES);
    g_assert_true(events_cut("/nonexistent", 3, 3, &error));
    io_remove_tree(folder, NULL);
}

/* Series against samples are cut by the samples, others by the steps. */
static void a_cut_knows_both_axes(void)
{
    g_autofree char *folder = fresh_folder(), *path = NULL;
    g_autoptr(GError) error = NULL;
    IoFile *writer = events_open(folder, &error);
    for (int step = 1; step <= 4; step++) {
        g_assert_true(events_scalar(writer, "lm loss", step, 1.5, &error));
        g_assert_true(events_scalar(writer, "lm loss vs samples", 16 * step, 1.5, &error));
    }
    events_close(writer);
    g_assert_true(events_cut(folder, 3, 48, &error));
    size_t three, two;
    g_free(only_file(folder, &path, &three));
    g_assert_true(events_cut(folder, 2, 32, &error));
    g_free(path);
    g_free(only_file(folder, &path, &two));
    const size_t pair = 2 * SCALAR_BYTES + strlen("lm loss") + strlen("lm loss vs samples") - 2 * strlen("train/loss");
    g_assert_cmpuint(three, ==, FIRST_BYTES + 3 * pair);
    g_assert_cmpuint(two, ==, FIRST_BYTES + 2 * pair);
    io_remove_tree(folder, NULL);
}

/* A file that ends anywhere within a record, or whose record was damaged, keeps all the records before. */
static void a_cut_drops_a_torn_tail(void)
{
    g_autofree char *folder = fresh_folder(), *path = NULL;
    write_steps(folder, 1, 3);
    size_t bytes;
    g_autofree char *whole = only_file(folder, &path, &bytes);
    size_t last = bytes - SCALAR_BYTES;
    const size_t ends[] = { last + 1, last + 8, last + 12, last + 15, last + 16, last + 40, bytes - 1, bytes, bytes };
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        size_t end = ends[i];
        g_autofree char *torn = g_memdup2(whole, end);
        if (end == bytes) /* whole, but damaged: the payload, then the checksum of its length */
            torn[last + (i % 2 ? 30 : 9)] ^= 1;
        g_assert_true(g_file_set_contents(path, torn, (gssize)end, NULL));
        g_assert_true(events_cut(folder, 100, 100, NULL));
        g_autofree char *again = NULL;
        size_t after;
        g_autofree char *cut = only_file(folder, &again, &after);
        expect_bytes(cut, after, whole, last);
    }
    io_remove_tree(folder, NULL);
}

static void an_unfinished_cut_is_cleared_away(void)
{
    g_autofree char *folder = fresh_folder(), *path = NULL, *again = NULL;
    write_steps(folder, 1, 3);
    size_t bytes, after;
    g_autofree char *whole = only_file(folder, &path, &bytes);
    g_autofree char *rest = g_strconcat(path, ".tmp", NULL);
    g_assert_true(g_file_set_contents(rest, whole, 20, NULL));
    g_assert_true(events_cut(folder, 3, 3, NULL));
    g_autofree char *same = only_file(folder, &again, &after);
    expect_bytes(same, after, whole, bytes);
    io_remove_tree(folder, NULL);
}

static void a_failing_cut_changes_nothing(void)
{
    g_autofree char *folder = fresh_folder(), *path = NULL;
    write_steps(folder, 1, 5);
    size_t before;
    g_autofree char *whole = only_file(folder, &path, &before);
    for (int n = 1; n <= 3; n++) { /* opening, writing, syncing the new file */
        g_autoptr(GError) error = NULL;
        g_autofree char *now = NULL;
        gsize after;
        io_fail_at(n, EIO);
        g_assert_false(events_cut(folder, 2, 2, &error));
        io_fail_at(0, 0);
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
        g_assert_true(g_file_get_contents(path, &now, &after, NULL));
        expect_bytes(now, after, whole, before);
    }
    io_remove_tree(folder, NULL);
}

/* Every record is intact, so a cut after the last step changes nothing. */
static void expect_intact(const char *golden, const char *name)
{
    g_autofree char *data = NULL, *folder = fresh_folder(), *path = NULL, *copy = g_build_filename(folder, name, NULL);
    gsize bytes;
    g_assert_true(g_file_get_contents(golden, &data, &bytes, NULL));
    g_assert_true(g_file_set_contents(copy, data, (gssize)bytes, NULL));
    g_assert_true(events_cut(folder, INT64_MAX, INT64_MAX, NULL));
    size_t after;
    g_autofree char *same = only_file(folder, &path, &after);
    expect_bytes(same, after, data, bytes);
    g_assert_true(events_cut(folder, 0, 0, NULL));
    g_free(path);
    g_autofree char *cut = only_file(folder, &path, &after);
    g_assert_cmpuint(after, <, bytes);
    expect_bytes(cut, 40, data, 40); /* the record that names the version */
    io_remove_tree(folder, NULL);
}

static void reads_tensorboard_s_records(void)
{
    expect_intact(GOLDEN "tensorboard/events.out.tfevents.0000001000.golden.1.0",
                  "events.out.tfevents.0000001000.golden.1.0");
}

static void reads_tensorflow_s_records(void)
{
    expect_intact(SHARED "golden/tensorboard/tf_events.out.tfevents.1476472058.localhost",
                  "events.out.tfevents.1476472058.localhost");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/events/checksums_are_castagnoli_s", checksums_are_castagnoli_s);
    g_test_add_func("/events/a_scalar_has_tensorboard_s_bytes", a_scalar_has_tensorboard_s_bytes);
    g_test_add_func("/events/a_text_has_tensorboard_s_bytes", a_text_has_tensorboard_s_bytes);
    g_test_add_func("/events/two_writers_have_two_files", two_writers_have_two_files);
    g_test_add_func("/events/a_cut_keeps_what_came_before", a_cut_keeps_what_came_before);
    g_test_add_func("/events/a_cut_drops_a_torn_tail", a_cut_drops_a_torn_tail);
    g_test_add_func("/events/a_cut_knows_both_axes", a_cut_knows_both_axes);
    g_test_add_func("/events/an_unfinished_cut_is_cleared_away", an_unfinished_cut_is_cleared_away);
    g_test_add_func("/events/a_failing_cut_changes_nothing", a_failing_cut_changes_nothing);
    g_test_add_func("/events/reads_tensorboard_s_records", reads_tensorboard_s_records);
    add_where_present(SHARED "golden/tensorboard/tf_events.out.tfevents.1476472058.localhost",
                      "/events/reads_tensorflow_s_records", reads_tensorflow_s_records);
    return g_test_run();
}
