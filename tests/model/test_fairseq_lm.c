/* Checkpoints of fairseq; transformers' XGLM is its transformer_lm under other names (tools/make-torch.py). */
#include "base/file.h"
#include "golden.h"
#include "model/fairseq_lm.h"
#include "model/hf/hf.h"

#include <string.h>

#define TORCH GOLDEN "torch/"
#define XGLM  LOAM_SOURCE_DIR "/tests/parity/xglm/model.safetensors"

static char *folder;

static void expect_same_file(const char *a, const char *b)
{
    g_autofree char *of_a = NULL, *of_b = NULL;
    size_t n_a = 0, n_b = 0;
    g_assert_true(g_file_get_contents(a, &of_a, &n_a, NULL) && g_file_get_contents(b, &of_b, &n_b, NULL));
    g_assert_cmpuint(n_a, ==, n_b);
    g_assert_true(memcmp(of_a, of_b, n_a) == 0);
}

static void a_transformer_lm_is_the_xglm_of_the_same_weights(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *out = g_build_filename(folder, "out", NULL);
    g_autofree char *tensors = g_build_filename(out, "model.safetensors", NULL);
    Device *dev = device_open_cpu(1);
    Model *model = fairseq_import(dev, TORCH "fairseq-lm.pt", &error);
    g_assert_no_error(error);
    const ModelConfig *config = model_config(model);
    g_assert_true(config->family == FAMILY_GPT && config->position == POSITION_SINUSOIDAL && config->scale_embedding);
    g_assert_true(config->final_norm && !config->post_norm && !config->tie_embeddings);
    g_assert_cmpint(config->heads, ==, 5);
    g_assert_cmpfloat(config->dropout, ==, 0.1);
    g_assert_true(hf_export(model, NULL, (HfForm){ .dtype = "F32" }, out, &error));
    model_close(model);
    device_close(dev);
    expect_same_file(tensors, XGLM);
}

static void expect_refused(const char *name, const char *words)
{
    g_autofree char *path = g_strconcat(TORCH, name, NULL);
    g_autoptr(GError) error = NULL;
    Device *dev = device_open_cpu(1);
    g_assert_null(fairseq_import(dev, path, &error));
    if (strstr(error->message, words) == NULL || strstr(error->message, path) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, words);
    device_close(dev);
}

static void other_files_are_told_for_what_they_are(void)
{
    expect_refused("fairseq.pt", "no checkpoint of a transformer_lm");
    expect_refused("zip.bin", "no checkpoint of a transformer_lm");
    expect_refused("tensors.safetensors", "");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-fairseq-XXXXXX", NULL);
    g_test_add_func("/fairseq_lm/a_transformer_lm_is_the_xglm_of_the_same_weights",
                    a_transformer_lm_is_the_xglm_of_the_same_weights);
    g_test_add_func("/fairseq_lm/other_files_are_told_for_what_they_are", other_files_are_told_for_what_they_are);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
