#include "model/hf.h"

#include "base/check.h"
#include "base/log.h"
#include "format/safetensors.h"
#include "model/hf_config.h"

#include <string.h>

/* Tensors that files of some years carry besides: copies of the embedding, and a table that no layer reads. */
static const char *const passed_over[] = {
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
    NULL,
};

static char *shape_text(int rank, const int64_t *shape)
{
    GString *text = g_string_new("(");
    for (int i = 0; i < rank; i++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i ? ", " : "", shape[i]);
    g_string_append_c(text, ')');
    return g_string_free(text, FALSE);
}

static bool shape_matches(const SafeTensor *theirs, Tensor ours, GError **error)
{
    bool same = theirs->rank == ours.rank;
    for (int i = 0; same && i < ours.rank; i++)
        same = theirs->shape[i] == ours.d[i];
    if (same)
        return true;
    g_autofree char *found = shape_text(theirs->rank, theirs->shape), *wanted = shape_text(ours.rank, ours.d);
    return fail_user(error, "tensor %s is %s, but config.json makes it %s", theirs->name, found, wanted);
}

static const SafeTensor *find_tensor(const SafeTensors *file, const Param *param)
{
    g_autofree char *name = hf_tensor_name(param->spec.name);
    return safetensors_find(file, name);
}

/* Every parameter has its tensor, of its shape. */
static bool check_present(const SafeTensors *file, ParamStore *params, GHashTable *wanted, GError **error)
{
    for (int i = 0; i < params_count(params); i++) {
        const Param *param = params_get(params, i);
        char *name = hf_tensor_name(param->spec.name);
        g_hash_table_add(wanted, name);
        const SafeTensor *tensor = safetensors_find(file, name);
        if (tensor == NULL)
            return fail_user(error, "tensor %s is missing", name);
        if (!shape_matches(tensor, param->w, error))
            return false;
    }
    return true;
}

/* Nothing else is in the file. */
static bool check_expected(const SafeTensors *file, const ModelConfig *config, GHashTable *wanted, GError **error)
{
    g_autoptr(GString) unexpected = g_string_new(NULL);
    int n = 0;
    for (int i = 0; i < safetensors_count(file); i++) {
        const char *name = safetensors_get(file, i)->name;
        if (g_hash_table_contains(wanted, name) || g_strv_contains(passed_over, name) ||
            (config->tie_embeddings && strcmp(name, "lm_head.weight") == 0))
            continue;
        if (n++ < 4)
            g_string_append_printf(unexpected, "%s%s", n > 1 ? ", " : "", name);
    }
    if (n > 4)
        g_string_append_printf(unexpected, " and %d more", n - 4);
    return n == 0 || fail_user(error, "no place in a T5 of this config.json for %s", unexpected->str);
}

/* Logits come from the embedding unless the file holds another matrix for them. */
static bool file_is_tied(const SafeTensors *file)
{
    const SafeTensor *head = safetensors_find(file, "lm_head.weight"),
                     *shared = safetensors_find(file, "shared.weight");
    return head == NULL || (shared && strcmp(head->dtype, shared->dtype) == 0 && head->bytes == shared->bytes &&
                            memcmp(head->data, shared->data, head->bytes) == 0);
}

/* Checked on a model of the null device, so that nothing is allocated for sizes that the file does not bear out. */
static bool check_tensors(const SafeTensors *file, const ModelConfig *config, GError **error)
{
    Device *null = device_open_null();
    Model *shapes = model_open(null, config, false, error);
    g_autoptr(GHashTable) wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bool done = shapes && check_present(file, model_params(shapes), wanted, error) &&
                check_expected(file, config, wanted, error);
    if (shapes)
        model_close(shapes);
    device_close(null);
    return done;
}

static bool read_tensor(Device *dev, Tensor w, const SafeTensor *tensor, GError **error)
{
    CHECK(w.ld == tensor_cols(w), "%s: rows %lld apart", tensor->name, (long long)w.ld);
    if (w.dtype == DT_F32)
        return safetensors_read_f32(tensor, 0, tensor_count(w), w.p, error);
    float *values = g_new(float, (gsize)tensor_count(w));
    Tensor host = w;
    host.p = values;
    host.dtype = DT_F32;
    bool done = safetensors_read_f32(tensor, 0, tensor_count(w), values, error);
    if (done)
        op_copy(dev, w, host);
    g_free(values);
    return done;
}

static Model *import_tensors(Device *dev, const SafeTensors *file, const ModelConfig *config, bool gradients,
                             GError **error)
{
    if (!check_tensors(file, config, error))
        return NULL;
    Model *model = model_open(dev, config, gradients, error);
    ParamStore *params = model ? model_params(model) : NULL;
    for (int i = 0; model && i < params_count(params); i++) {
        Param *param = params_get(params, i);
        if (!read_tensor(dev, param->w, find_tensor(file, param), error)) {
            model_close(model);
            return NULL;
        }
    }
    return model;
}

static SafeTensors *open_tensors(const char *folder, GError **error)
{
    SafeTensors *file = safetensors_open_folder(folder, error);
    g_autofree char *pickled = g_build_filename(folder, "pytorch_model.bin", NULL);
    if (file == NULL && g_file_test(pickled, G_FILE_TEST_EXISTS))
        fail_context(error,
                     "%s is a pickle, which loam does not read; save it once more with transformers' "
                     "save_pretrained, which writes safetensors",
                     pickled);
    return file;
}

Model *hf_import(Device *dev, const char *folder, bool gradients, GError **error)
{
    ModelConfig config = { 0 };
    if (!hf_config_read(folder, &config, error))
        return NULL;
    SafeTensors *file = open_tensors(folder, error);
    if (file == NULL)
        return NULL;
    config.tie_embeddings = file_is_tied(file);
    Model *model = import_tensors(dev, file, &config, gradients, error);
    safetensors_close(file);
    if (model == NULL) {
        fail_context(error, "%s", folder);
        return NULL;
    }
    g_autofree char *spiece = g_build_filename(folder, "spiece.model", NULL);
    if (!g_file_test(spiece, G_FILE_TEST_EXISTS))
        log_warning("%s has no spiece.model: weights only; texts need tokenizer.path", folder);
    return model;
}
