#include "model/tensor_names.h"

#include "base/file.h"
#include "golden.h"
#include "param/store.h"

#include <string.h>

#define CHECKPOINT GOLDEN "t5x/checkpoint"
#define REAL       SHARED "golden/t5x/test_t5_tiny.checkpoint_0"

static char *folder;

static double at(Model *model, const char *name, int64_t row, int64_t col)
{
    Tensor w = params_find(model_params(model), name)->w;
    return (double)((const float *)w.p)[row * w.ld + col];
}

static void expect_shape(const Model *model, int64_t vocab)
{
    const ModelConfig *config = model_config(model);
    g_assert_cmpint(config->width, ==, 8);
    g_assert_cmpint(config->heads, ==, 4);
    g_assert_cmpint(config->head_dim, ==, 3);
    g_assert_cmpint(config->n_enc, ==, 2);
    g_assert_cmpint(config->n_dec, ==, 2);
    g_assert_cmpint(config->vocab, ==, vocab);
    g_assert_true(config->gated && !config->tie_embeddings && !config->scale_logits);
}

/* Element (i, j) of the file's k-th array, (in, out), is k + i / 16 + j / 1024. */
static void expect_element(Model *model, const char *name, int64_t row, int64_t col, int k, int i, int j)
{
    g_assert_cmpfloat(at(model, name, row, col), ==, k + i / 16.0 + j / 1024.0);
}

static void shape_and_weights_are_the_file_s(void)
{
    g_autoptr(GError) error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = t5x_import(dev, CHECKPOINT, &error);
    g_assert_no_error(error);
    expect_shape(model, 64);
    g_assert_cmpint(params_count(model_params(model)), ==, 52);
    expect_element(model, "shared", 10, 3, 0, 10, 3);
    expect_element(model, "encoder.1.self.q", 5, 2, 13, 2, 5);
    expect_element(model, "decoder.relpos", 7, 3, 21, 3, 7);
    expect_element(model, "decoder.0.mlp.wo", 1, 15, 36, 15, 1);
    expect_element(model, "lm_head", 33, 6, 51, 6, 33);
    g_assert_cmpfloat(at(model, "decoder.1.cross.norm", 0, 4), ==, 1);
    model_close(model);
    device_close(dev);
}

static void a_checkpoint_of_t5x_itself_is_read(void)
{
    g_autoptr(GError) error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = t5x_import(dev, REAL, &error);
    g_assert_no_error(error);
    expect_shape(model, 32128);
    /* Read out of the file by another program, by its (in, out). */
    g_assert_cmpfloat_with_epsilon(at(model, "encoder.1.self.q", 5, 2), -0.10297972708940506, 1e-12);
    g_assert_cmpfloat_with_epsilon(at(model, "decoder.relpos", 7, 3), 0.04538596048951149, 1e-12);
    g_assert_cmpfloat_with_epsilon(at(model, "shared", 100, 3), 0.44061896204948425, 1e-12);
    g_assert_cmpfloat_with_epsilon(at(model, "lm_head", 77, 6), 0.4901539087295532, 1e-12);
    g_assert_cmpfloat_with_epsilon(at(model, "decoder.0.mlp.wo", 1, 15), -0.035387128591537476, 1e-12);
    model_close(model);
    device_close(dev);
}

/* The file with the first `from` behind "target" overwritten by as many bytes `to`. */
static void expect_refused(const char *from, const char *to, const char *words)
{
    g_autofree char *path = g_build_filename(folder, "checkpoint", NULL), *bytes = NULL;
    size_t n;
    g_assert_true(g_file_get_contents(CHECKPOINT, &bytes, &n, NULL));
    char *target = memmem(bytes, n, "target", 6);
    char *found = memmem(target, n - (size_t)(target - bytes), from, strlen(from));
    memcpy(found, to, strlen(to));
    g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
    g_autoptr(GError) error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_assert_null(t5x_import(dev, folder, &error)); /* the folder stands for its `checkpoint` */
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (strstr(error->message, words) == NULL || strstr(error->message, path) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, words);
    device_close(dev);
}

static void missing_and_misshapen_arrays_are_named(void)
{
    expect_refused("token_embedder", "tokenXembedder", "tensor optimizer/target/token_embedder/embedding is missing");
    expect_refused("logits_dense", "logits_dEnse",
                   "no place in this T5 for optimizer/target/decoder/logits_dEnse/kernel");
    expect_refused("decoder_norm", "decoder_nXrm", "tensor optimizer/target/decoder/decoder_norm/scale is missing");
    expect_refused(
        "\x92\x10\x08", "\x92\x08\x10",
        "tensor optimizer/target/decoder/layers_0/mlp/wo/kernel is (8, 16), but the other arrays make it (16, 8)");
    expect_refused(
        "\x92\x04\x20", "\x92\x20\x04", /* the decoder's: the encoder's tells the number of heads */
        "tensor optimizer/target/decoder/relpos_bias/rel_embedding is (32, 4), but the other arrays make it (4, 32)");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-t5x-XXXXXX", NULL);
    g_test_add_func("/t5x/shape_and_weights_are_the_file_s", shape_and_weights_are_the_file_s);
    add_where_present(REAL, "/t5x/a_checkpoint_of_t5x_itself_is_read", a_checkpoint_of_t5x_itself_is_read);
    g_test_add_func("/t5x/missing_and_misshapen_arrays_are_named", missing_and_misshapen_arrays_are_named);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
