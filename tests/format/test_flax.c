#include "base/file.h"
#include "format/tensor_file.h"

#include <string.h>

static char *path;

/* {"a": {"w": float32 array (2, 1) of 1 and 2, "step": 300}} */
#define SMALL                                                                                                          \
    "\x81\xa1"                                                                                                         \
    "a\x82\xa1w\xc7\x16\x01\x93\x92\x02\x01\xa7"                                                                       \
    "float32\xc4\x08\0\0\x80\x3f\0\0\0\x40\xa4step\xcd\x01\x2c"
enum { ARRAY_AT = 10, SMALL_BYTES = sizeof SMALL - 1 };

static TensorFile *open_bytes(const char *bytes, size_t n, GHashTable **others, GError **error)
{
    g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
    return flax_open(path, others, error);
}

static void names_join_the_keys(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) others = NULL;
    g_autoptr(TensorFile) file = open_bytes(SMALL, SMALL_BYTES, &others, &error);
    g_assert_no_error(error);
    g_assert_cmpint(tensor_file_count(file), ==, 1);
    const FileTensor *array = tensor_file_find(file, "a/w");
    g_assert_nonnull(array);
    g_assert_cmpstr(array->dtype, ==, "F32");
    g_assert_cmpint(array->rank, ==, 2);
    g_assert_cmpint(array->shape[0], ==, 2);
    float out[2];
    g_assert_true(file_tensor_read_f32(array, 0, 2, out, NULL));
    g_assert_cmpfloat(out[0], ==, 1);
    g_assert_cmpfloat(out[1], ==, 2);
    g_assert_true(g_hash_table_contains(others, "a/step"));
    g_assert_cmpuint(g_hash_table_size(others), ==, 1);
}

static void expect_refused(const char *bytes, size_t n, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(open_bytes(bytes, n, NULL, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (strstr(error->message, words) == NULL || strstr(error->message, path) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, words);
}

/* SMALL with one byte changed. */
static void expect_patch_refused(size_t at, int byte, const char *words)
{
    char bytes[SMALL_BYTES];
    memcpy(bytes, SMALL, SMALL_BYTES);
    bytes[at] = (char)byte;
    expect_refused(bytes, SMALL_BYTES, words);
}

static void every_cut_is_an_error(void)
{
    for (size_t n = 0; n < SMALL_BYTES; n++)
        expect_refused(SMALL, n, "it ends in the middle of");
}

static void refuses_what_is_no_checkpoint(void)
{
    expect_refused("\x80", 1, "it holds no arrays");
    expect_refused(SMALL "x", SMALL_BYTES + 1, "1 bytes follow its one value");
    expect_refused("\xc1", 1, "byte 0xc1 begins no value");
    expect_patch_refused(2, 0xff, "a key that is not UTF-8");
    expect_patch_refused(1, 0x01, "no key where one should be");
    expect_patch_refused(ARRAY_AT - 1, 0x92, "a/w is not an array of numpy's");
    expect_patch_refused(ARRAY_AT, 0x99, "a/w has 9 dimensions");
    expect_patch_refused(ARRAY_AT + 1, 0xff, "a/w has an impossible shape");
    expect_patch_refused(ARRAY_AT + 1, 3, "a/w has 8 bytes, which its shape does not give");
    expect_patch_refused(ARRAY_AT + 4, 'g', "a/w is of type gloat32");
    expect_refused("\x82\xa1"
                   "a\xc7\x0d\x01\x93\x91\x00\xa7"
                   "float32\xc4\0\xa1"
                   "a\xc7\x0d\x01\x93\x91\x00\xa7"
                   "float32\xc4\0",
                   37, "a occurs twice");
    char deep[100];
    memset(deep, 0x91, sizeof deep);
    expect_refused(deep, sizeof deep, "maps are nested more than 64 deep");
}

static void long_names_and_many_leaves_are_bounded(void)
{
    g_autoptr(GString) name = g_string_new("\x81\xd9\xff");
    for (int i = 0; i < 255; i++)
        g_string_append_c(name, 'k');
    g_string_append(name, "\x81\xa1x\x01");
    expect_refused(name->str, name->len, "a name is longer than 256 bytes");
    g_autoptr(GString) many = g_string_new_len("\xdd\x00\x04\x00\x01", 5);
    for (int i = 0; i <= 1 << 18; i++)
        g_string_append_c(many, 1);
    expect_refused(many->str, many->len, "it has more than 262144 leaves");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *folder = g_dir_make_tmp("loam-flax-XXXXXX", NULL);
    path = g_build_filename(folder, "checkpoint", NULL);
    g_test_add_func("/flax/names_join_the_keys", names_join_the_keys);
    g_test_add_func("/flax/every_cut_is_an_error", every_cut_is_an_error);
    g_test_add_func("/flax/refuses_what_is_no_checkpoint", refuses_what_is_no_checkpoint);
    g_test_add_func("/flax/long_names_and_many_leaves_are_bounded", long_names_and_many_leaves_are_bounded);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(path);
    return status;
}
