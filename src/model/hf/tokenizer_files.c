/* tokenizer_files.c: writes the tokenizer files of a Hugging Face folder. */
#include "model/hf/hf.h"

#include "model/hf/keys.h"
#include "text/tokenizer_json.h"

/* Whether texts get [CLS] and [SEP]: if the model is encoder-only or, with model NULL, if the tokenizer has a mask. */
static bool is_encoder_s(const Tokenizer *tok, const ModelConfig *model)
{
    return model ? model->n_dec == 0 : tokenizer_role(tok, ROLE_MASK) >= 0;
}

/* The special tokens that the files name, by role; -1 means none. BERT's [CLS] and [SEP] are not also bos and eos. */
static void find_roles(const Tokenizer *tok, const ModelConfig *model, int ids[TOKEN_ROLES])
{
    bool encoder = is_encoder_s(tok, model);
    for (int role = 0; role < TOKEN_ROLES; role++)
        ids[role] = role < ROLE_CLS ? tokenizer_role(tok, (TokenRole)role)
                    : encoder       ? tokenizer_encoder_role(tok, (TokenRole)role)
                                    : -1;
    bool bert = ids[ROLE_CLS] >= 0 && tokenizer_piece(tok, ids[ROLE_CLS])[0] == '[';
    if (bert && ids[ROLE_BOS] == ids[ROLE_CLS])
        ids[ROLE_BOS] = -1;
    if (bert && ids[ROLE_EOS] == ids[ROLE_SEP])
        ids[ROLE_EOS] = -1;
}

static json_t *special_tokens(const Tokenizer *tok, const int ids[TOKEN_ROLES])
{
    json_t *root = json_object();
    for (int role = 0; role < TOKEN_ROLES; role++)
        if (ids[role] >= 0)
            json_object_set_new(root, token_role_key((TokenRole)role), json_string(tokenizer_piece(tok, ids[role])));
    /* ByT5Tokenizer of transformers adds its 125 sentinels itself. */
    bool is_bytes = strcmp(tokenizer_kind(tok), "bytes") == 0;
    if (tokenizer_sentinel(tok, 0) >= 0 && !is_bytes) {
        json_t *sentinels = json_array();
        for (int i = 0; i < tokenizer_sentinels(tok); i++)
            json_array_append_new(sentinels, json_string(tokenizer_piece(tok, tokenizer_sentinel(tok, i))));
        json_object_set_new(root, "additional_special_tokens", sentinels);
    }
    return root;
}

/* ---- tokens added around a text ---- */

/* The special tokens around a text if no model is given: the tokenizer's own frame; else [CLS] and [SEP] if it has a
 * mask token; else EOS at the end if it has sentinels, as for T5. */
static TextFrame frame_of_tokenizer(const Tokenizer *tok, const int ids[TOKEN_ROLES])
{
    if (!frame_is_empty(tokenizer_frame(tok)))
        return *tokenizer_frame(tok);
    if (is_encoder_s(tok, NULL) && ids[ROLE_CLS] >= 0 && ids[ROLE_SEP] >= 0)
        return frame_of(ids[ROLE_CLS], ids[ROLE_SEP], strcmp(tokenizer_piece(tok, ids[ROLE_CLS]), "<s>") == 0);
    return frame_of(-1, tokenizer_sentinel(tok, 0) >= 0 ? ids[ROLE_EOS] : -1, false);
}

/* The post_processor that adds these special tokens. RoBERTa has two separators in a pair and no token types. */
static json_t *post_processor(const Tokenizer *tok, const TextFrame *frame)
{
    const char *begin = frame->before.n == 1 ? tokenizer_piece(tok, frame->before.ids[0]) : "";
    bool encoder = frame->before.n > 0 && frame->after.n > 0;
    if (!encoder || strcmp(begin, "<s>") != 0 || frame->between.n != 2)
        return frame_json(frame, encoder, tok);
    return json_pack("{s:s, s:[s, i], s:[s, i], s:b, s:b}", "type", "RobertaProcessing", "sep",
                     tokenizer_piece(tok, frame->after.ids[0]), frame->after.ids[0], "cls", begin, frame->before.ids[0],
                     "trim_offsets", 1, "add_prefix_space", 0);
}

static bool write_json(const char *folder, const Tokenizer *tok, const ModelConfig *model, const int ids[TOKEN_ROLES],
                       GError **error)
{
    TextFrame own;
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    json_auto_t *written = NULL;
    if (!tokenizer_write_json(tok, path, NULL, error) ||
        !tokenizer_json_read(folder, "tokenizer.json", &written, error) ||
        !frame_read(&own, json_object_get(written, "post_processor"), tok, error))
        return false;
    TextFrame frame = model ? model_text_frame(model, tok) : frame_of_tokenizer(tok, ids);
    return (frame_equal(&own, &frame) || tokenizer_write_json(tok, path, post_processor(tok, &frame), error)) &&
           tokenizer_record_hash(tok, folder, error);
}

