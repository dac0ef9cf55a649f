/* Files of torch.save, made by tools/make-torch.py. */
#include "base/file.h"
#include "format/safetensors.h"
#include "format/tensor_file.h"
#include "golden.h"

#include <stdio.h>
#include <string.h>
#include <zip.h>

#define TORCH GOLDEN "torch/"

static char *folder;

static TensorFile *open_golden(const char *name)
{
    g_autofree char *path = g_strconcat(TORCH, name, NULL);
    g_autoptr(GError) error = NULL;
    TensorFile *file = weights_open(path, &error);
    g_assert_no_error(error);
    return file;
}

static void expect_same_tensor(const FileTensor *tensor, const FileTensor *wanted)
{
    g_assert_nonnull(tensor);
    g_assert_cmpstr(tensor->dtype, ==, wanted->dtype);
    g_assert_cmpint(tensor->rank, ==, wanted->rank);
    for (int i = 0; i < tensor->rank; i++)
        g_assert_cmpint(tensor->shape[i], ==, wanted->shape[i]);
    g_assert_cmpuint(tensor->bytes, ==, wanted->bytes);
    if (memcmp(tensor->data, wanted->data, wanted->bytes) != 0)
        g_error("%s differs", tensor->name);
}

/* Every type, layout in a storage, protocol and form gives the values that PyTorch itself wrote as safetensors. */
static void every_form_holds_the_same_tensors(gconstpointer name)
{
    g_autoptr(TensorFile) truth = open_golden("tensors.safetensors");
    g_autoptr(TensorFile) file = open_golden(name);
    g_assert_cmpint(tensor_file_count(file), ==, tensor_file_count(truth));
    for (int i = 0; i < tensor_file_count(truth); i++) {
        const FileTensor *wanted = tensor_file_get(truth, i);
        expect_same_tensor(tensor_file_find(file, wanted->name), wanted);
    }
    g_assert_true(tensor_file_find(file, "shared")->data == tensor_file_find(file, "f32")->data);
}

static void names_join_keys_and_options_are_metadata(gconstpointer name)
{
    static const char *const settings[][2] = {
        { "args/arch", "transformer_lm" },
        { "args/decoder_layers", "2" },
        { "args/dropout", "0.10000000000000001" },
        { "args/tied", "true" },
        { "args/no_such", NULL },
        { "args/path", NULL },
        { "epochs/1", "2" },
        { "optimizer_history/0/criterion_name", "CrossEntropyCriterion" },
        { "others/real", "-0.5" },
        { "others/big", NULL },
    };
    g_autoptr(TensorFile) file = open_golden(name);
    g_assert_cmpint(tensor_file_count(file), ==, 3);
    g_assert_cmpstr(tensor_file_get(file, 0)->name, ==, "model/decoder.version");
    g_assert_cmpstr(tensor_file_get(file, 1)->name, ==, "model/decoder.embed_tokens.weight");
    g_assert_cmpstr(tensor_file_get(file, 2)->name, ==, "last_optimizer_state/state/0/exp_avg");
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++)
        g_assert_cmpstr(tensor_file_metadata(file, settings[i][0]), ==, settings[i][1]);
}

static void expect_recognised(const char *start, size_t n, bool wanted)
{
    g_autofree char *path = g_build_filename(folder, "start.bin", NULL);
    g_assert_true(g_file_set_contents(path, start, (gssize)n, NULL));
    g_assert_true(torch_recognises(path) == wanted);
}

/* The first 8 bytes of a safetensors file are the length of its header: one of 640 bytes starts with 0x80 0x02. */
static void every_protocol_is_recognised_and_no_safetensors(void)
{
    expect_recognised("PK\003\004", 4, true);
    expect_recognised("\x80\x02\x8a\x0a\x6c\xfc", 6, true);
    expect_recognised("\x80\x03\x8a\x0a\x6c\xfc", 6, true);
    expect_recognised("\x80\x04\x95\x0d\x00\x00", 6, true);
    expect_recognised("\x80\x05\x95\x0d\x00\x00", 6, true);
    expect_recognised("\x80\x02\x00\x00\x00\x00\x00\x00{", 9, false);
    expect_recognised("\x80\x04\x00\x00\x00\x00\x00\x00{", 9, false);
    expect_recognised("\x80", 1, false);
}

