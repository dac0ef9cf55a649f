/* Files of Parquet against what pyarrow reads from them (tools/make-parquet.py), and files that are damaged. */
#include "format/parquet/parquet.h"

#include <glib/gstdio.h>
#include <string.h>

#define GOLDEN LOAM_SOURCE_DIR "/tests/golden/parquet/"

static char *folder;
static size_t most_bytes = 1000; /* of a text */

/* Reads a file; its rows are appended to `rows`. column: the only one that is read; NULL means all. Returns the first
 * error that ends the file, or NULL. */
static GError *read_rows(const char *path, const char *column, json_t *rows)
{
    GError *error = NULL;
    Parquet *file = parquet_open(path, &(ParquetTexts){ .most_bytes = most_bytes, .longer = "!" }, &error);
    g_auto(GStrv) names = file ? parquet_columns(file) : NULL;
    bool goes_on = file != NULL;
    for (guint i = 0; file && names[i]; i++)
        if (!column || strcmp(column, names[i]) == 0)
            parquet_want(file, i);
    while (goes_on) {
        json_auto_t *row = json_object();
        g_clear_error(&error);
        if (parquet_next(file, row, &goes_on, &error))
            json_array_append(rows, row);
        else if (error && goes_on)
            json_array_append_new(rows, json_string(error->message));
        if (parquet_row(file) > 1000)
            break; /* damage may promise any number of empty rows */
    }
    parquet_close(file);
    return error;
}