/* Copies the settings of the base model's tokenizer_config.json, except those that name its files, classes and code. */
static void keep_settings(const Tokenizer *tok, json_t *config)
{
    static const char *const dropped[] = { "name_or_path", "auto_map", "backend", "is_local", "corpus_hash", NULL };
    json_t *base = (json_t *)(uintptr_t)tokenizer_settings(tok), *value;
    const char *key;
    json_object_foreach(base, key, value)
    {
        if (json_object_get(config, key) == NULL && !g_strv_contains(dropped, key) && !g_str_has_suffix(key, "_file"))
            json_object_set(config, key, value);
    }
}

/* Sets model_max_length, to which transformers' pipelines truncate: `longest` or, if this is 0, the base model's, at
 * most the model's positions. */
static void bound_length(json_t *config, const ModelConfig *model, int64_t longest)
{
    if (longest > 0)
        json_object_set_new(config, "model_max_length", json_integer(longest));
    const json_t *base = json_object_get(config, "model_max_length");
    if (model && model_config_bounds_length(model) &&
        !(json_is_number(base) && json_number_value(base) <= (double)model->max_positions))
        json_object_set_new(config, "model_max_length", json_integer(model->max_positions));
}

/* Keeps the added tokens, and how blanks are encoded, of the tokenizer_config.json that tokenizer_copy wrote. */
static bool keep_added(const char *folder, json_t *config, GError **error)
{
    json_auto_t *written = NULL;
    if (!tokenizer_json_read(folder, "tokenizer_config.json", &written, error))
        return false;
    static const char *const kept[] = { "added_tokens_decoder", "blanks" };
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++) {
        json_t *value = json_object_get(written, kept[i]);
        if (value)
            json_object_set(config, kept[i], value);
        else
            json_object_del(config, kept[i]);
    }
    return true;
}

/* The contents of tokenizer_config.json. The class is PreTrainedTokenizerFast, which uses tokenizer.json unchanged;
 * classes of models would build one of their own. token_type_ids are listed only for models with token types. */
static json_t *config_of(const Tokenizer *tok, const ModelConfig *model, int64_t longest, const json_t *special)
{
    json_t *config = json_deep_copy(special), *inputs = json_pack("[s, s]", "input_ids", "attention_mask");
    bool is_bytes = strcmp(tokenizer_kind(tok), "bytes") == 0;
    if (model ? model->token_types > 1 : tokenizer_id(tok, "[CLS]") >= 0)
        json_array_append_new(inputs, json_string("token_type_ids"));
    json_object_set_new(config, "tokenizer_class", json_string(is_bytes ? "ByT5Tokenizer" : "PreTrainedTokenizerFast"));
    json_object_set_new(config, "model_input_names", inputs);
    keep_settings(tok, config);
    if (json_object_get(config, "clean_up_tokenization_spaces") == NULL)
        json_object_set_new(config, "clean_up_tokenization_spaces", json_false());
    bound_length(config, model, longest);
    return config;
}

bool hf_write_tokenizer(const char *folder, const Tokenizer *tok, const ModelConfig *model, int64_t longest,
                        GError **error)
{
    if (!tokenizer_has_json(tok)) {
        log_warning("the tokenizer cannot be written as tokenizer.json: copy %s yourself", tokenizer_path(tok));
        return true;
    }
    int ids[TOKEN_ROLES];
    find_roles(tok, model, ids);
    json_auto_t *special = special_tokens(tok, ids), *config = config_of(tok, model, longest, special);
    bool only_tiktoken_reads = g_str_has_suffix(tokenizer_path(tok), ".tiktoken");
    return (only_tiktoken_reads || tokenizer_copy(tok, folder, error)) && keep_added(folder, config, error) &&
           hf_write_object(folder, "special_tokens_map.json", json_incref(special), error) &&
           hf_write_object(folder, "tokenizer_config.json", json_incref(config), error) &&
           write_json(folder, tok, model, ids, error);
}

void hf_report_blanks(const Tokenizer *tok)
{
    const int mask = tokenizer_role(tok, ROLE_MASK), blank = mask >= 0 ? mask : tokenizer_sentinel(tok, 0);
    if (tokenizer_has_json(tok) && !tokenizer_json_keeps_blanks(tok))
        log_info(
            "transformers reads text that touches a blank, as \"ed\" in re%sed, as a new word, loam as the rest of "
            "one; --blanks transformers (in a configuration tokenizer.blanks) gives the same ids in both",
            tokenizer_piece(tok, blank));
}
