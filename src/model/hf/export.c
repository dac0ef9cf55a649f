/* export.c: writes a model as a folder of Hugging Face. */
#include "base/check.h"
#include "base/file.h"
#include "format/safetensors.h"
#include "model/hf/adapter.h"
#include "model/hf/config_json.h"
#include "model/hf/hf.h"
#include "model/lora/lora.h"

#define POSITIONS "bert." HF_BERT_POSITIONS

enum { MOST_PARTS = 3 };

/* The parameters that form one tensor of the file. */
typedef struct Source {
    ParamStore *params;
    int n, index[MOST_PARTS];
    const TensorName *names[MOST_PARTS];
    float scale; /* the tensor's values are those of its parameters, multiplied by it */
} Source;

/* Writes the whole tensor: its parts may be transposed. */
static void fetch_for_export(const void *context, G_GNUC_UNUSED int64_t first, int64_t n, void *out)
{
    (void)n;
    const Source *source = context;
    for (int i = 0; i < source->n; i++) {
        const ParamSpec *spec = params_spec(source->params, source->index[i]);
        const TensorName *name = source->names[i];
        bool alone = !name->transposed && name->n_parts == 0;
        g_autofree float *values = alone ? NULL : g_new(float, (gsize)(spec->rows * MAX(spec->cols, 1)));
        params_read(source->params, source->index[i], NULL, DT_F32, alone ? out : values);
        if (!alone)
            tensor_name_write(out, name, spec, values);
        for (int64_t j = 0; alone && source->scale != 1 && j < spec->rows * MAX(spec->cols, 1); j++)
            ((float *)out)[j] *= source->scale;
    }
}

/* The tensors of a folder, and the parameters that form each of them: name -> Source *, borrowed from the writer. */
typedef struct Tensors {
    SafeWriter *writer;
    GHashTable *sources;
    ParamStore *params;
    float head_scale; /* factor of lm_head.weight */
} Tensors;

/* Adds a parameter to the tensor `theirs` of the file, which may contain other parameters too. */
static void add_param(const Tensors *tensors, const char *theirs, const TensorName *name, int index)
{
    const ParamSpec *spec = params_spec(tensors->params, index);
    int64_t shape[2];
    int rank = tensor_name_shape(name, spec, shape);
    Source *source = g_hash_table_lookup(tensors->sources, theirs);
    if (source == NULL) {
        source = g_new0(Source, 1);
        source->params = tensors->params;
        source->scale = strcmp(theirs, "lm_head.weight") == 0 ? tensors->head_scale : 1;
        safetensors_writer_add_later(tensors->writer, theirs, "F32", rank, shape, MAX(shape[0], 1), fetch_for_export,
                                     source);
        g_hash_table_insert(tensors->sources, g_strdup(theirs), source);
    }
    CHECK(source->n < MOST_PARTS, "%s has more than %d parts", theirs, MOST_PARTS);
    source->names[source->n] = name;
    source->index[source->n++] = index;
}

/* Adds the tensors of the parameters that a model of `config` has. The others are heads, which a warning names. */
static void add_params(const Tensors *tensors, const TensorNames *names, const ModelConfig *config)
{
    g_autoptr(GHashTable) kept = hf_parameter_names(config);
    g_autoptr(GString) left = g_string_new(NULL);
    for (int i = 0; i < params_count(tensors->params); i++) {
        const char *ours = params_spec(tensors->params, i)->name;
        if (!g_hash_table_contains(kept, ours)) {
            g_string_append_printf(left, "%s%s", left->len ? ", " : "", ours);
            continue;
        }
        g_autofree char *theirs = NULL;
        const TensorName *name = tensor_name_of(names, ours, &theirs);
        CHECK(name, "parameter %s has no name in %s", ours, names->model);
        add_param(tensors, theirs, name, i);
    }
    if (left->len)
        log_warning("left out, since no class of transformers has it beside the model's other heads: %s", left->str);
}

