/* Folders with pytorch_model.bin in place of model.safetensors; the files are made by tools/make-torch.py. */
#include "base/file.h"
#include "golden.h"
#include "model/hf/hf.h"

#include <string.h>

#define FIXTURES LOAM_SOURCE_DIR "/tests/parity/"
#define TORCH    GOLDEN "torch/"

static char *scratch;

static char *read_file(const char *folder, const char *name, size_t *bytes)
{
    GError *error = NULL;
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text = io_read_file(path, 1 << 20, bytes, &error);
    g_assert_no_error(error);
    return text;
}

static void copy_file(const char *from, const char *name, const char *to, const char *new_name)
{
    GError *error = NULL;
    size_t bytes;
    g_autofree char *text = read_file(from, name, &bytes), *path = g_build_filename(to, new_name, NULL);
    io_make_directories(to, &error);
    io_write_file(path, text, bytes, &error);
    g_assert_no_error(error);
}

typedef struct Case {
    const char *files[3]; /* of tests/golden/torch; one alone becomes pytorch_model.bin */
    const char *config;   /* a folder of tests/parity, whose config.json goes along */
    const char *same;     /* the folder whose model.safetensors the imported model is exported as */
} Case;

/* The older form; a zip with copies of the embedding, beside an optimizer; shards with BERT's names of old. */
static const Case cases[] = {
    { { "gpt2-hub.bin" }, "gpt2-hub", "gpt2" },
    { { "umt5.bin" }, "umt5", "umt5" },
    { { "pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin" },
      "bert-hub",
      "bert" },
};

static void a_torch_file_is_the_model_of_its_safetensors(gconstpointer data)
{
    const Case *c = data;
    g_autofree char *folder = g_build_filename(scratch, c->config, NULL), *out = g_strconcat(folder, "-out", NULL);
    g_autofree char *config = g_build_filename(FIXTURES, c->config, NULL);
    g_autofree char *same = g_build_filename(FIXTURES, c->same, NULL);
    copy_file(config, "config.json", folder, "config.json");
    for (size_t i = 0; i < G_N_ELEMENTS(c->files) && c->files[i]; i++)
        copy_file(TORCH, c->files[i], folder, c->files[1] ? c->files[i] : "pytorch_model.bin");
    g_autoptr(GError) error = NULL;
    Device *dev = device_open_cpu(1);
    Model *model = hf_import(dev, folder, false, &error);
    g_assert_no_error(error);
    g_assert_true(hf_export(model, NULL, (HfForm){ .dtype = "F32" }, out, &error));
    model_close(model);
    device_close(dev);

    size_t n, n_same;
    g_autofree char *ours = read_file(out, "model.safetensors", &n);
    g_autofree char *theirs = read_file(same, "model.safetensors", &n_same);
    g_assert_cmpuint(n, ==, n_same);
    g_assert_true(memcmp(ours, theirs, n) == 0);
}

static void a_file_that_is_no_model_is_named(void)
{
    g_autofree char *folder = g_build_filename(scratch, "fairseq", NULL);
    copy_file(FIXTURES "gpt2", "config.json", folder, "config.json");
    copy_file(TORCH, "fairseq.pt", folder, "pytorch_model.bin");
    g_autoptr(GError) error = NULL;
    Device *dev = device_open_cpu(1);
    g_assert_null(hf_import(dev, folder, false, &error));
    g_assert_nonnull(strstr(error->message, "tensor transformer.wte.weight is missing"));
    device_close(dev);
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    g_test_init(&argc, &argv, NULL);
    scratch = g_dir_make_tmp("loam-torch-XXXXXX", &error);
    g_assert_no_error(error);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name =
            g_strconcat("/hf_torch/a_torch_file_is_the_model_of_its_safetensors/", cases[i].same, NULL);
        g_test_add_data_func(name, &cases[i], a_torch_file_is_the_model_of_its_safetensors);
    }
    g_test_add_func("/hf_torch/a_file_that_is_no_model_is_named", a_file_that_is_no_model_is_named);
    int status = g_test_run();
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