static void check_file(const char *name, const char *answers)
{
    g_autofree char *path = g_strconcat(GOLDEN, name, NULL), *wanted_path = g_strconcat(GOLDEN, answers, NULL);
    g_autofree char *text = NULL;
    json_auto_t *rows = json_array();
    g_assert_no_error(read_rows(path, NULL, rows));
    g_assert_true(g_file_get_contents(wanted_path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(json_array_size(rows), ==, g_strv_length(lines) - 1);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_auto_t *wanted = json_loads(lines[i], 0, NULL);
        const char *key;
        json_t *value;
        g_assert_cmpuint(json_object_size(wanted), ==, json_object_size(json_array_get(rows, i)));
        json_object_foreach(wanted, key, value)
        {
            json_t *got = json_object_get(json_array_get(rows, i), key);
            g_autofree char *got_text = json_dumps(got, JSON_ENCODE_ANY),
                            *text_wanted = json_dumps(value, JSON_ENCODE_ANY);
            if (!json_equal(got, value))
                g_error("%s: row %zu, %s: %s, want %s", name, i + 1, key, got_text, text_wanted);
        }
    }
}

static void every_encoding_is_read_in_every_codec_and_page(void)
{
    const char *const codecs[] = { "none", "snappy", "gzip", "brotli", "lz4", "zstd" };
    for (size_t i = 0; i < G_N_ELEMENTS(codecs); i++)
        for (int version = 1; version <= 2; version++) {
            g_autofree char *name = g_strdup_printf("matrix-%s-%d.parquet", codecs[i], version);
            check_file(name, "matrix.jsonl");
        }
}

static void logical_types_and_nested_values_are_read(void)
{
    check_file("types.parquet", "types.jsonl");
}

static void headers_may_be_long(void)
{
    most_bytes = 3000;
    check_file("long.parquet", "long.jsonl");
    most_bytes = 1000;
}

static void forms_of_old_writers_are_read(void)
{
    check_file("old.parquet", "old.jsonl");
}

static void a_text_that_is_none_is_a_bad_row(void)
{
    json_auto_t *rows = json_array();
    g_assert_no_error(read_rows(GOLDEN "bad.parquet", NULL, rows));
    g_autofree char *got = json_dumps(rows, JSON_COMPACT);
    g_assert_cmpstr(got, ==,
                    "[{\"text\":\"good\",\"label\":\"a\"},\"column \\\"text\\\": bytes that are not UTF-8 (0xe9)\","
                    "\"column \\\"text\\\": a NUL in a text\",\"column \\\"text\\\": a text longer than 1000 "
                    "B!\",{\"text\":\"last\",\"label\":\"b\"}]");
}

/* ---- damage ---- */

/* Writes a changed copy of a stored file: `from` becomes `to`, of the same length, where it comes first after the
 * magic. */
static char *write_changed(const char *name, const char *from, const char *to, size_t n)
{
    g_autofree char *path = g_strconcat(GOLDEN, name, NULL), *bytes = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    char *at = memmem(bytes + 4, length - 4, from, n);
    g_assert_nonnull(at);
    memcpy(at, to, n);
    char *changed = g_build_filename(folder, name, NULL);
    g_assert_true(g_file_set_contents(changed, bytes, (gssize)length, NULL));
    return changed;
}

#define CHECK_CHANGED(name, from, to, column, wanted)                                                                  \
    check_changed(name, from, to, sizeof(from) - 1, column, wanted);                                                   \
    G_STATIC_ASSERT(sizeof(from) == sizeof(to))

static void check_changed(const char *name, const char *from, const char *to, size_t n, const char *column,
                          const char *wanted)
{
    g_autofree char *path = write_changed(name, from, to, n);
    json_auto_t *rows = json_array();
    g_autoptr(GError) error = read_rows(path, column, rows);
    g_assert_cmpstr(error ? strrchr(error->message, '/') + 1 : "", ==, wanted);
}

static void what_is_not_read_is_named(void)
{
    CHECK_CHANGED("old.parquet", "hadoop\x15\x0a", "hadoop\x15\x06", NULL,
                  "old.parquet: column \"hadoop\", row group 1: compressed by LZO, which loam does not read, but "
                  "snappy, gzip, brotli, lz4 and zstd");
    CHECK_CHANGED("old.parquet", "hadoop\x15\x0a", "hadoop\x15\x06", "packed", "");
    CHECK_CHANGED("old.parquet", "\x15\x08\x15\x00\x15\x06", "\x15\x08\x15\x14\x15\x06", "hadoop",
                  "old.parquet: column \"hadoop\", row group 1: encoding 10, which loam does not read, but PLAIN, RLE, "
                  "dictionaries, DELTA_* and BYTE_STREAM_SPLIT");
    CHECK_CHANGED("old.parquet", "PAR1", "PARE", NULL, "old.parquet: it is encrypted, which loam does not read");
    CHECK_CHANGED("old.parquet", "PAR1", "PAR2", NULL,
                  "old.parquet: the end of the Parquet file is missing: it does not end with PAR1");
}

static void damage_is_told_with_its_place(void)
{
    const char where[] = "matrix-none-2.parquet: column \"text_plain_required\", row group 1: ";
    g_autofree char *crc = g_strconcat(where, "a page is damaged: its checksum (CRC) differs", NULL);
    CHECK_CHANGED("matrix-none-2.parquet", "the whale0\0\0\0\0", "the Whale0\0\0\0\0", "text_plain_required", crc);
    CHECK_CHANGED(
        "bad.parquet", "\4\0\0\0good", "\4\0\1\0good", NULL,
        "bad.parquet: column \"text\", row group 1: a page is damaged: its dictionary is cut off, or has more "
        "than 16 million values");
}

/* Damage of any byte gives rows or an error that names the file. */
static void any_damage_is_survived(void)
{
    const char *const names[] = { "old.parquet", "bad.parquet" };
    for (size_t k = 0; k < G_N_ELEMENTS(names); k++) {
        g_autofree char *path = g_strconcat(GOLDEN, names[k], NULL), *bytes = NULL,
                        *changed = g_build_filename(folder, names[k], NULL);
        gsize length;
        g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
        for (gsize i = 0; i < 2 * length; i++) {
            g_autofree char *copy = g_memdup2(bytes, length);
            json_auto_t *rows = json_array();
            copy[i / 2] = (char)(copy[i / 2] ^ (i % 2 ? 0x81 : 0xff));
            g_assert_true(
                g_file_set_contents_full(changed, copy, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
            g_autoptr(GError) error = read_rows(changed, NULL, rows);
            g_assert_true(!error || g_str_has_prefix(error->message, changed));
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("parquet-XXXXXX", NULL);
    g_test_add_func("/parquet/every_encoding", every_encoding_is_read_in_every_codec_and_page);
    g_test_add_func("/parquet/types", logical_types_and_nested_values_are_read);
    g_test_add_func("/parquet/long_headers", headers_may_be_long);
    g_test_add_func("/parquet/old", forms_of_old_writers_are_read);
    g_test_add_func("/parquet/bad_rows", a_text_that_is_none_is_a_bad_row);
    g_test_add_func("/parquet/not_read", what_is_not_read_is_named);
    g_test_add_func("/parquet/damage", damage_is_told_with_its_place);
    g_test_add_func("/parquet/any_damage", any_damage_is_survived);
    const int result = g_test_run();
    g_autofree char *command = g_strdup_printf("rm -r '%s'", folder);
    g_assert_cmpint(system(command), ==, 0);
    g_free(folder);
    return result;
}
