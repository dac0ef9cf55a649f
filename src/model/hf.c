#include "model/hf.h"

#include "base/check.h"
#include "base/log.h"
#include "model/hf_config.h"
#include "model/hf_roles.h"
#include "model/hf_tensors.h"

#include <string.h>

static char *shape_text(int rank, const int64_t *shape)
{
    GString *text = g_string_new("(");
    for (int i = 0; i < rank; i++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i ? ", " : "", shape[i]);
    g_string_append_c(text, ')');
    return g_string_free(text, FALSE);
}

static bool shape_matches(const SafeTensor *theirs, int rank, const int64_t *shape, GError **error)
{
    if (theirs->rank == rank && memcmp(theirs->shape, shape, sizeof *shape * (size_t)rank) == 0)
        return true;
    g_autofree char *found = shape_text(theirs->rank, theirs->shape), *wanted = shape_text(rank, shape);
    return fail_user(error, "tensor %s is %s, but config.json makes it %s", theirs->name, found, wanted);
}

/* An opened folder: its tensors by the names that its kind of model gives them. */
typedef struct Source {
    const HfKind *kind;
    SafeTensors *file;
    GHashTable *tensors;
    bool says_untied; /* config.json does: the logits have a matrix of their own */
} Source;

/* Every parameter has its tensor, of its shape. */
static bool check_present(const Source *source, ParamStore *params, GHashTable *wanted, GError **error)
{
    for (int i = 0; i < params_count(params); i++) {
        const ParamSpec *spec = params_spec(params, i);
        char *theirs;
        int64_t shape[2];
        const HfName *name = hf_name_of(source->kind, spec->name, &theirs);
        g_hash_table_add(wanted, theirs);
        const SafeTensor *tensor = g_hash_table_lookup(source->tensors, theirs);
        if (tensor == NULL)
            return fail_user(error, "tensor %s is missing", theirs);
        if (!shape_matches(tensor, hf_shape_of(name, spec, shape), shape, error))
            return false;
    }
    return true;
}

/* The name of a parameter's tensor, or NULL where this kind of model never has one. g_free. */
static char *name_in_table(const HfKind *kind, const char *ours)
{
    for (size_t i = 0; i < kind->n_names; i++)
        if (strcmp(kind->names[i].ours, ours) == 0)
            return g_strdup(kind->names[i].theirs);
    return NULL;
}

/* Nothing else is in the file. */
static bool check_expected(const Source *source, const ModelConfig *config, GHashTable *wanted, GError **error)
{
    g_autofree char *head = name_in_table(source->kind, "lm_head");
    g_autoptr(GString) unexpected = g_string_new(NULL);
    int n = 0;
    g_autoptr(GList) found = g_list_sort(g_hash_table_get_keys(source->tensors), (GCompareFunc)strcmp);
    for (const GList *link = found; link; link = link->next) {
        const char *name = link->data;
        if (g_hash_table_contains(wanted, name) || hf_passed_over(source->kind, name) ||
            (config->tie_embeddings && g_strcmp0(name, head) == 0))
            continue;
        if (n++ < 4)
            g_string_append_printf(unexpected, "%s%s", n > 1 ? ", " : "", name);
    }
    if (n > 4)
        g_string_append_printf(unexpected, " and %d more", n - 4);
    return n == 0 ||
           fail_user(error, "no place in a %s of this config.json for %s", source->kind->architecture, unexpected->str);
}

/* Logits come from the embedding unless the file holds another matrix for them. */
static bool file_is_tied(const Source *source)
{
    g_autofree char *head_name = name_in_table(source->kind, "lm_head");
    g_autofree char *shared_name = name_in_table(source->kind, "shared");
    const SafeTensor *head = head_name ? g_hash_table_lookup(source->tensors, head_name) : NULL;
    const SafeTensor *shared = g_hash_table_lookup(source->tensors, shared_name);
    return head == NULL || (shared && strcmp(head->dtype, shared->dtype) == 0 && head->bytes == shared->bytes &&
                            memcmp(head->data, shared->data, head->bytes) == 0);
}