/* Writes the tensors. config: the model's configuration without the heads for which its architecture has no class.
 * head_scale: factor of lm_head.weight. */
static bool write_tensors(const char *folder, const HfArchitecture *arch, const ModelConfig *config, ParamStore *params,
                          float head_scale, HfForm form, GError **error)
{
    g_autoptr(GHashTable) sources = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    static const TensorName unchanged = { 0 };
    g_autofree float *unused = NULL;
    g_autoptr(SafeWriter) writer = safetensors_writer_new();
    const Tensors tensors = { writer, sources, params, head_scale };
    safetensors_writer_metadata(writer, "format", "pt");
    const TensorNames names = hf_names(arch, config);
    add_params(&tensors, &names, config);
    /* transformers 4 scales the logits of every tied T5: tied and unscaled logits are written as two equal matrices. */
    if (config->family == FAMILY_T5 && config->tie_embeddings && !config->scale_logits &&
        config->classifier == LABELS_NONE)
        add_param(&tensors, "lm_head.weight", &unchanged, params_index(params, "shared"));
    /* A BERT with relative_key also has position embeddings, which it does not use. */
    if (arch == &hf_bert && model_config_distances(config)) {
        const int64_t rows[] = { config->max_positions, config->width };
        unused = g_new0(float, (gsize)(rows[0] * rows[1]));
        safetensors_writer_add(writer, POSITIONS, "F32", 2, rows, unused);
    }
    int bias = params_index(params, "lm_head.bias");
    if (arch->second_bias && bias >= 0 && !config->tie_embeddings)
        add_param(&tensors, arch->second_bias, &unchanged, bias);
    if (strcmp(form.dtype, "F32") != 0)
        safetensors_writer_store_as(writer, form.dtype);
    return safetensors_writer_write_folder(writer, folder, form.shard_bytes, error);
}

/* Writes config.json and generation_config.json. A T5's unknown token ids become the defaults: padding 0, EOS 1. */
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
    /* generation_config.json is written for a decoder if it has an EOS, settings, or ids that are no tokens. */
    const int64_t n_ids = tok ? tokenizer_size(tok) : config->vocab;
    bool generates = config->n_dec > 0 && (roles.eos.n > 0 || roles.generation || n_ids < config->vocab);
    bool done = hf_write_object(folder, "config.json", hf_config_json(arch, config, &roles, dtype), error) &&
                (!generates ||
                 hf_write_object(folder, "generation_config.json", hf_roles_generation(&roles, config, n_ids), error));
    token_roles_clear(&roles);
    return done;
}