/* ---- files that are not as torch.save writes them ---- */

static void expect_refused(const char *bytes, size_t n, const char *words)
{
    g_autofree char *path = g_build_filename(folder, "bad.bin", NULL);
    FILE *out = fopen(path, "wb");
    g_assert_true(out && fwrite(bytes, 1, n, out) == n && fclose(out) == 0);
    g_autoptr(GError) error = NULL;
    g_assert_null(torch_open(path, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (strstr(error->message, words) == NULL || strstr(error->message, path) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, words);
}

static void every_cut_is_an_error(gconstpointer name)
{
    g_autofree char *path = g_strconcat(TORCH, name, NULL), *bytes = NULL;
    size_t n;
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    for (size_t cut = 0; cut < n; cut += 23)
        expect_refused(bytes, cut, cut >= 4 && bytes[0] == 'P' ? "it was cut, or is no file of torch.save" : "");
}

/* A file of the older form with `from` overwritten by as many bytes `to`. */
static void expect_patch_refused(const char *from, const char *to, size_t n_patch, const char *words)
{
    g_autofree char *bytes = NULL;
    size_t n;
    g_assert_true(g_file_get_contents(TORCH "older.bin", &bytes, &n, NULL));
    char *found = memmem(bytes, n, from, n_patch);
    g_assert_nonnull(found);
    memcpy(found, to, n_patch);
    expect_refused(bytes, n, words);
}

static void tensors_beyond_their_storage_are_refused(void)
{
    expect_refused("", 0, "it is empty");
    expect_refused("\x80\x02K\x01.", 5, "a pickle, but none that torch.save wrote");
    expect_patch_refused("M\xe9\x03.", "M\xea\x03.", 4, "its version is not 1001");
    expect_patch_refused("little_endianq\x02\x88", "little_endianq\x02\x89", 16, "little-endian machine");
    /* f32: shape (2, 3, 4) at element 0 of 24. */
    expect_patch_refused("K\x00K\x02K\x03K\x04\x87", "K\x01K\x02K\x03K\x04\x87", 9,
                         "tensor f32 reaches beyond its storage");
    expect_patch_refused("K\x00K\x02K\x03K\x04\x87", "K\x00K\x02K\x04K\x04\x87", 9,
                         "tensor f32 reaches beyond its storage");
    expect_patch_refused("K\x00K\x02K\x03K\x04\x87", "K\x00K\x02K\x03K\x04\x86", 9,
                         "not of the form that torch.save writes");
    expect_patch_refused("torch\nFloatStorage", "torch\nFloatstorage", 18, "of a class that cannot be read");
}

/* 2^62 + 1 elements of 4 bytes are 4 bytes modulo 2^64, and a stride of 0 keeps all of them within the storage. */
static void a_tensor_whose_bytes_overflow_is_refused(void)
{
    static const char file[] =
        "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}U\x0dlittle_endian\x88s."
        "\x80\x02}U\x01tctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\nU\x01kU\x03"
        "cpuK\x01tQK\x00\x8a\x08\x01\x00\x00\x00\x00\x00\x00\x40\x85K\x00\x85\x89}tRs.\x80\x02]U\x01ka."
        "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x3f";
    expect_refused(file, sizeof file - 1, "tensor t reaches beyond its storage");
}

/* A zip of one entry. */
static void write_zip(const char *path, const char *name, const void *data, size_t bytes, zip_int32_t method)
{
    int problem;
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &problem);
    g_assert_nonnull(zip);
    zip_source_t *source = zip_source_buffer(zip, data, bytes, 0);
    zip_int64_t index = zip_file_add(zip, name, source, 0);
    g_assert_cmpint(index, >=, 0);
    g_assert_cmpint(zip_set_file_compression(zip, (zip_uint64_t)index, method, 0), ==, 0);
    g_assert_cmpint(zip_close(zip), ==, 0);
}

static void expect_zip_refused(const char *name, const void *data, size_t bytes, zip_int32_t method, const char *words)
{
    g_autofree char *path = g_build_filename(folder, "bad.zip", NULL), *zip = NULL;
    size_t n;
    write_zip(path, name, data, bytes, method);
    g_assert_true(g_file_get_contents(path, &zip, &n, NULL));
    expect_refused(zip, n, words);
}

static void zips_of_others_are_refused(void)
{
    g_autofree char *zeros = g_malloc0(1 << 16);
    expect_zip_refused("a/model.txt", "x", 1, ZIP_CM_STORE, "it has no data.pkl");
    expect_zip_refused("a/data.pkl", zeros, 1 << 16, ZIP_CM_DEFLATE, "it is compressed");
    expect_zip_refused("a/data.pkl", "\x80\x02.", 3, ZIP_CM_STORE, "byte 2 of its pickle");
    g_autofree char *bytes = NULL;
    size_t n;
    g_assert_true(g_file_get_contents(TORCH "zip.bin", &bytes, &n, NULL));
    char *found = memmem(bytes, n, "collections", 11);
    found[0] = 'C';
    expect_refused(bytes, n, "CRC");
}

/* A view of a conjugated complex tensor's imaginary part: the storage has the elements with the other sign. */
static void a_tensor_of_negated_elements_is_refused(void)
{
    static const char pickle[] = "\x80\x02}U\x01tctorch._utils\n_rebuild_tensor_v2\n((U\x07storage"
                                 "ctorch\nFloatStorage\nU\x01kU\x03"
                                 "cpuK\x01tQK\x00K\x01\x85K\x01\x85\x89}}U\x03neg\x88stRs.";
    expect_zip_refused("a/data.pkl", pickle, sizeof pickle - 1, ZIP_CM_STORE, "tensor t has its elements negated");
}

/* Each value of a list of lists is reached by many paths. */
static void a_tree_of_many_paths_ends(void)
{
    GString *pickle = g_string_new_len("\x80\x02]q\x00", 5);
    for (int i = 0; i < 40; i++) /* [before, before] */
        g_string_append_len(pickle, "2\x86", 2);
    g_string_append_c(pickle, '.');
    expect_zip_refused("a/data.pkl", pickle->str, pickle->len, ZIP_CM_STORE, "more than 1048576 values");
    g_string_free(pickle, TRUE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-torch-XXXXXX", NULL);
    static const char *const forms[] = { "zip.bin", "protocol-4.bin", "protocol-5.bin", "older.bin" };
    static const char *const checkpoints[] = { "fairseq.pt", "fairseq-older.pt" };
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        g_autofree char *name = g_strdup_printf("/torch_file/every_form_holds_the_same_tensors/%s", forms[i]);
        g_test_add_data_func(name, forms[i], every_form_holds_the_same_tensors);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(checkpoints); i++) {
        g_autofree char *name = g_strdup_printf("/torch_file/names_join_keys/%s", checkpoints[i]);
        g_autofree char *cut = g_strdup_printf("/torch_file/every_cut_is_an_error/%s", checkpoints[i]);
        g_test_add_data_func(name, checkpoints[i], names_join_keys_and_options_are_metadata);
        g_test_add_data_func(cut, checkpoints[i], every_cut_is_an_error);
    }
    g_test_add_func("/torch_file/every_protocol_is_recognised_and_no_safetensors",
                    every_protocol_is_recognised_and_no_safetensors);
    g_test_add_func("/torch_file/tensors_beyond_their_storage_are_refused", tensors_beyond_their_storage_are_refused);
    g_test_add_func("/torch_file/a_tensor_whose_bytes_overflow_is_refused", a_tensor_whose_bytes_overflow_is_refused);
    g_test_add_func("/torch_file/zips_of_others_are_refused", zips_of_others_are_refused);
    g_test_add_func("/torch_file/a_tensor_of_negated_elements_is_refused", a_tensor_of_negated_elements_is_refused);
    g_test_add_func("/torch_file/a_tree_of_many_paths_ends", a_tree_of_many_paths_ends);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
