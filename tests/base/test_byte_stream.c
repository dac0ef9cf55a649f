#include "base/byte_stream.h"

#include "base/file.h"
#include "compressions.h"

#include <unistd.h>

#define ROOM ((size_t)1 << 20)

static char *folder;

/* All bytes of a file, read in portions of at most `most` bytes; "!" and the message, after its path, in case of an
 * error. */
static GString *read_file(const char *name, const void *content, size_t bytes, size_t most)
{
    g_autofree char *path = g_build_filename(folder, name, NULL), *portion = g_malloc(most);
    unlink(path); /* GLib waits for the disk if it replaces a file */
    g_assert_true(g_file_set_contents(path, content, (gssize)bytes, NULL));
    g_autoptr(GError) error = NULL;
    GString *all = g_string_new(NULL);
    ByteStream *stream = byte_stream_open(path, &error);
    size_t n = 1;
    while (n > 0 && byte_stream_read(stream, portion, most, &n, &error))
        g_string_append_len(all, portion, (gssize)n);
    if (error) {
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_true(g_str_has_prefix(error->message, path));
        g_string_printf(all, "!%s", error->message + strlen(path));
    } else {
        g_assert_cmpuint(byte_stream_offset(stream), ==, bytes);
    }
    byte_stream_close(stream);
    return all;
}

static void expect(const struct Compression *by, const void *content, size_t bytes, const char *wanted)
{
    g_autoptr(GString) got = read_file(by->file, content, bytes, 1000);
    if (*wanted == '!')
        g_assert_true(g_str_has_prefix(got->str, wanted));
    else
        g_assert_cmpstr(got->str, ==, wanted);
}

/* Members larger than what is read at a time, with what a coder cannot make smaller, and with what it can. */
static void every_format_gives_the_bytes_that_were_compressed(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < 40000; i++)
        g_string_append_printf(text, "%u ", (i + 1) * 2654435761u);
    while (text->len < 700000)
        g_string_append(text, "the same again, ");
    const size_t first = text->len / 3;
    for (size_t i = 0; i < G_N_ELEMENTS(compressions); i++) {
        const struct Compression *by = &compressions[i];
        g_autofree char *stored = g_malloc(ROOM);
        size_t n = by->compress(text->str, first, stored, ROOM);
        n += by->compress("", 0, stored + n, ROOM - n);
        n += by->compress(text->str + first, text->len - first, stored + n, ROOM - n);
        for (size_t most = 1; most < 2 * ROOM; most = most * 100 + 77) {
            g_autoptr(GString) got = read_file(by->file, stored, n, most);
            g_assert_true(g_string_equal(got, text));
        }
    }
}

static void a_file_that_is_cut_within_a_member_is_an_error(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(compressions); i++) {
        const struct Compression *by = &compressions[i];
        char stored[1000];
        g_autofree char *cut = g_strdup_printf("!: the file is cut short: its %s data stop before their end", by->name);
        const size_t empty = by->compress("", 0, stored, sizeof stored);
        expect(by, stored, empty, "");
        const size_t first = by->compress("one\n\ntwo", 8, stored, sizeof stored);
        const size_t both = first + by->compress(" more\n", 6, stored + first, sizeof stored - first);
        for (size_t n = 0; n <= both; n++)
            expect(by, stored, n, n == first ? "one\n\ntwo" : n == both ? "one\n\ntwo more\n" : cut);
    }
}

/* What lies between two members and is none, as a hole in a file that was copied badly. */
static void nothing_may_stand_between_members_or_behind_the_last(void)
{
    static const struct {
        const char *bytes;
        size_t n;
    } damages[] = { { "\0\0\0\0\0\0\0\0\0\0\0\0", 12 }, { "\0\0\0", 3 }, { "junk, and more junk", 19 }, { "\x1f", 1 } };
    for (size_t i = 0; i < G_N_ELEMENTS(compressions) * G_N_ELEMENTS(damages) * 2; i++) {
        const struct Compression *by = &compressions[i / 2 % G_N_ELEMENTS(compressions)];
        const size_t damage = i / 2 / G_N_ELEMENTS(compressions);
        const bool goes_on = i % 2 == 0, pads = by->compress == compress_xz && damage == 0; /* as xz's format allows */
        char stored[1000];
        size_t n = by->compress("one\n", 4, stored, sizeof stored);
        memcpy(stored + n, damages[damage].bytes, damages[damage].n);
        n += damages[damage].n;
        n += goes_on ? by->compress("two\n", 4, stored + n, sizeof stored - n) : 0;
        g_autoptr(GString) got = read_file(by->file, stored, n, 1000);
        if (pads)
            g_assert_cmpstr(got->str, ==, goes_on ? "one\ntwo\n" : "one\n");
        else
            g_assert_true(g_str_has_prefix(got->str, "!: the file is cut short") || strstr(got->str, by->second));
    }
}

