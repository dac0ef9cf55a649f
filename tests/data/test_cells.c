/* Tables: quotes that are never closed, line ends of old Macs, columns of one name, rows that are out of all bounds. */
#include "data/data_test.h"
#include "data/records/records.h"

static char *folder;

/* The records of a table, each with a bar after it, its cells with commas between them; in place of a bad row "!" and
 * the error without the folder. */
static char *read_table(const char *name, const char *text, size_t bytes)
{
    g_autofree char *path = file_write(folder, name, text, bytes);
    g_autoptr(GError) error = NULL;
    GString *all = g_string_new(NULL);
    RecordReader *reader = record_reader_open(&(RecordSource){ .path = path }, &error);
    g_assert_no_error(error);
    for (Record record;;) {
        const char *key;
        json_t *cell;
        if (record_reader_next(reader, &record, &error)) {
            bool first = true;
            json_object_foreach((json_t *)(uintptr_t)record.levels[0], key, cell)
            {
                const bool short_one = json_string_length(cell) < 20;
                g_string_append_printf(all, "%s%s", first ? "" : ",", short_one ? json_string_value(cell) : "…");
                first = false;
            }
        } else if (error) {
            g_string_append_printf(all, "!%s", strrchr(error->message, '/') + 1);
        } else {
            break;
        }
        g_string_append_c(all, '|');
        if (error && !record_reader_goes_on(reader))
            break;
        g_clear_error(&error);
    }
    record_reader_close(reader);
    return g_string_free(all, false);
}

static void check(const char *name, const char *text, const char *want)
{
    g_autofree char *got = read_table(name, text, strlen(text));
    g_assert_cmpstr(got, ==, want);
}

#define OPEN  "a quote is opened and never closed|"
#define STRAY "text after the closing quote of a cell; a quote within a cell is written twice (\"\")|"

/* The message names the line at which the quote is opened, and the lines after it are read as rows. */
static void only_the_line_of_a_stray_quote_is_lost(void)
{
    check("a.csv", "a,b\n1,2\n3,\"4\n5,6\n7,8", "1,2|!a.csv:3: column 2: " OPEN "5,6|7,8|");
    check("a.csv", "a,b\n1,2\n3,\"4\n5,\"6\"\n7,\"8\n\"\n", "1,2|!a.csv:3: column 2: " STRAY "5,6|7,8\n|");
    check("a.csv", "a,b\n1,2\n\"3\n\",\"4\n5,6\n\"7\",8\n", "1,2|!a.csv:4: column 2: " STRAY "5,6|7,8|");
    check("a.csv", "a,b\n\"1", "!a.csv:2: column 1: " OPEN);
    check("a.csv", "a,b\n\"1\n\"2\n\"3\n4,\"5\"\n",
          "!a.csv:2: column 1: " STRAY "!a.csv:3: column 1: " STRAY "!a.csv:4: column 1: " STRAY "4,5|");
    check("a.csv", "a,b\n1,\"\"\"2\"\"\"\r\n3,\"4\r\n,5\"\r\n", "1,\"2\"|3,4\r\n,5|");
}

/* A quote that is never closed is given up at the limit. */
static void after_a_too_long_row_the_next_line_is_read(void)
{
    g_autoptr(GString) text = g_string_new("a,b\n1,\"open\n2,");
    g_autofree char *filling = g_strnfill((64 << 20) - 10, 'x');
    g_string_append_printf(text, "%s\n3,c\n4,d\n", filling);
    g_autofree char *got = read_table("a.csv", text->str, text->len);
    g_assert_cmpstr(got, ==, "!a.csv:2: a row longer than 64.0 MiB; is a quote not closed?|2,…|3,c|4,d|");
    g_string_assign(text, "a,b\n1,");
    g_string_append_printf(text, "%s%s\n3,c\n", filling, filling);
    g_autofree char *other = read_table("a.csv", text->str, text->len);
    g_assert_cmpstr(other, ==, "!a.csv:2: a row longer than 64.0 MiB|3,c|");
}

