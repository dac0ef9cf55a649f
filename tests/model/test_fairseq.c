/* Checkpoints of fairseq; transformers' XGLM is its transformer_lm under other names (tools/make-torch.py). The logits
 * of AST-T5's model are those of tools/make-ast-t5.py. */
#include "base/file.h"
#include "golden.h"
#include "model/expected.h"
#include "model/hf/hf.h"
#include "model/tensor_names.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define TORCH GOLDEN "torch/"
#define AST   GOLDEN "ast-t5/"
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
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
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

static int64_t read_ids(const json_t *array, int32_t *ids)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(array, i));
    return (int64_t)json_array_size(array);
}

static void the_logits_of_ast_t5_are_those_of_its_formulas(void)
{
    enum { LONGEST = 40 };
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = fairseq_import(dev, AST "checkpoint.pt", &error);
    g_assert_no_error(error);
    const ModelConfig *config = model_config(model);
    const TokenRoles *roles = model_roles(model);
    g_assert_true(config->post_norm && config->embed_norm && config->tie_embeddings && config->rel_encoder_only);
    g_assert_cmpint(config->max_positions, ==, 40);
    g_assert_cmpint(config->rel_max_distance, ==, 23);
    g_assert_cmpint(roles->decoder_start, ==, config->vocab - 9);
    g_assert_cmpint(roles->eos.n, ==, 2);
    json_t *root = json_load_file(AST "batch.json", 0, NULL), *samples = json_object_get(root, "samples");
    Batch *batch = batch_new((int32_t)json_array_size(samples), LONGEST, LONGEST);
    for (size_t i = 0; i < json_array_size(samples); i++) {
        int32_t inputs[LONGEST], targets[LONGEST];
        const json_t *sample = json_array_get(samples, i);
        int64_t n_inputs = read_ids(json_object_get(sample, "input_ids"), inputs),
                n_targets = read_ids(json_object_get(sample, "target_ids"), targets);
        batch_add(batch, (int64_t)i, inputs, n_inputs, targets, n_targets, roles->decoder_start);
    }
    const ModelLoss forward = { 0 };
    model_reserve(model, batch->dec.max_seq, LONGEST, LONGEST, &forward, NULL, &error);
    g_assert_no_error(error);
    int64_t n = batch->dec.n_tokens * config->vocab;
    g_autofree float *logits = g_new(float, (gsize)(batch->dec.max_tokens * config->vocab));
    TensorFile *expected = safetensors_open(AST "expected.safetensors", &error);
    g_assert_no_error(error);
    g_autofree float *truth = read_expected(expected, "logits", n);
    double away = 0;
    model_logits(model, batch, logits);
    for (int64_t i = 0; i < n; i++)
        away = fmax(away, fabs((double)logits[i] - (double)truth[i]));
    g_test_message("logits %.1e from the truth", away);
    g_assert_cmpfloat(away, <, 2e-5);
    json_decref(root);
    batch_free(batch);
    tensor_file_close(expected);
    model_close(model);
    device_close(dev);
}

static void expect_refused(const char *name, const char *words)
{
    g_autofree char *path = g_strconcat(TORCH, name, NULL);
    g_autoptr(GError) error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
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
    g_test_add_func("/fairseq_t5/the_logits_of_ast_t5_are_those_of_its_formulas",
                    the_logits_of_ast_t5_are_those_of_its_formulas);
    g_test_add_func("/fairseq_lm/other_files_are_told_for_what_they_are", other_files_are_told_for_what_they_are);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
