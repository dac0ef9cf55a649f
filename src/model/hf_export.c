#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "format/safetensors.h"
#include "model/hf.h"
#include "model/hf_config.h"

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

static bool write_tensors(const char *folder, Model *model, const HfForm *form, GError **error)
{
    const ModelConfig *config = model_config(model);
    ParamStore *params = model_params(model);
    SafeWriter *writer = safetensors_writer_new();
    safetensors_writer_metadata(writer, "format", "pt");
    for (int i = 0; i < params_count(params); i++) {
        const Param *param = params_get(params, i);
        CHECK(param->w.dtype == DT_F32 && param->w.ld == tensor_cols(param->w), "%s: dtype %s, rows %lld apart",
              param->spec.name, dtype_name(param->w.dtype), (long long)param->w.ld);
        g_autofree char *name = hf_tensor_name(param->spec.name);
        safetensors_writer_add(writer, name, "F32", param->w.rank, param->w.d, param->w.p);
        /* transformers 4 scales the logits of whatever it ties: unscaled and tied is written as two equal matrices. */
        if (strcmp(name, "shared.weight") == 0 && config->tie_embeddings && !config->scale_logits)
            safetensors_writer_add(writer, "lm_head.weight", "F32", param->w.rank, param->w.d, param->w.p);
    }
    if (strcmp(form->dtype, "F32") != 0)
        safetensors_writer_store_as(writer, form->dtype);
    bool done = safetensors_writer_write_folder(writer, folder, form->shard_bytes, error);
    safetensors_writer_free(writer);
    return done;
}

/* transformers 5 loads a model in the type that its config names. */
static char *config_of_dtype(char *text, const char *dtype)
{
    static const char *const names[][2] = { { "F32", "float32" }, { "BF16", "bfloat16" }, { "F16", "float16" } };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i][0], dtype) == 0) {
            g_auto(GStrv) parts = g_strsplit(text, "\"float32\"", 2);
            CHECK(parts[1] != NULL, "config.json names no type: %s", text);
            g_free(text);
            return g_strconcat(parts[0], "\"", names[i][1], "\"", parts[1], NULL);
        }
    CHECK(false, "dtype %s", dtype);
}

static bool write_configs(const char *folder, const ModelConfig *config, const Tokenizer *tok, const char *dtype,
                          GError **error)
{
    int pad = tok ? MAX(tokenizer_pad(tok), 0) : 0, eos = tok ? tokenizer_eos(tok) : 1;
    g_autofree char *text = config_of_dtype(hf_config_text(config, pad, eos), dtype);
    json_t *generation =
        json_pack("{s:i, s:i, s:i}", "decoder_start_token_id", pad, "eos_token_id", eos, "pad_token_id", pad);
    bool done = write_text(folder, "config.json", text, error) &&
                write_object(folder, "generation_config.json", generation, error);
    json_decref(generation);
    return done;
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

static bool write_tokenizer(const char *folder, const Tokenizer *tok, GError **error)
{
    size_t bytes;
    g_autofree char *model = io_read_file(tokenizer_path(tok), TOKENIZER_LIMIT, &bytes, error);
    g_autofree char *path = g_build_filename(folder, "spiece.model", NULL);
    if (model == NULL || !io_write_file(path, model, bytes, error))
        return false;
    json_t *special = special_tokens(tok), *config = json_deep_copy(special);
    json_object_set_new(config, "tokenizer_class", json_string("T5Tokenizer"));
    /* Sentinels that are pieces of the model keep their ids only where none are added. */
    bool own_sentinels = memmem(model, bytes, "<extra_id_0>", strlen("<extra_id_0>")) != NULL;
    json_object_set_new(config, "extra_ids", json_integer(own_sentinels ? 0 : TOKENIZER_SENTINELS));
    /* The one setting with which text after a sentinel gets SentencePiece's ids in both generations. */
    json_object_set_new(config, "legacy", json_true());
    bool done = write_object(folder, "special_tokens_map.json", special, error) &&
                write_object(folder, "tokenizer_config.json", config, error);
    json_decref(special);
    json_decref(config);
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

/* Whether the model is one of Hugging Face's T5 but for its shape, activation and embeddings. */
static bool is_t5(const ModelConfig *config)
{
    ModelConfig plain;
    model_config_defaults(&plain);
    return config->family == plain.family && config->norm == plain.norm && config->norm_after == plain.norm_after &&
           config->first_norm && config->final_norm && !config->embed_norm && config->position == plain.position &&
           !config->bias && config->segments == 0 && config->window == 0 && !config->scale_scores &&
           !config->head_transform && !config->head_bias && model_config_kv_heads(config) == config->heads;
}

static bool check_exportable(const ModelConfig *config, const Tokenizer *tok, GError **error)
{
    if (!is_t5(config))
        return fail_user(error, "only models of family t5, with T5's norms, positions and linears, can be exported");
    if (config->scale_logits && !config->tie_embeddings)
        return fail_user(error, "Hugging Face's T5 has no scaled logits (model.scale_logits) without tied embeddings "
                                "(model.tie_embeddings)");
    if (config->gated != (config->activation == (int)ACT_GELU_TANH))
        return fail_user(error, "Hugging Face's T5 has relu without a gate or gelu_tanh with one (model.activation, "
                                "model.gated)");
    if (tok && !g_str_has_prefix(tokenizer_kind(tok), "sentencepiece"))
        return fail_user(error, "Hugging Face's T5 has a SentencePiece tokenizer; %s is of kind %s",
                         tokenizer_path(tok), tokenizer_kind(tok));
    if (tok && tokenizer_size(tok) > config->vocab)
        return fail_user(error, "the tokenizer %s has %d tokens, the model only %" G_GINT64_FORMAT, tokenizer_path(tok),
                         tokenizer_size(tok), config->vocab);
    return true;
}

bool hf_export_as(Model *model, const Tokenizer *tok, const HfForm *form, const char *folder, GError **error)
{
    g_autofree char *whole = g_canonicalize_filename(folder, NULL);
    g_autofree char *parent = g_path_get_dirname(whole), *name = g_path_get_basename(whole);
    g_autofree char *tmp_name = g_strconcat("tmp-", name, NULL);
    g_autofree char *tmp = g_build_filename(parent, tmp_name, NULL);
    const ModelConfig *config = model_config(model);
    if (!check_exportable(config, tok, error) || !folder_is_free(whole, error) || !io_make_directories(parent, error) ||
        !io_remove_tree(tmp, error) || !io_make_directories(tmp, error))
        return false;
    if (write_configs(tmp, config, tok, form->dtype, error) && write_tensors(tmp, model, form, error) &&
        (tok == NULL || write_tokenizer(tmp, tok, error)) && io_sync_directory(tmp, error) &&
        io_rename(tmp, whole, error) && io_sync_directory(parent, error))
        return true;
    io_remove_tree(tmp, NULL);
    return false;
}

bool hf_export(Model *model, const Tokenizer *tok, const char *folder, GError **error)
{
    return hf_export_as(model, tok, &(HfForm){ .dtype = "F32" }, folder, error);
}
