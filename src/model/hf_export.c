#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "model/hf.h"
#include "model/hf_config.h"
#include "model/hf_tensors.h"

#include <jansson.h>
#include <string.h>

#define TOKENIZER_LIMIT ((size_t)1 << 30)

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

/* The tensor that holds a parameter: its own memory where it is all of it and lies the same way, else a copy in
 * `made`, which its other parts share. */
static void add_tensor(SafeWriter *writer, GHashTable *made, const HfKind *kind, const Param *param)
{
    CHECK(param->w.dtype == DT_F32 && param->w.ld == tensor_cols(param->w), "%s: dtype %s, rows %lld apart",
          param->spec.name, dtype_name(param->w.dtype), (long long)param->w.ld);
    char *theirs;
    int64_t shape[2];
    const HfName *name = hf_name_of(kind, param->spec.name, &theirs);
    int rank = hf_shape_of(name, &param->spec, shape);
    if (!name->transposed && name->n_parts == 0) {
        safetensors_writer_add(writer, theirs, "F32", rank, shape, param->w.p);
        g_free(theirs);
        return;
    }
    float *whole = g_hash_table_lookup(made, theirs);
    if (whole == NULL) {
        whole = g_new0(float, (gsize)(tensor_count(param->w) * MAX(name->n_parts, 1)));
        safetensors_writer_add(writer, theirs, "F32", rank, shape, whole);
        g_hash_table_insert(made, g_strdup(theirs), whole);
    }
    hf_tensor_put(whole, name, &param->spec, param->w.p);
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
        add_tensor(writer, made, kind, params_get(params, i));
    /* transformers 4 scales the logits of a T5 that it ties: unscaled and tied is written as two equal matrices. */
    if (config->family == FAMILY_T5 && config->tie_embeddings && !config->scale_logits) {
        Tensor shared = params_find(params, "shared")->w;
        safetensors_writer_add(writer, "lm_head.weight", "F32", shared.rank, shared.d, shared.p);
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

static json_t *special_tokens(const Tokenizer *tok)
{
    json_t *root = json_object(), *sentinels = json_array();
    const struct {
        const char *key;
        int id;
    } tokens[] = { { "pad_token", tokenizer_pad(tok) },
                   { "eos_token", tokenizer_eos(tok) },
                   { "unk_token", tokenizer_unk(tok) } };
    for (size_t i = 0; i < G_N_ELEMENTS(tokens); i++)
        if (tokens[i].id >= 0)
            json_object_set_new(root, tokens[i].key, json_string(tokenizer_piece(tok, tokens[i].id)));
    for (int i = 0; i < TOKENIZER_SENTINELS; i++)
        json_array_append_new(sentinels, json_string(tokenizer_piece(tok, tokenizer_sentinel(tok, i))));
    json_object_set_new(root, "additional_special_tokens", sentinels);
    return root;
}

/* What Hugging Face's tokenizers do with a SentencePiece model that is not unigram without byte pieces. */
static void warn_of_differences(const Tokenizer *tok)
{
    if (strcmp(tokenizer_kind(tok), "sentencepiece-unigram") != 0)
        log_warning(
            "transformers 5 reads every T5 tokenizer as unigram and gives other ids for %s; transformers 4 gives "
            "the same",
            tokenizer_kind(tok));
    for (int id = 0; id < tokenizer_size(tok); id++)
        if (strcmp(tokenizer_piece(tok, id), "<0x00>") == 0) {
            log_warning(
                "of transformers only version 4's slow T5Tokenizer (use_fast=False) splits unknown letters into "
                "bytes; the others give <unk>");
            return;
        }
}

static bool write_tokenizer(const char *folder, const ModelConfig *config, const Tokenizer *tok, GError **error)
{
    if (config->family != FAMILY_T5) {
        log_warning("the tokenizer is not exported with this family: copy %s yourself", tokenizer_path(tok));
        return true;
    }
    size_t bytes;
    g_autofree char *model = io_read_file(tokenizer_path(tok), TOKENIZER_LIMIT, &bytes, error);
    g_autofree char *path = g_build_filename(folder, "spiece.model", NULL);
    if (model == NULL || !io_write_file(path, model, bytes, error))
        return false;
    json_t *special = special_tokens(tok), *settings = json_deep_copy(special);
    json_object_set_new(settings, "tokenizer_class", json_string("T5Tokenizer"));
    /* Sentinels that are pieces of the model keep their ids only where none are added. */
    bool own_sentinels = memmem(model, bytes, "<extra_id_0>", strlen("<extra_id_0>")) != NULL;
    json_object_set_new(settings, "extra_ids", json_integer(own_sentinels ? 0 : TOKENIZER_SENTINELS));
    /* The one setting with which text after a sentinel gets SentencePiece's ids in both generations. */
    json_object_set_new(settings, "legacy", json_true());
    bool done = write_object(folder, "special_tokens_map.json", special, error) &&
                write_object(folder, "tokenizer_config.json", settings, error);
    json_decref(special);
    json_decref(settings);
    warn_of_differences(tok);
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

static const HfKind *exportable_kind(const ModelConfig *config, const Tokenizer *tok, GError **error)
{
    const HfKind *kind = hf_kind_of(config, error);
    if (kind && tok && config->family == FAMILY_T5 && !g_str_has_prefix(tokenizer_kind(tok), "sentencepiece")) {
        fail_user(error, "Hugging Face's T5 has a SentencePiece tokenizer; %s is of kind %s", tokenizer_path(tok),
                  tokenizer_kind(tok));
        return NULL;
    }
    if (kind && tok && tokenizer_size(tok) > config->vocab) {
        fail_user(error, "the tokenizer %s has %d tokens, the model only %" G_GINT64_FORMAT, tokenizer_path(tok),
                  tokenizer_size(tok), config->vocab);
        return NULL;
    }
    return kind;
}

bool hf_export_as(Model *model, const Tokenizer *tok, const HfForm *form, const char *folder, GError **error)
{
    g_autofree char *whole = g_canonicalize_filename(folder, NULL);
    g_autofree char *parent = g_path_get_dirname(whole), *name = g_path_get_basename(whole);
    g_autofree char *tmp_name = g_strconcat("tmp-", name, NULL);
    g_autofree char *tmp = g_build_filename(parent, tmp_name, NULL);
    const ModelConfig *config = model_config(model);
    const HfKind *kind = exportable_kind(config, tok, error);
    if (kind == NULL || !folder_is_free(whole, error) || !io_make_directories(parent, error) ||
        !io_remove_tree(tmp, error) || !io_make_directories(tmp, error))
        return false;
    if (write_configs(tmp, kind, config, tok, form->dtype, error) && write_tensors(tmp, kind, model, form, error) &&
        (tok == NULL || write_tokenizer(tmp, config, tok, error)) && io_sync_directory(tmp, error) &&
        io_rename(tmp, whole, error) && io_sync_directory(parent, error))
        return true;
    io_remove_tree(tmp, NULL);
    return false;
}

bool hf_export(Model *model, const Tokenizer *tok, const char *folder, GError **error)
{
    return hf_export_as(model, tok, &(HfForm){ .dtype = "F32" }, folder, error);
}
