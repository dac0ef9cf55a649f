#include "model/hf_tokenizer.h"

#include "base/file.h"
#include "base/log.h"

#include <jansson.h>
#include <string.h>

static bool write_object(const char *folder, const char *name, const json_t *root, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *json = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
    g_autofree char *text = g_strconcat(json, "\n", NULL);
    free(json);
    return io_write_file(path, text, strlen(text), error);
}

static json_t *special_tokens(const Tokenizer *tok)
{
    static const char *const bert[][2] = { { "cls_token", "[CLS]" },
                                           { "sep_token", "[SEP]" },
                                           { "mask_token", "[MASK]" } };
    json_t *root = json_object();
    bool is_bert = tokenizer_special(tok, "[CLS]") >= 0 && tokenizer_special(tok, "[SEP]") >= 0;
    const struct {
        const char *key;
        int id;
    } tokens[] = { { "pad_token", tokenizer_pad(tok) },
                   { "unk_token", tokenizer_unk(tok) },
                   { "bos_token", is_bert ? -1 : tokenizer_bos(tok) },
                   { "eos_token", is_bert ? -1 : tokenizer_eos(tok) } };
    for (size_t i = 0; i < G_N_ELEMENTS(tokens); i++)
        if (tokens[i].id >= 0)
            json_object_set_new(root, tokens[i].key, json_string(tokenizer_piece(tok, tokens[i].id)));
    for (size_t i = 0; is_bert && i < G_N_ELEMENTS(bert); i++)
        if (tokenizer_special(tok, bert[i][1]) >= 0)
            json_object_set_new(root, bert[i][0], json_string(bert[i][1]));
    bool is_bytes = strcmp(tokenizer_kind(tok), "bytes") == 0; /* ByT5Tokenizer makes its 125 itself */
    if (tokenizer_sentinel(tok, 0) >= 0 && !is_bytes) {
        json_t *sentinels = json_array();
        for (int i = 0; i < TOKENIZER_SENTINELS; i++)
            json_array_append_new(sentinels, json_string(tokenizer_piece(tok, tokenizer_sentinel(tok, i))));
        json_object_set_new(root, "additional_special_tokens", sentinels);
    }
    return root;
}

/* The general class takes tokenizer.json as it stands; those named after a model build one of their own. */
static json_t *config_of(const Tokenizer *tok, const json_t *special)
{
    json_t *config = json_deep_copy(special), *inputs = json_pack("[s, s]", "input_ids", "attention_mask");
    bool is_bytes = strcmp(tokenizer_kind(tok), "bytes") == 0;
    if (tokenizer_special(tok, "[CLS]") >= 0)
        json_array_append_new(inputs, json_string("token_type_ids"));
    json_object_set_new(config, "tokenizer_class", json_string(is_bytes ? "ByT5Tokenizer" : "PreTrainedTokenizerFast"));
    json_object_set_new(config, "model_input_names", inputs);
    json_object_set_new(config, "clean_up_tokenization_spaces", json_false());
    return config;
}

/* Of the settings that tokenizer_copy wrote, those that say how text is read; others name programs. */
static bool keep_settings(const char *folder, json_t *config, GError **error)
{
    static const char *const kept[] = { "added_tokens_decoder", "do_lower_case", "strip_accents",
                                        "tokenize_chinese_chars" };
    g_autofree char *path = g_build_filename(folder, "tokenizer_config.json", NULL);
    json_error_t wrong;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    json_t *settings = json_load_file(path, JSON_DECODE_INT_AS_REAL, &wrong);
    if (settings == NULL)
        return fail_user(error, "%s:%d: %s", path, wrong.line, wrong.text);
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++)
        if (json_object_get(settings, kept[i]))
            json_object_set(config, kept[i], json_object_get(settings, kept[i]));
    json_decref(settings);
    return true;
}

/* What other programs read too; ranks are tiktoken's alone. */
static bool copy_own_files(const char *folder, const Tokenizer *tok, GError **error)
{
    return g_str_has_suffix(tokenizer_path(tok), ".tiktoken") || tokenizer_copy(tok, folder, error);
}

bool hf_write_tokenizer(const char *folder, const Tokenizer *tok, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    if (!tokenizer_has_json(tok)) {
        log_warning("the tokenizer has no form in tokenizer.json: copy %s yourself", tokenizer_path(tok));
        return true;
    }
    json_t *special = special_tokens(tok), *config = config_of(tok, special);
    bool done = copy_own_files(folder, tok, error) && keep_settings(folder, config, error) &&
                write_object(folder, "special_tokens_map.json", special, error) &&
                write_object(folder, "tokenizer_config.json", config, error) && tokenizer_write_json(tok, path, error);
    json_decref(special);
    json_decref(config);
    return done;
}
