#include "text/sentencepiece/sentencepiece.h"
#include "text/tokenizer_json.h"

#include <string.h>
#include <xxhash.h>

static const char *const gpt2_tokens[TOKEN_ROLES] = {
    [ROLE_BOS] = "<|endoftext|>", [ROLE_EOS] = "<|endoftext|>", [ROLE_UNK] = "<|endoftext|>"
};
static const char *const roberta_tokens[TOKEN_ROLES] = {
    [ROLE_PAD] = "<pad>", [ROLE_UNK] = "<unk>", [ROLE_EOS] = "</s>",   [ROLE_BOS] = "<s>",
    [ROLE_CLS] = "<s>",   [ROLE_SEP] = "</s>",  [ROLE_MASK] = "<mask>"
};

/* The classes and the models whose class they are if no file names one. */
static const struct {
    const char *name, *model_type;
    ClassText text;
    bool prefix_space; /* add_prefix_space if tokenizer_config.json does not have the key */
    const char *const *special_tokens;
} classes[] = {
    { "GPT2Tokenizer", "gpt2", CLASS_BYTE_LEVEL, false, gpt2_tokens },
    { "RobertaTokenizer", "roberta", CLASS_BYTE_LEVEL, false, roberta_tokens },
    { "LlamaTokenizer", NULL, CLASS_METASPACE, true, NULL },
};

/* For these models transformers ignores tokenizer_class and takes tokenizer.json as it is. */
static const char *const as_file_models[] = { "modernbert", "modernbert-decoder", NULL };

TokenizerClass tokenizer_class_of(const json_t *settings, const json_t *config)
{
    TokenizerClass found = { .text = CLASS_AS_FILE };
    const char *name = json_text(settings, "tokenizer_class"), *model_type = json_text(config, "model_type");
    name = *name ? name : json_text(config, "tokenizer_class");
    size_t bytes = strlen(name) - (g_str_has_suffix(name, "Fast") ? strlen("Fast") : 0);
    const json_t *prefix = json_object_get(settings, "add_prefix_space"), *legacy = json_object_get(settings, "legacy");
    for (size_t i = 0; i < G_N_ELEMENTS(classes) && !g_strv_contains(as_file_models, model_type); i++) {
        bool named = strlen(classes[i].name) == bytes && strncmp(classes[i].name, name, bytes) == 0;
        if (named || (*name == 0 && g_strcmp0(classes[i].model_type, model_type) == 0))
            found = (TokenizerClass){ classes[i].text, classes[i].name,
                                      json_is_boolean(prefix) ? json_is_true(prefix) : classes[i].prefix_space,
                                      !json_is_true(legacy), classes[i].special_tokens };
    }
    return found;
}

bool tokenizer_class_is_byte_level(const json_t *root)
{
    json_t *part = json_object_get(root, "pre_tokenizer"), *list = json_object_get(part, "pretokenizers"), *inner;
    size_t i;
    bool found = strcmp(json_text(part, "type"), "ByteLevel") == 0;
    json_array_foreach(list, i, inner) found |= strcmp(json_text(inner, "type"), "ByteLevel") == 0;
    return found;
}

static json_t *metaspace(const TokenizerClass *class_)
{
    const char *scheme = !class_->prefix_space ? "never" : class_->first_only ? "first" : "always";
    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", SP_SPACE, "prepend_scheme", scheme,
                     "split", 0);
}

uint64_t tokenizer_class_hash(const TokenizerClass *class_)
{
    const int32_t fields[] = { (int32_t)class_->text, class_->prefix_space, class_->first_only };
    return XXH3_64bits(fields, sizeof fields) | 1;
}

static bool replace_part(json_t *root, const char *key, json_t *part)
{
    json_t *before = json_object_get(root, key);
    bool same = before ? json_equal(before, part) : json_is_null(part);
    json_object_set_new(root, key, part);
    return !same;
}

/* A pre_tokenizer that is ByteLevel by GPT-2's pattern already stays, whatever its trim_offsets. */
static bool apply_byte_level(const TokenizerClass *class_, json_t *root)
{
    json_t *before = json_object_get(root, "pre_tokenizer");
    bool same = strcmp(json_text(before, "type"), "ByteLevel") == 0 &&
                !json_is_false(json_object_get(before, "use_regex")) &&
                json_is_true(json_object_get(before, "add_prefix_space")) == class_->prefix_space;
    return !same && replace_part(root, "pre_tokenizer",
                                 json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                                           (int)class_->prefix_space, "trim_offsets", 1, "use_regex", 1));
}

bool tokenizer_class_apply(const TokenizerClass *class_, json_t *root)
{
    json_t *model = json_object_get(root, "model");
    const char *type = json_text(model, "type");
    bool bpe = *type ? strcmp(type, "BPE") == 0 : json_object_get(model, "merges") != NULL;
    if (!bpe || class_->text == CLASS_AS_FILE ||
        (class_->text == CLASS_BYTE_LEVEL) != tokenizer_class_is_byte_level(root))
        return false;
    bool changed = replace_part(root, "normalizer", json_null());
    if (class_->text == CLASS_BYTE_LEVEL)
        return apply_byte_level(class_, root) || changed;
    return replace_part(root, "pre_tokenizer", metaspace(class_)) || changed;
}
