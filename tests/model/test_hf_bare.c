/* Folders of models without their heads, as the bare classes of transformers write them. */
#include "base/file.h"
#include "format/safetensors.h"
#include "model/hf/hf.h"
#include "param/store.h"

#include <string.h>

#define FIXTURES LOAM_SOURCE_DIR "/tests/parity/"

static char *scratch;

static Model *import(Device *dev, const char *folder)
{
    GError *error = NULL;
    Model *model = hf_import(dev, folder, false, &error);
    g_assert_no_error(error);
    return model;
}

static char *config_of(const char *folder)
{
    GError *error = NULL;
    g_autofree char *path = g_build_filename(folder, "config.json", NULL);
    char *text = io_read_file(path, 1 << 20, NULL, &error);
    g_assert_no_error(error);
    return text;
}

/* A model without its heads, as the bare classes of transformers save it. */
typedef struct Bare {
    const char *fixture;
    const char *kept[2];  /* names that begin like this */
    const char *stripped; /* of them */
    const char *left_out; /* names that hold this, or NULL */
    const char *class;
} Bare;

static bool is_kept(const Bare *bare, const char *name)
{
    bool kept = g_str_has_prefix(name, bare->kept[0]) || (bare->kept[1] && g_str_has_prefix(name, bare->kept[1]));
    return kept && !(bare->left_out && strstr(name, bare->left_out));
}

static void write_bare(const Bare *bare, const char *folder)
{
    GError *error = NULL;
    g_autofree char *source = g_build_filename(FIXTURES, bare->fixture, NULL);
    g_autofree char *tensors = g_build_filename(source, "model.safetensors", NULL);
    g_autofree char *path = g_build_filename(folder, "model.safetensors", NULL);
    g_autofree char *config = config_of(source), *config_path = g_build_filename(folder, "config.json", NULL);
    io_make_directories(folder, &error);
    io_write_file(config_path, config, strlen(config), &error);
    TensorFile *file = safetensors_open(tensors, &error);
    g_assert_no_error(error);
    SafeWriter *writer = safetensors_writer_new();
    for (int i = 0; i < tensor_file_count(file); i++) {
        const FileTensor *t = tensor_file_get(file, i);
        if (is_kept(bare, t->name))
            safetensors_writer_add(writer, t->name + strlen(bare->stripped), t->dtype, t->rank, t->shape, t->data);
    }
    safetensors_writer_write(writer, path, &error);
    g_assert_no_error(error);
    safetensors_writer_free(writer);
    tensor_file_close(file);
}

static void assert_same_parameters(Model *a, Model *b)
{
    g_assert_cmpint(params_count(model_params(a)), ==, params_count(model_params(b)));
    for (int i = 0; i < params_count(model_params(a)); i++) {
        const Param *x = params_get(model_params(a), i), *y = params_get(model_params(b), i);
        g_assert_cmpstr(x->spec.name, ==, y->spec.name);
        g_assert_cmpint(tensor_count(x->w), ==, tensor_count(y->w));
        g_assert_true(memcmp(x->w.p, y->w.p, (size_t)tensor_count(x->w) * sizeof(float)) == 0);
    }
}

static void bare_models_come_and_go(void)
{
    static const Bare cases[] = {
        { "bert", { "bert." }, "bert.", NULL, "\"BertModel\"" },
        { "bert", { "bert." }, "bert.", "pooler", "\"BertModel\"" },
        { "roberta", { "roberta." }, "roberta.", NULL, "\"RobertaModel\"" },
        { "modernbert", { "model." }, "model.", NULL, "\"ModernBertModel\"" },
        { "t5-v1.0", { "encoder.", "shared." }, "", NULL, "\"T5EncoderModel\"" },
        { "t5-v1.1", { "encoder.", "shared." }, "", NULL, "\"T5EncoderModel\"" },
        { "umt5", { "encoder.", "shared." }, "", NULL, "\"UMT5EncoderModel\"" },
    };
    Device *dev = device_open_cpu(1);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strdup_printf("bare-%zu", i), *out_name = g_strdup_printf("bare-%zu-out", i);
        g_autofree char *folder = g_build_filename(scratch, name, NULL);
        g_autofree char *out = g_build_filename(scratch, out_name, NULL);
        write_bare(&cases[i], folder);
        Model *model = import(dev, folder);
        const ModelConfig *config = model_config(model);
        g_assert_true(config->n_dec == 0 && config->tie_embeddings);
        g_assert_false(config->sentence_head || config->head_transform || config->head_bias);
        GError *error = NULL;
        hf_export(model, NULL, (HfForm){ .dtype = "F32" }, out, &error);
        g_assert_no_error(error);
        g_autofree char *text = config_of(out);
        g_assert_nonnull(strstr(text, cases[i].class));
        Model *again = import(dev, out);
        assert_same_parameters(model, again);
        model_close(again);
        model_close(model);
    }
    device_close(dev);
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    g_test_init(&argc, &argv, NULL);
    scratch = g_dir_make_tmp("loam-bare-XXXXXX", &error);
    g_assert_no_error(error);
    g_test_add_func("/hf_bare/models_come_and_go", bare_models_come_and_go);
    int status = g_test_run();
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