/* Checked on a model of the null device, so that nothing is allocated for sizes that the file does not bear out. */
static bool check_tensors(const Source *source, const ModelConfig *config, GError **error)
{
    Device *null = device_open_null();
    Model *shapes = model_open(null, config, false, error);
    g_autoptr(GHashTable) wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bool done = shapes && check_present(source, model_params(shapes), wanted, error) &&
                check_expected(source, config, wanted, error);
    if (shapes)
        model_close(shapes);
    device_close(null);
    return done;
}

static bool read_param(const Source *source, ParamStore *params, int index, GError **error)
{
    const ParamSpec *spec = params_spec(params, index);
    g_autofree char *theirs = NULL;
    const HfName *name = hf_name_of(source->kind, spec->name, &theirs);
    const SafeTensor *tensor = g_hash_table_lookup(source->tensors, theirs);
    g_autofree float *values = g_new(float, (gsize)(spec->rows * MAX(spec->cols, 1)));
    if (!hf_tensor_read(tensor, name, spec, values, error))
        return false;
    params_write(params, index, NULL, DT_F32, values);
    return true;
}

/* transformers would begin with random logits. */
static void warn_missing_head(const Source *source, const ModelConfig *config)
{
    g_autofree char *head = name_in_table(source->kind, "lm_head");
    bool logits = config->n_dec > 0 || config->head_transform;
    if (source->says_untied && logits && head && !g_hash_table_contains(source->tensors, head))
        log_warning("config.json has tie_word_embeddings false, but there is no %s: logits come from the embedding",
                    head);
}

static Model *import_tensors(Device *dev, const Source *source, const ModelConfig *config, bool gradients,
                             GError **error)
{
    warn_missing_head(source, config);
    if (!check_tensors(source, config, error))
        return NULL;
    Model *model = model_open(dev, config, gradients, error);
    ParamStore *params = model ? model_params(model) : NULL;
    for (int i = 0; model && i < params_count(params); i++)
        if (!read_param(source, params, i, error)) {
            model_close(model);
            return NULL;
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

/* Reads config.json and the names of the tensors, which together make the shape. */
static bool source_open(Source *source, const char *folder, ModelConfig *config, GError **error)
{
    *source = (Source){ .kind = hf_config_read(folder, config, error) };
    if (source->kind == NULL || (source->file = open_tensors(folder, error)) == NULL)
        return false;
    source->tensors = hf_tensors_by_name(source->kind, source->file, error);
    if (source->tensors == NULL)
        return fail_context(error, "%s", folder);
    source->says_untied = !config->tie_embeddings;
    config->tie_embeddings = file_is_tied(source);
    if (source->kind->look)
        source->kind->look(source->tensors, config);
    return true;
}

static void source_close(Source *source)
{
    g_clear_pointer(&source->tensors, g_hash_table_unref);
    g_clear_pointer(&source->file, safetensors_close);
}

bool hf_shape(const char *folder, ModelConfig *config, GError **error)
{
    ModelConfig read = { 0 };
    Source source;
    bool done = source_open(&source, folder, &read, error);
    if (done)
        *config = model_config_copy(&read);
    source_close(&source);
    return done;
}

Model *hf_import(Device *dev, const char *folder, bool gradients, GError **error)
{
    ModelConfig config = { 0 };
    Source source;
    Model *model = NULL;
    if (source_open(&source, folder, &config, error) &&
        !(model = import_tensors(dev, &source, &config, gradients, error)))
        fail_context(error, "%s", folder);
    if (model && !hf_roles_read(folder, source.kind, model_config(model), model_roles(model), error))
        g_clear_pointer(&model, model_close);
    source_close(&source);
    if (model == NULL)
        return NULL;
    g_autoptr(GError) reason = NULL;
    g_autofree char *tokenizer = tokenizer_find(folder, &reason);
    if (tokenizer == NULL)
        log_warning("weights only, texts need a tokenizer of their own: %s", reason->message);
    return model;
}
