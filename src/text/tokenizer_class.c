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
    { "BertTokenizer", "bert", CLASS_BERT, false, NULL },
    { "DistilBertTokenizer", "distilbert", CLASS_BERT, false, NULL },
    { "ElectraTokenizer", "electra", CLASS_BERT, false, NULL },
    { "MobileBertTokenizer", "mobilebert", CLASS_BERT, false, NULL },
};

/* For these models transformers ignores tokenizer_class and takes tokenizer.json as it is. */
static const char *const as_file_models[] = { "modernbert", "modernbert-decoder", NULL };

static bool flag_at(const json_t *settings, const char *key, bool otherwise)
{
    const json_t *value = json_object_get(settings, key);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

TokenizerClass tokenizer_class_of(const json_t *settings, const json_t *config)
{
    TokenizerClass found = { .text = CLASS_AS_FILE };
    const char *name = json_text(settings, "tokenizer_class"), *model_type = json_text(config, "model_type");
    name = *name ? name : json_text(config, "tokenizer_class");
    size_t bytes = strlen(name) - (g_str_has_suffix(name, "Fast") ? strlen("Fast") : 0);
    const bool lowercase = flag_at(settings, "do_lower_case", true);
    for (size_t i = 0; i < G_N_ELEMENTS(classes) && !g_strv_contains(as_file_models, model_type); i++) {
        bool named = strlen(classes[i].name) == bytes && strncmp(classes[i].name, name, bytes) == 0;
        if (named || (*name == 0 && g_strcmp0(classes[i].model_type, model_type) == 0))
            found = (TokenizerClass){ .text = classes[i].text,
                                      .name = classes[i].name,
                                      .prefix_space = flag_at(settings, "add_prefix_space", classes[i].prefix_space),
                                      .first_only = !flag_at(settings, "legacy", false),
                                      .lowercase = lowercase,
                                      .strip_accents = flag_at(settings, "strip_accents", lowercase),
                                      .chinese_chars = flag_at(settings, "tokenize_chinese_chars", true),
                                      .cased_by_key = json_object_get(settings, "do_lower_case") != NULL,
                                      .special_tokens = classes[i].special_tokens };
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
    const bool bert = class_->text == CLASS_BERT;
    const int32_t fields[] = { (int32_t)class_->text, bert ? class_->lowercase : class_->prefix_space,
                               bert ? class_->strip_accents + 2 * class_->chinese_chars : class_->first_only };
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

/* Without a strip_accents, accents are stripped if text is lower-cased. */
static bool apply_bert(const TokenizerClass *class_, json_t *root)
{
    json_t *before = json_object_get(root, "normalizer");
    if (before && !json_is_boolean(json_object_get(before, "strip_accents")))
        json_object_set(before, "strip_accents", json_object_get(before, "lowercase"));
    bool changed = replace_part(root, "normalizer",
                                json_pack("{s:s, s:b, s:b, s:b, s:b}", "type", "BertNormalizer", "clean_text", 1,
                                          "handle_chinese_chars", (int)class_->chinese_chars, "strip_accents",
                                          (int)class_->strip_accents, "lowercase", (int)class_->lowercase));
    return replace_part(root, "pre_tokenizer", json_pack("{s:s}", "type", "BertPreTokenizer")) || changed;
}

bool tokenizer_class_apply(const TokenizerClass *class_, json_t *root)
{
    json_t *model = json_object_get(root, "model");
    const char *type = json_text(model, "type");
    bool bpe = *type ? strcmp(type, "BPE") == 0 : json_object_get(model, "merges") != NULL;
    bool wordpiece = *type ? strcmp(type, "WordPiece") == 0 : !bpe && json_is_object(json_object_get(model, "vocab"));
    if (class_->text == CLASS_BERT)
        return wordpiece && apply_bert(class_, root);
    if (!bpe || class_->text == CLASS_AS_FILE ||
        (class_->text == CLASS_BYTE_LEVEL) != tokenizer_class_is_byte_level(root))
        return false;
    bool changed = replace_part(root, "normalizer", json_null());
    if (class_->text == CLASS_BYTE_LEVEL)
        return apply_byte_level(class_, root) || changed;
    return replace_part(root, "pre_tokenizer", metaspace(class_)) || changed;
}