/* Each bit of a member, of which some say nothing about the text, such as gzip's time. */
static void a_changed_bit_is_an_error_or_changes_nothing(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(compressions); i++) {
        const struct Compression *by = &compressions[i];
        char stored[1000];
        const size_t n = by->compress("one two one two three\n", 22, stored, sizeof stored);
        size_t errors = 0;
        for (size_t bit = 0; bit < n * 8; bit++) {
            stored[bit / 8] ^= (char)(1 << bit % 8);
            g_autoptr(GString) got = read_file(by->file, stored, n, 1000);
            stored[bit / 8] ^= (char)(1 << bit % 8);
            g_assert_true(*got->str == '!' || strcmp(got->str, "one two one two three\n") == 0);
            errors += *got->str == '!';
        }
        g_assert_cmpuint(errors, >, n * 4);
    }
}

static void errors_say_what_is_wrong(void)
{
    char stored[1000];
    for (size_t i = 0; i < G_N_ELEMENTS(compressions); i++) {
        const struct Compression *by = &compressions[i];
        g_autofree char *wanted = g_strdup_printf("!: not a%s %s file; rename it if it is not compressed",
                                                  by->compress == compress_xz ? "n" : "", by->name);
        expect(by, "no such file", 12, wanted);
        if (by->compress == compress_xz)
            expect(by, "plain", 5, wanted);
    }
    size_t n = compress_gzip("one\n", 4, stored, sizeof stored);
    stored[n - 8] ^= 1; /* its checksum */
    g_autofree char *wanted = g_strdup_printf("!: damaged gzip data near byte %zu: incorrect data check", n - 4);
    expect(&compressions[0], stored, n, wanted);
    /* Blocks that ask for a dictionary of 4 GiB. */
    lzma_stream_flags flags = { .version = 0, .check = LZMA_CHECK_NONE };
    lzma_options_lzma large;
    g_assert_false(lzma_lzma_preset(&large, 0));
    large.dict_size = UINT32_MAX;
    lzma_block block = { .check = LZMA_CHECK_NONE,
                         .compressed_size = LZMA_VLI_UNKNOWN,
                         .uncompressed_size = LZMA_VLI_UNKNOWN };
    block.filters = (lzma_filter[]){ { LZMA_FILTER_LZMA2, &large }, { LZMA_VLI_UNKNOWN, NULL } };
    g_assert_cmpint(lzma_stream_header_encode(&flags, (uint8_t *)stored), ==, LZMA_OK);
    g_assert_cmpint(lzma_block_header_size(&block), ==, LZMA_OK);
    g_assert_cmpint(lzma_block_header_encode(&block, (uint8_t *)stored + LZMA_STREAM_HEADER_SIZE), ==, LZMA_OK);
    n = LZMA_STREAM_HEADER_SIZE + block.header_size;
    expect(&compressions[2], stored, n, "!: damaged xz data near byte 24: a dictionary of more than 2 GiB");
}

/* As `zstd --long=31` writes it from a pipe: a frame without size, whose window is 2 GiB, with one raw block. */
static void the_largest_window_of_zstd_is_read(void)
{
    static const char frame[] = "\x28\xb5\x2f\xfd\x00\xa8\x21\x00\x00text";
    expect(&compressions[1], frame, sizeof frame - 1, "text");
}

static void stems_have_no_suffix_of_a_compression(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(compressions); i++) {
        g_autofree char *stem = byte_stream_stem(compressions[i].file), *again = byte_stream_stem(stem);
        g_assert_cmpstr(stem, ==, "a.txt");
        g_assert_cmpstr(again, ==, "a.txt");
        g_autofree char *capitals = g_ascii_strup(compressions[i].file, -1), *shout = byte_stream_stem(capitals);
        g_assert_cmpstr(shout, ==, "A.TXT");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-stream-XXXXXX", NULL);
    g_assert_nonnull(folder);
    g_test_add_func("/byte_stream/every_format_gives_the_bytes_that_were_compressed",
                    every_format_gives_the_bytes_that_were_compressed);
    g_test_add_func("/byte_stream/a_file_that_is_cut_within_a_member_is_an_error",
                    a_file_that_is_cut_within_a_member_is_an_error);
    g_test_add_func("/byte_stream/nothing_may_stand_between_members_or_behind_the_last",
                    nothing_may_stand_between_members_or_behind_the_last);
    g_test_add_func("/byte_stream/a_changed_bit_is_an_error_or_changes_nothing",
                    a_changed_bit_is_an_error_or_changes_nothing);
    g_test_add_func("/byte_stream/errors_say_what_is_wrong", errors_say_what_is_wrong);
    g_test_add_func("/byte_stream/the_largest_window_of_zstd_is_read", the_largest_window_of_zstd_is_read);
    g_test_add_func("/byte_stream/stems_have_no_suffix_of_a_compression", stems_have_no_suffix_of_a_compression);
    const int failed = g_test_run();
    g_assert_true(io_remove_tree(folder, NULL));
    g_free(folder);
    return failed;
}