/* The limit that is told is the one that holds, with what the caller says about longer rows. */
static void a_too_long_row_names_its_limit(void)
{
    g_autofree char *filling = g_strnfill(3000, 'x'), *text = g_strdup_printf("a,b\n1,%s\n", filling),
                    *path = file_write(folder, "long.csv", text, strlen(text));
    const RecordSource source = { .path = path, .most_bytes = 2048, .longer = " (--max takes longer ones)" };
    g_autoptr(GError) error = NULL;
    RecordReader *reader = record_reader_open(&source, &error);
    Record record;
    g_assert_no_error(error);
    g_assert_false(record_reader_next(reader, &record, &error));
    g_assert_cmpstr(strrchr(error->message, '/') + 1, ==,
                    "long.csv:2: a row longer than 2.0 KiB (--max takes longer ones)");
    record_reader_close(reader);
}

static void a_row_without_end_is_given_up(void)
{
    g_autoptr(GError) error = NULL;
    const RecordSource source = { .path = "/dev/zero", .format = RECORD_TSV, .columns = "a" };
    RecordReader *reader = record_reader_open(&source, &error);
    Record record;
    g_assert_false(record_reader_next(reader, &record, &error));
    g_assert_nonnull(strstr(error->message, "/dev/zero:1: column 1: a NUL byte"));
    g_assert_true(record_reader_goes_on(reader));
    g_clear_error(&error);
    g_assert_false(record_reader_next(reader, &record, &error));
    g_assert_cmpstr(error->message, ==, "/dev/zero:1: a line longer than 1.0 GiB; so long a line is not skipped");
    g_assert_false(record_reader_goes_on(reader));
    record_reader_close(reader);
}

/* Without an LF in the first bytes of a file its CRs end lines; with one they are text. */
static void lines_of_old_macs_end_in_cr(void)
{
    check("a.tsv", "a\tb\r1\t2\r3\t4\r", "1,2|3,4|");
    check("a.csv", "a,b\r1,\"2\r3\"", "1,2\n3|");
    check("a.tsv", "a\tb\n1\r\t2\r\n", "1\r,2|");
    g_autoptr(GString) text = g_string_new("a,b\r"); /* a chunk of the file ends between CR and what follows */
    while (text->len < 300000)
        g_string_append(text, "1,2\r");
    g_autofree char *got = read_table("a.csv", text->str, text->len);
    g_assert_cmpuint(strlen(got), ==, text->len - 4);
}

/* Columns of one name have their numbers; a name that nobody asks for does no harm. */
static void columns_of_one_name_are_told_apart(void)
{
    g_autofree char *path = file_write_text(folder, "a.csv", "a,,b,a,\n1,2,3,4,5\n");
    g_autoptr(GError) error = NULL;
    RecordReader *reader = record_reader_open(&(RecordSource){ .path = path }, &error);
    Record record;
    g_assert_true(record_reader_next(reader, &record, &error));
    g_assert_cmpstr(json_string_value(record_value(&record, "b")), ==, "3");
    g_assert_cmpstr(json_string_value(record_value(&record, "4")), ==, "4");
    g_assert_cmpstr(json_string_value(record_value(&record, "a (column 1)")), ==, "1");
    g_assert_null(record_value(&record, "a"));
    record_fail_missing(&record, "a", &error);
    g_assert_true(g_str_has_suffix(error->message, "a.csv: two columns are called \"a\""));
    record_reader_close(reader);
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
    RecordReader *reader = record_reader_open(&(RecordSource){ .path = path, .columns = columns->str }, &error);
    g_assert_no_error(error);
    record_reader_close(reader);
    g_string_append(columns, ",777");
    g_assert_null(record_reader_open(&(RecordSource){ .path = path, .columns = columns->str }, &error));
    g_assert_true(g_str_has_suffix(error->message, "b.csv: two columns are called \"777\""));
#endif
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    g_test_add_func("/cells/only_the_line_of_a_stray_quote_is_lost", only_the_line_of_a_stray_quote_is_lost);
    g_test_add_func("/cells/after_a_too_long_row_the_next_line_is_read", after_a_too_long_row_the_next_line_is_read);
    g_test_add_func("/cells/a_too_long_row_names_its_limit", a_too_long_row_names_its_limit);
    g_test_add_func("/cells/a_row_without_end_is_given_up", a_row_without_end_is_given_up);
    g_test_add_func("/cells/lines_of_old_macs_end_in_cr", lines_of_old_macs_end_in_cr);
    g_test_add_func("/cells/columns_of_one_name_are_told_apart", columns_of_one_name_are_told_apart);
    g_test_add_func("/cells/a_million_columns_are_compared_by_their_hashes",
                    a_million_columns_are_compared_by_their_hashes);
    int status = g_test_run();
    folder_remove(folder);
    return status;
}