static bool is_export(const char *folder)
{
    return io_exists(folder, "config.json") &&
           (io_exists(folder, "model.safetensors") || io_exists(folder, "model.safetensors.index.json"));
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

static bool tokenizer_fits(const Tokenizer *tok, const ModelConfig *config, GError **error)
{
    return tok == NULL || tokenizer_size(tok) <= config->vocab ||
           fail_user(error, "the tokenizer %s has %d tokens, the model only %" G_GINT64_FORMAT, tokenizer_path(tok),
                     tokenizer_size(tok), config->vocab);
}

static bool may_write(const char *folder, bool replace, GError **error)
{
    return (replace && is_export(folder)) || folder_is_free(folder, error);
}

/* transformers scales the logits of a T5 only if its embeddings are tied. If they are not, the head takes the factor
 * into its weights, and the logits stay the same: config becomes unscaled. Returns the factor; 1 means none. */
static float fold_scale(ModelConfig *config)
{
    if (config->family != FAMILY_T5 || !config->scale_logits || config->tie_embeddings ||
        config->classifier != LABELS_NONE)
        return 1;
    config->scale_logits = false;
    return 1 / sqrtf((float)config->width);
}

static bool export_plain(Model *model, const Tokenizer *tok, HfForm form, const char *folder, GError **error)
{
    ModelConfig config, own = *model_config(model);
    const float head_scale = fold_scale(&own);
    const HfArchitecture *arch = hf_architecture_of(&own, &config, error);
    if (arch == NULL || !may_write(folder, form.replace, error))
        return false;
    if (!tokenizer_fits(tok, &config, error))
        return false;
    if (head_scale != 1)
        log_info("transformers scales logits (model.scale_logits) only with tied embeddings (model.tie_embeddings): "
                 "lm_head.weight is written multiplied by width^-1/2, which gives the same logits");
    g_autofree char *tmp = io_make_folder_beside(folder, error);
    if (tmp == NULL)
        return false;
    if (hf_sentence_write(tmp, model_roles(model)->sentence, error) && /* first: a file of these names is no other */
        write_configs(tmp, arch, &config, model_roles(model), tok, form.dtype, error) &&
        write_tensors(tmp, arch, &config, model_params(model), head_scale, form, error) &&
        (tok == NULL || hf_write_tokenizer(tmp, tok, &config, form.longest, error)) && io_sync_directory(tmp, error) &&
        may_write(folder, form.replace, error) && io_swap_in(tmp, folder, error))
        return true;
    io_remove_tree(tmp, NULL);
    return false;
}

bool hf_can_export(const ModelConfig *config, GError **error)
{
    ModelConfig fitted, own = *config;
    own.lora.rank = 0; /* hf_export merges adapters */
    fold_scale(&own);
    return hf_architecture_of(&own, &fitted, error) != NULL;
}

bool hf_export(Model *model, const Tokenizer *tok, HfForm form, const char *folder, GError **error)
{
    if (model_config(model)->lora.rank == 0)
        return export_plain(model, tok, form, folder, error);
    g_autoptr(Model) merged = lora_merged(model, error);
    return merged && export_plain(merged, tok, form, folder, error);
}

static bool write_adapter(const char *folder, const HfArchitecture *arch, const ModelConfig *config, ParamStore *params,
                          GError **error)
{
    g_autoptr(GHashTable) sources = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *path = g_build_filename(folder, "adapter_model.safetensors", NULL);
    g_autoptr(SafeWriter) writer = safetensors_writer_new();
    const Tensors tensors = { writer, sources, params, 1 };
    const TensorNames names = hf_names(arch, config);
    safetensors_writer_metadata(writer, "format", "pt");
    for (int i = 0; i < params_count(params); i++) {
        const ParamSpec *spec = params_spec(params, i);
        g_autofree char *theirs = NULL;
        const TensorName *name = lora_trains(config, spec) ? tensor_name_of(&names, spec->name, &theirs) : NULL;
        g_autofree char *whole = g_strconcat(HF_ADAPTER_PREFIX, theirs, NULL);
        if (name)
            add_param(&tensors, whole, name, i);
    }
    return safetensors_writer_write(writer, path, error);
}

bool hf_export_adapter(Model *model, const Tokenizer *tok, const char *base, const char *folder, GError **error)
{
    ModelConfig config;
    const HfArchitecture *arch = hf_architecture_of(model_config(model), &config, error);
    if (arch == NULL || !folder_is_free(folder, error) || !tokenizer_fits(tok, &config, error))
        return false;
    if (config.lora.rank == 0)
        return fail_user(error, "the model has no adapters (lora.rank is 0): --to hf writes its weights");
    if (base && io_exists(base, "config.json") && !hf_check_base(model, arch, &config, base, error))
        return false;
    g_autofree char *tmp = io_make_folder_beside(folder, error);
    if (tmp == NULL)
        return false;
    if (hf_write_object(tmp, HF_ADAPTER_CONFIG, hf_adapter_json(arch, &config, base), error) &&
        write_adapter(tmp, arch, &config, model_params(model), error) &&
        (tok == NULL || hf_write_tokenizer(tmp, tok, &config, 0, error)) && io_sync_directory(tmp, error) &&
        folder_is_free(folder, error) && io_swap_in(tmp, folder, error))
        return true;
    io_remove_tree(tmp, NULL);
    return false;
}
