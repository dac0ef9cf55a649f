#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "model/hf.h"
#include "model/hf_config.h"
#include "model/hf_tensors.h"
#include "model/hf_tokenizer.h"
#include "model/params.h"

#include <jansson.h>
#include <string.h>

static bool write_text(const char *folder, const char *name, const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return io_write_file(path, text, strlen(text), error);
}

static bool write_object(const char *folder, const char *name, const json_t *root, GError **error)
{
    char *json = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    g_autofree char *text = g_strconcat(json, "\n", NULL);
    free(json);
    return write_text(folder, name, text, error);
}

/* Where a tensor is fetched from when its turn comes. */
typedef struct Source {
    Device *dev;
    Tensor w;
} Source;

static void fetch(const void *context, void *out)
{
    const Source *source = context;
    tensor_read_f32(source->dev, out, source->w);
}

static void add_as_it_is(SafeWriter *writer, Device *dev, const char *name, int rank, const int64_t *shape, Tensor w)
{
    const Source source = { dev, w };
    safetensors_writer_add_later(writer, name, "F32", rank, shape, fetch, g_memdup2(&source, sizeof source));
}

/* The tensor that holds a parameter: the parameter where it is all of it and lies the same way, else a copy in `made`,
 * which its other parts share. */
static void add_tensor(SafeWriter *writer, GHashTable *made, const HfKind *kind, Device *dev, const Param *param)
{
    char *theirs;
    int64_t shape[2];
    const HfName *name = hf_name_of(kind, param->spec.name, &theirs);
    int rank = hf_shape_of(name, &param->spec, shape);
    if (!name->transposed && name->n_parts == 0) {
        add_as_it_is(writer, dev, theirs, rank, shape, param->w);
        g_free(theirs);
        return;
    }
    float *whole = g_hash_table_lookup(made, theirs);
    if (whole == NULL) {
        whole = g_new0(float, (gsize)(tensor_count(param->w) * MAX(name->n_parts, 1)));
        safetensors_writer_add(writer, theirs, "F32", rank, shape, whole);
        g_hash_table_insert(made, g_strdup(theirs), whole);
    }
    g_autofree float *values = g_new(float, (gsize)tensor_count(param->w));
    tensor_read_f32(dev, values, param->w);
    hf_tensor_put(whole, name, &param->spec, values);
    g_free(theirs);
}

/* The tensors of those parameters that a model of this shape has; the others are heads, and are named. */
static void add_params(SafeWriter *writer, GHashTable *made, const HfKind *kind, const ModelConfig *config,
                       ParamStore *params)
{
    int n;
    g_autofree ParamSpec *specs = model_param_specs(config, stage_whole(config), &n);
    g_autoptr(GHashTable) kept = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GString) left = g_string_new(NULL);
    for (int i = 0; i < n; i++)
        g_hash_table_add(kept, specs[i].name);
    for (int i = 0; i < params_count(params); i++) {
        const Param *param = params_get(params, i);
        if (g_hash_table_contains(kept, param->spec.name))
            add_tensor(writer, made, kind, params_device(params), param);
        else
            g_string_append_printf(left, "%s%s", left->len ? ", " : "", param->spec.name);
    }
    if (left->len)
        log_warning("left out, since no class of transformers has it beside the model's other heads: %s", left->str);
}

/* `config` is the model's, without the heads that its kind has no class for. */
static bool write_tensors(const char *folder, const HfKind *kind, const ModelConfig *config, ParamStore *params,
                          const HfForm *form, GError **error)
{
    g_autoptr(GHashTable) made = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    SafeWriter *writer = safetensors_writer_new();
    safetensors_writer_metadata(writer, "format", "pt");
    add_params(writer, made, kind, config, params);
    /* transformers 4 scales the logits of a T5 that it ties: unscaled and tied is written as two equal matrices. */
    if (config->family == FAMILY_T5 && config->tie_embeddings && !config->scale_logits) {
        Tensor shared = params_find(params, "shared")->w;
        add_as_it_is(writer, params_device(params), "lm_head.weight", shared.rank, shared.d, shared);
    }
    /* A BERT of distances has them all the same, and reads none. */
    if (kind == &hf_bert && model_config_distances(config)) {
        const int64_t rows[] = { config->max_positions, config->width };
        float *unread = g_new0(float, (gsize)(rows[0] * rows[1]));
        g_hash_table_insert(made, g_strdup(HF_BERT_POSITIONS), unread);
        safetensors_writer_add(writer, HF_BERT_POSITIONS, "F32", 2, rows, unread);
    }
    const Param *bias = params_find(params, "lm_head.bias");
    if (kind->untied_bias && bias && !config->tie_embeddings)
        add_as_it_is(writer, params_device(params), kind->untied_bias, bias->w.rank, bias->w.d, bias->w);
    if (strcmp(form->dtype, "F32") != 0)
        safetensors_writer_store_as(writer, form->dtype);
    bool done = safetensors_writer_write_folder(writer, folder, form->shard_bytes, error);
    safetensors_writer_free(writer);
    return done;
}

/* What generates by itself: a T5, which knows its ids without a tokenizer too, and a GPT that ends its texts. */
static bool write_generation(const char *folder, const ModelConfig *config, const TokenRoles *roles, GError **error)
{
    if (config->n_dec == 0 || (roles->eos.n == 0 && roles->generation == NULL))
        return true;
    json_t *root = hf_roles_generation(roles, config);
    bool done = write_object(folder, "generation_config.json", root, error);
    json_decref(root);
    return done;
}

/* A T5 pads with 0 and ends with 1 where nothing says otherwise. */
static bool write_configs(const char *folder, const HfKind *kind, const ModelConfig *config, const TokenRoles *own,
                          const Tokenizer *tok, const char *dtype, GError **error)
{
    TokenRoles roles = token_roles_none();
    token_roles_copy(&roles, own);
    token_roles_complete(&roles, tok);
    if (config->family == FAMILY_T5)
        roles.pad = MAX(roles.pad, 0);
    if (config->family == FAMILY_T5 && tok == NULL && roles.eos.n == 0)
        token_roles_add_eos(&roles, 1);
    g_autofree char *text = hf_config_text(kind, config, &roles, dtype);
    bool done = write_text(folder, "config.json", text, error) && write_generation(folder, config, &roles, error);
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

static const HfKind *exportable_kind(const ModelConfig *config, const Tokenizer *tok, ModelConfig *fitted,
                                     GError **error)
{
    const HfKind *kind = hf_kind_of(config, fitted, error);
    if (kind && tok && tokenizer_size(tok) > config->vocab) {
        fail_user(error, "the tokenizer %s has %d tokens, the model only %" G_GINT64_FORMAT, tokenizer_path(tok),
                  tokenizer_size(tok), config->vocab);
        return NULL;
    }
    return kind;
}

bool hf_export_as(Model *model, const Tokenizer *tok, const HfForm *form, const char *folder, GError **error)
{
    ModelConfig config;
    const HfKind *kind = exportable_kind(model_config(model), tok, &config, error);
    if (kind == NULL || !folder_is_free(folder, error))
        return false;
    g_autofree char *tmp = io_make_folder_beside(folder, error);
    if (tmp == NULL)
        return false;
    if (write_configs(tmp, kind, &config, model_roles(model), tok, form->dtype, error) &&
        write_tensors(tmp, kind, &config, model_params(model), form, error) &&
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
