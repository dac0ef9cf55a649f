#include "base/check.h"
#include "base/file.h"
#include "model/hf.h"
#include "model/hf_config.h"
#include "model/hf_tensors.h"
#include "model/hf_tokenizer.h"

#include <jansson.h>
#include <string.h>

static bool write_text(const char *folder, const char *name, const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return io_write_file(path, text, strlen(text), error);
}

static bool write_object(const char *folder, const char *name, const json_t *root, GError **error)
{
    char *json = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
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

static bool write_tensors(const char *folder, const HfKind *kind, Model *model, const HfForm *form, GError **error)
{
    const ModelConfig *config = model_config(model);
    ParamStore *params = model_params(model);
    g_autoptr(GHashTable) made = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    SafeWriter *writer = safetensors_writer_new();
    safetensors_writer_metadata(writer, "format", "pt");
    for (int i = 0; i < params_count(params); i++)
        add_tensor(writer, made, kind, params_device(params), params_get(params, i));
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
    if (strcmp(form->dtype, "F32") != 0)
        safetensors_writer_store_as(writer, form->dtype);
    bool done = safetensors_writer_write_folder(writer, folder, form->shard_bytes, error);
    safetensors_writer_free(writer);
    return done;
}

/* What generates by itself: a T5, which knows its ids without a tokenizer too, and a GPT that ends its texts. */
static bool write_generation(const char *folder, const ModelConfig *config, HfIds ids, GError **error)
{
    if (config->n_dec == 0 || ids.eos < 0)
        return true;
    json_t *root = json_object();
    hf_id_write(root, "eos_token_id", ids.eos);
    hf_id_write(root, "pad_token_id", ids.pad);
    if (config->n_enc > 0)
        hf_id_write(root, "decoder_start_token_id", ids.pad);
    bool done = write_object(folder, "generation_config.json", root, error);
    json_decref(root);
    return done;
}

static bool write_configs(const char *folder, const HfKind *kind, const ModelConfig *config, const Tokenizer *tok,
                          const char *dtype, GError **error)
{
    bool t5 = config->family == FAMILY_T5;
    HfIds ids = { .pad = tok ? tokenizer_pad(tok) : -1, .eos = tok ? tokenizer_eos(tok) : t5 ? 1 : -1 };
    if (t5)
        ids.pad = MAX(ids.pad, 0);
    g_autofree char *text = hf_config_text(kind, config, ids, dtype);
    return write_text(folder, "config.json", text, error) && write_generation(folder, config, ids, error);
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

static const HfKind *exportable_kind(const ModelConfig *config, const Tokenizer *tok, GError **error)
{
    const HfKind *kind = hf_kind_of(config, error);
    if (kind && tok && tokenizer_size(tok) > config->vocab) {
        fail_user(error, "the tokenizer %s has %d tokens, the model only %" G_GINT64_FORMAT, tokenizer_path(tok),
                  tokenizer_size(tok), config->vocab);
        return NULL;
    }
    return kind;
}

bool hf_export_as(Model *model, const Tokenizer *tok, const HfForm *form, const char *folder, GError **error)
{
    const ModelConfig *config = model_config(model);
    const HfKind *kind = exportable_kind(config, tok, error);
    if (kind == NULL || !folder_is_free(folder, error))
        return false;
    g_autofree char *tmp = io_make_folder_beside(folder, error);
    if (tmp == NULL)
        return false;
    if (write_configs(tmp, kind, config, tok, form->dtype, error) && write_tensors(tmp, kind, model, form, error) &&
        (tok == NULL || hf_write_tokenizer(tmp, tok, error)) && io_sync_directory(tmp, error) &&
        folder_is_free(folder, error) && io_swap_in(tmp, folder, error))
        return true;
    io_remove_tree(tmp, NULL);
    return false;
}

bool hf_export(Model *model, const Tokenizer *tok, const char *folder, GError **error)
{
    return hf_export_as(model, tok, &(HfForm){ .dtype = "F32" }, folder, error);
}
