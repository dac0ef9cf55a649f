/* export.c: writes a model as a folder of Hugging Face. */
#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "format/safetensors.h"
#include "model/hf/config_json.h"
#include "model/hf/hf.h"
#include "model/params.h"

#include <string.h>

#define POSITIONS "bert." HF_BERT_POSITIONS

enum { MOST_PARTS = 3 };

/* The parameters that a tensor is made of when it is written. */
typedef struct Source {
    ParamStore *params;
    int n, index[MOST_PARTS];
    const TensorName *names[MOST_PARTS]; /* NULL means that the tensor is the parameter as it is */
} Source;

static void fetch(const void *context, void *out)
{
    const Source *source = context;
    for (int i = 0; i < source->n; i++) {
        const ParamSpec *spec = params_spec(source->params, source->index[i]);
        g_autofree float *values = g_new(float, (gsize)(spec->rows * MAX(spec->cols, 1)));
        params_read(source->params, source->index[i], NULL, DT_F32, source->names[i] ? values : out);
        if (source->names[i])
            tensor_name_write(out, source->names[i], spec, values);
    }
}

/* Adds a tensor that is read when the folder is written. */
static Source *add_tensor(SafeWriter *writer, const char *name, int rank, const int64_t *shape, ParamStore *params)
{
    Source *source = g_new0(Source, 1);
    source->params = params;
    safetensors_writer_add_later(writer, name, "F32", rank, shape, fetch, source);
    return source;
}

/* Adds a parameter to the tensor that holds it, which other parameters may share. sources: name -> Source *. */
static void add_param(SafeWriter *writer, GHashTable *sources, const HfArchitecture *arch, ParamStore *params,
                      int index)
{
    const ParamSpec *spec = params_spec(params, index);
    char *theirs;
    int64_t shape[2];
    const TensorName *name = tensor_name_of(&arch->names, spec->name, &theirs);
    CHECK(name, "parameter %s has no name in %s", spec->name, arch->names.model);
    int rank = tensor_name_shape(name, spec, shape);
    Source *source = g_hash_table_lookup(sources, theirs);
    if (source == NULL)
        source = add_tensor(writer, theirs, rank, shape, params);
    CHECK(source->n < MOST_PARTS, "%s has more than %d parts", theirs, MOST_PARTS);
    source->names[source->n] = name->transposed || name->n_parts > 0 ? name : NULL;
    source->index[source->n++] = index;
    g_hash_table_insert(sources, theirs, source);
}

/* Adds a parameter once more, under another name. */
static void add_copy(SafeWriter *writer, const char *name, ParamStore *params, int index)
{
    const ParamSpec *spec = params_spec(params, index);
    const int64_t shape[] = { spec->rows, spec->cols };
    Source *source = add_tensor(writer, name, spec->cols ? 2 : 1, shape, params);
    source->index[source->n++] = index;
}

/* Adds the tensors of the parameters that a model of configuration `config` has. The others are heads: a warning names
 * them. */
static void add_params(SafeWriter *writer, GHashTable *sources, const HfArchitecture *arch, const ModelConfig *config,
                       ParamStore *params)
{
    int n;
    g_autofree ParamSpec *specs = model_param_specs(config, stage_whole(config), &n);
    g_autoptr(GHashTable) kept = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GString) left = g_string_new(NULL);
    for (int i = 0; i < n; i++)
        g_hash_table_add(kept, specs[i].name);
    for (int i = 0; i < params_count(params); i++) {
        const char *name = params_spec(params, i)->name;
        if (g_hash_table_contains(kept, name))
            add_param(writer, sources, arch, params, i);
        else
            g_string_append_printf(left, "%s%s", left->len ? ", " : "", name);
    }
    if (left->len)
        log_warning("left out, since no class of transformers has it beside the model's other heads: %s", left->str);
}

