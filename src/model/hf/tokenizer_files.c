/* tokenizer_files.c: the tokenizer files of a folder of Hugging Face. */
#include "model/hf/hf.h"

#include "base/log.h"
#include "model/hf/keys.h"
#include "nn/ctx.h"
#include "text/json_parts.h"
#include "text/post_processor.h"
#include "text/roles.h"

#include <string.h>

/* Whether texts are put between [CLS] and [SEP]: those of an encoder or, where no model is given, of a tokenizer with a
 * mask token. */
static bool is_encoder_s(const Tokenizer *tok, const ModelConfig *model)
{
    return model ? model->n_dec == 0 : tokenizer_role(tok, ROLE_MASK) >= 0;
}

/* The special tokens that the files name; -1 means none. BERT's [CLS] and [SEP] are not bos and eos as well. */
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
    bool is_bytes = strcmp(tokenizer_kind(tok), "bytes") == 0; /* ByT5Tokenizer makes its 125 itself */
    if (tokenizer_sentinel(tok, 0) >= 0 && !is_bytes) {
        json_t *sentinels = json_array();
        for (int i = 0; i < tokenizer_sentinels(tok); i++)
            json_array_append_new(sentinels, json_string(tokenizer_piece(tok, tokenizer_sentinel(tok, i))));
        json_object_set_new(root, "additional_special_tokens", sentinels);
    }
    return root;
}

/* ---- tokens added around a text ---- */

/* RoBERTa has two separators between the texts of a pair and no token types; other encoders have BERT's template. */
static json_t *encoder_template(const Tokenizer *tok, int cls, int sep)
{
    const char *begin = tokenizer_piece(tok, cls), *end = tokenizer_piece(tok, sep);
    if (strcmp(begin, "<s>") == 0)
        return json_pack("{s:s, s:[s, i], s:[s, i], s:b, s:b}", "type", "RobertaProcessing", "sep", end, sep, "cls",
                         begin, cls, "trim_offsets", 1, "add_prefix_space", 0);
    return json_template(&(JsonTemplate){ begin, end, cls, sep, true });
}

/* The post-processor of tokenizer.json where the model needs other tokens around a text than the tokenizer adds; NULL
 * means that the tokenizer's own is right. */
static json_t *post_processor(const Tokenizer *tok, const ModelConfig *model, const int ids[TOKEN_ROLES],
                              PostProcessor own)
{
    bool t5 = model && model->norm == NORM_RMS && model->position == POSITION_RELATIVE_BIAS;
    bool encoder = is_encoder_s(tok, model) && !t5 && ids[ROLE_CLS] >= 0 && ids[ROLE_SEP] >= 0;
    bool both = model ? model->n_enc > 0 && model->n_dec > 0 : tokenizer_sentinel(tok, 0) >= 0;
    if (encoder && (own.before != ids[ROLE_CLS] || own.after != ids[ROLE_SEP]))
        return encoder_template(tok, ids[ROLE_CLS], ids[ROLE_SEP]);
    if (!encoder && both && own.after < 0 && ids[ROLE_EOS] >= 0)
        return json_template(&(JsonTemplate){ .end = tokenizer_piece(tok, ids[ROLE_EOS]), .end_id = ids[ROLE_EOS] });
    if (model && model->n_enc == 0 && own.after == ids[ROLE_EOS] && ids[ROLE_BOS] < 0)
        return json_null(); /* the tokenizer adds an end, as T5 wants: a prompt that a decoder continues has none */
    return NULL;
}

/* Writes tokenizer.json, with the post-processor that the model needs. */
static bool write_json(const char *folder, const Tokenizer *tok, const ModelConfig *model, const int ids[TOKEN_ROLES],
                       GError **error)
{
    PostProcessor own;
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    if (!tokenizer_write_json(tok, path, error))
        return false;
    post_processor_read(folder, tok, &own);
    json_t *around = post_processor(tok, model, ids, own);
    return around == NULL || tokenizer_write_json_with(tok, path, around, error);
}

/* tokenizer_config.json. PreTrainedTokenizerFast takes tokenizer.json as it is; classes named after a model would build
 * their own tokenizer. token_type_ids are for models with segments. */
static json_t *config_of(const Tokenizer *tok, const ModelConfig *model, const json_t *special)
{
    json_t *config = json_deep_copy(special), *inputs = json_pack("[s, s]", "input_ids", "attention_mask");
    bool is_bytes = strcmp(tokenizer_kind(tok), "bytes") == 0;
    if (model ? model->token_types > 1 : tokenizer_id(tok, "[CLS]") >= 0)
        json_array_append_new(inputs, json_string("token_type_ids"));
    json_object_set_new(config, "tokenizer_class", json_string(is_bytes ? "ByT5Tokenizer" : "PreTrainedTokenizerFast"));
    json_object_set_new(config, "model_input_names", inputs);
    json_object_set_new(config, "clean_up_tokenization_spaces", json_false());
    return config;
}

/* Copies those settings of the tokenizer_config.json that tokenizer_copy wrote that change how text is read. */
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

bool hf_write_tokenizer(const char *folder, const Tokenizer *tok, const ModelConfig *model, GError **error)
{
    if (!tokenizer_has_json(tok)) {
        log_warning("the tokenizer has no form in tokenizer.json: copy %s yourself", tokenizer_path(tok));
        return true;
    }
    int ids[TOKEN_ROLES];
    find_roles(tok, model, ids);
    json_t *special = special_tokens(tok, ids), *config = config_of(tok, model, special);
    bool only_tiktoken_reads = g_str_has_suffix(tokenizer_path(tok), ".tiktoken");
    bool done = (only_tiktoken_reads || tokenizer_copy(tok, folder, error)) && keep_settings(folder, config, error) &&
                hf_write_object(folder, "special_tokens_map.json", json_incref(special), error) &&
                hf_write_object(folder, "tokenizer_config.json", json_incref(config), error) &&
                write_json(folder, tok, model, ids, error);
    json_decref(special);
    json_decref(config);
    return done;
}
