/* Tables of rows and columns that are out of all bounds. */
#include "data/task/cells.h"

#include "data/data_test.h"
#include "data/task/records.h"

static char *folder;

static void expect_error(GError **error, const char *want)
{
    g_assert_nonnull(*error);
    if (!g_str_has_suffix((*error)->message, want))
        g_error("%s", (*error)->message);
    g_clear_error(error);
}

/* A quote that is never closed is given up at the limit, and the rows after its line are read. */
static void after_a_too_long_row_the_next_line_is_read(void)
{
    g_autoptr(GString) text = g_string_new("1,\"open\n2,");
    g_autofree char *filling = g_strnfill((64 << 20) + 10, 'x');
    g_string_append(text, filling);
    g_string_append(text, "\n3,c\n4,d\n");
    g_autofree char *path = file_write(folder, "a.csv", text->str, text->len);
    g_autoptr(GError) error = NULL;
    CellReader *reader = cell_reader_open(path, (CellFormat){ ',', true }, &error);
    g_assert_false(cell_reader_next(reader, &error));
    expect_error(&error, "a.csv:2: a row longer than 64 MiB; is a quote not closed?");
    for (const char *want = "34"; *want; want++) {
        g_assert_true(cell_reader_next(reader, &error));
        g_assert_cmpint(*cell_reader_cell(reader, 0), ==, *want);
        g_assert_cmpint(cell_reader_line(reader), ==, *want - '0');
    }
    g_assert_false(cell_reader_next(reader, &error));
    g_assert_no_error(error);
    cell_reader_close(reader);
}

static void a_row_without_end_is_given_up(void)
{
    g_autoptr(GError) error = NULL;
    CellReader *reader = cell_reader_open("/dev/zero", (CellFormat){ '\t', false }, &error);
    g_assert_false(cell_reader_next(reader, &error));
    g_assert_nonnull(strstr(error->message, "/dev/zero:1: column 1: a NUL byte"));
    g_clear_error(&error);
    g_assert_false(cell_reader_next(reader, &error));
    expect_error(&error, "/dev/zero:1: a line longer than 1 GiB, which is not skipped");
    g_assert_true(cell_reader_broken(reader));
    cell_reader_close(reader);
}

/* So many columns that comparing each with each other one would take hours. */
static void a_million_columns_are_compared_by_their_hashes(void)
{
#ifdef __SANITIZE_ADDRESS__
    g_test_skip("the sanitizer's strstr, by which GLib splits the names, reads to the end of the text each time");
#else
    g_autoptr(GString) columns = g_string_new("0");
    for (int i = 1; i < 1000000; i++)
        g_string_append_printf(columns, ",%d", i);
    g_autofree char *path = file_write_text(folder, "b.csv", "x\n");
    g_autoptr(GError) error = NULL;
    RecordReader *reader =
        record_reader_open(&(RecordSource){ .path = path, .rows = "", .columns = columns->str }, &error);
    g_assert_no_error(error);
    record_reader_close(reader);
    g_string_append(columns, ",777");
    g_assert_null(record_reader_open(&(RecordSource){ .path = path, .rows = "", .columns = columns->str }, &error));
    expect_error(&error, "b.csv: two columns are called \"777\"");
#endif
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    g_test_add_func("/cells/after_a_too_long_row_the_next_line_is_read", after_a_too_long_row_the_next_line_is_read);
    g_test_add_func("/cells/a_row_without_end_is_given_up", a_row_without_end_is_given_up);
    g_test_add_func("/cells/a_million_columns_are_compared_by_their_hashes",
                    a_million_columns_are_compared_by_their_hashes);
    int status = g_test_run();
    folder_remove(folder);
    return status;
}