/* `config` is the model's, without the heads for which its architecture has no class. */
static bool write_tensors(const char *folder, const HfArchitecture *arch, const ModelConfig *config, ParamStore *params,
                          const HfForm *form, GError **error)
{
    g_autoptr(GHashTable) sources = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree float *unused = NULL;
    SafeWriter *writer = safetensors_writer_new();
    safetensors_writer_metadata(writer, "format", "pt");
    add_params(writer, sources, arch, config, params);
    /* transformers 4 scales the logits of every tied T5: tied and unscaled logits are written as two equal matrices. */
    if (config->family == FAMILY_T5 && config->tie_embeddings && !config->scale_logits)
        add_copy(writer, "lm_head.weight", params, params_index(params, "shared"));
    /* A BERT of relative_key has position embeddings too, and does not use them. */
    if (arch == &hf_bert && model_config_distances(config)) {
        const int64_t rows[] = { config->max_positions, config->width };
        unused = g_new0(float, (gsize)(rows[0] * rows[1]));
        safetensors_writer_add(writer, POSITIONS, "F32", 2, rows, unused);
    }
    int bias = params_index(params, "lm_head.bias");
    if (arch->second_bias && bias >= 0 && !config->tie_embeddings)
        add_copy(writer, arch->second_bias, params, bias);
    if (strcmp(form->dtype, "F32") != 0)
        safetensors_writer_store_as(writer, form->dtype);
    bool done = safetensors_writer_write_folder(writer, folder, form->shard_bytes, error);
    safetensors_writer_free(writer);
    return done;
}

/* For a model that generates: a T5, whose ids are known without a tokenizer, or a GPT with a token that ends texts. */
static bool write_generation(const char *folder, const ModelConfig *config, const TokenRoles *roles, GError **error)
{
    if (config->n_dec == 0 || (roles->eos.n == 0 && roles->generation == NULL))
        return true;
    return hf_write_object(folder, "generation_config.json", hf_roles_generation(roles, config), error);
}

/* The defaults of T5: pad 0, end 1. */
static bool write_configs(const char *folder, const HfArchitecture *arch, const ModelConfig *config,
                          const TokenRoles *own, const Tokenizer *tok, const char *dtype, GError **error)
{
    TokenRoles roles = token_roles_none();
    token_roles_copy(&roles, own);
    token_roles_complete(&roles, tok);
    if (config->family == FAMILY_T5)
        roles.pad = MAX(roles.pad, 0);
    if (config->family == FAMILY_T5 && tok == NULL && roles.eos.n == 0)
        token_roles_add_eos(&roles, 1);
    bool done = hf_write_object(folder, "config.json", hf_config_json(arch, config, &roles, dtype), error) &&
                write_generation(folder, config, &roles, error);
    token_roles_clear(&roles);
    return done;
}

static bool folder_is_free(const char *folder, GError **error)
{
    if (!g_file_test(folder, G_FILE_TEST_EXISTS))
        return true;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    if (dir && g_dir_read_name(dir) == NULL)
        return true;
    return fail_user(error, "%s exists and is not an empty folder: give another, or remove it", folder);
}

static const HfArchitecture *exportable_architecture(const ModelConfig *config, const Tokenizer *tok,
                                                     ModelConfig *fitted, GError **error)
{
    const HfArchitecture *arch = hf_architecture_of(config, fitted, error);
    if (arch && tok && tokenizer_size(tok) > config->vocab) {
        fail_user(error, "the tokenizer %s has %d tokens, the model only %" G_GINT64_FORMAT, tokenizer_path(tok),
                  tokenizer_size(tok), config->vocab);
        return NULL;
    }
    return arch;
}

bool hf_export_as(Model *model, const Tokenizer *tok, const HfForm *form, const char *folder, GError **error)
{
    ModelConfig config;
    const HfArchitecture *arch = exportable_architecture(model_config(model), tok, &config, error);
    if (arch == NULL || !folder_is_free(folder, error))
        return false;
    g_autofree char *tmp = io_make_folder_beside(folder, error);
    if (tmp == NULL)
        return false;
    if (write_configs(tmp, arch, &config, model_roles(model), tok, form->dtype, error) &&
        write_tensors(tmp, arch, &config, model_params(model), form, error) &&
        (tok == NULL || hf_write_tokenizer(tmp, tok, &config, error)) && io_sync_directory(tmp, error) &&
        folder_is_free(folder, error) && io_swap_in(tmp, folder, error))
        return true;
    io_remove_tree(tmp, NULL);
    return false;
}

bool hf_export(Model *model, const Tokenizer *tok, const char *folder, GError **error)
{
    return hf_export_as(model, tok, &(HfForm){ .dtype = "F32" }, folder, error);
}
