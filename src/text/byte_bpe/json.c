/* byte_bpe/json.c: reads a byte-level BPE model from a tokenizer.json. */
#include "text/byte_bpe/model.h"

#include <string.h>

/* The settings of the pre_tokenizer, filled step by step. */
typedef struct Plan {
    GPtrArray *patterns;   /* char *; see pre_tokenizer_open */
    uint32_t matches_only; /* see pre_tokenizer_open */
    bool byte_level;       /* the step ByteLevel, which must be the last, has been read */
    bool gpt2;             /* ByteLevel splits by GPT-2's pattern (use_regex) */
    bool add_prefix_space;
} Plan;

static bool read_split(json_t *step, Plan *plan, GError **error)
{
    json_t *pattern = json_object_get(step, "pattern");
    const char *behavior = json_text(step, "behavior"), *regex = json_string_value(json_object_get(pattern, "Regex"));
    bool removes = strcmp(behavior, "Removed") == 0 && json_is_true(json_object_get(step, "invert"));
    if (strcmp(behavior, "Isolated") != 0 && !removes)
        return fail_user(error, "its pre_tokenizer splits with behavior %s, want Isolated", behavior);
    if (removes && plan->patterns->len < PRE_TOKENIZER_PATTERNS)
        plan->matches_only |= 1u << plan->patterns->len;
    if (regex) {
        g_ptr_array_add(plan->patterns, g_strdup(regex));
        return true;
    }
    const char *literal = json_string_value(json_object_get(pattern, "String"));
    if (literal == NULL || *literal == 0)
        return fail_user(error, "its pre_tokenizer has a Split without a pattern");
    g_ptr_array_add(plan->patterns, g_regex_escape_string(literal, -1));
    return true;
}

static bool read_step(json_t *step, Plan *plan, GError **error)
{
    const char *type = json_text(step, "type");
    if (plan->byte_level)
        return fail_user(error, "its pre_tokenizer has %s after ByteLevel, want ByteLevel as the last", type);
    if (strcmp(type, "Split") == 0)
        return read_split(step, plan, error);
    if (strcmp(type, "Digits") == 0) {
        bool single = json_is_true(json_object_get(step, "individual_digits"));
        g_ptr_array_add(plan->patterns, g_strdup(single ? "\\p{N}" : "\\p{N}+"));
        return true;
    }
    if (strcmp(type, "ByteLevel") != 0)
        return fail_user(error, "its pre_tokenizer is %s; of BPE only the byte-level kind can be read", type);
    plan->byte_level = true;
    plan->add_prefix_space = json_is_true(json_object_get(step, "add_prefix_space"));
    plan->gpt2 = !json_is_false(json_object_get(step, "use_regex"));
    return true;
}

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static bool read_plan(const TokenizerJson *json, Plan *plan, GError **error)
{
    json_t *steps = json_object_get(json->pre_tokenizer, "pretokenizers"), *step;
    size_t i;
    if (json->pre_tokenizer && steps == NULL && !read_step(json->pre_tokenizer, plan, error))
        return false;
    json_array_foreach(steps, i, step) if (!read_step(step, plan, error)) return false;
    if (!plan->byte_level)
        return fail_user(error, "it has no ByteLevel pre_tokenizer; of BPE only the byte-level kind can be read");
    if (plan->add_prefix_space && plan->patterns->len > 0)
        return fail_user(error, "its ByteLevel puts a space before all that the steps before it split off: want "
                                "add_prefix_space false, or ByteLevel alone");
    if (plan->gpt2)
        g_ptr_array_add(plan->patterns, g_strdup(GPT2));
    return true;
}

/* The normalizer without its step for blanks, which changes no other text. A new reference; NULL if nothing is left. */
static json_t *other_steps(const TokenizerJson *json, bool *joins_blanks)
{
    const size_t n = json_array_size(json_object_get(json->normalizer, "normalizers"));
    *joins_blanks = json_joins_blanks(json->root, " ", false);
    if (!*joins_blanks)
        return json_incref(json->normalizer);
    if (n == 0)
        return NULL;
    json_t *rest = json_deep_copy(json->normalizer);
    json_array_remove(json_object_get(rest, "normalizers"), n - 1);
    return rest;
}

static bool read_merges(ByteBpe *model, const TokenizerJson *json, GError **error)
{
    g_autoptr(GPtrArray) pairs = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; i < tokenizer_json_merges(json); i++) {
        char *left = NULL, *right = NULL;
        if (!tokenizer_json_merge(json, i, &left, &right, error))
            return false;
        g_ptr_array_add(pairs, left);
        g_ptr_array_add(pairs, right);
    }
    return byte_bpe_set_merges(model, pairs, error);
}

/* Refuses options of a BPE model that byte-level models do not have. */
static bool check_bpe_json(const TokenizerJson *json, GError **error)
{
    static const char *const texts[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        if (*json_text(json->model, texts[i]))
            return fail_user(error, "its model has a %s, which a byte-level BPE has not", texts[i]);
    json_t *dropout = json_object_get(json->model, "dropout");
    if (json_is_number(dropout) ? json_number_value(dropout) != 0 : dropout && !json_is_null(dropout))
        return fail_user(error, "its model has a dropout, so splits a text differently each time: set it to null");
    if (json_is_true(json_object_get(json->model, "byte_fallback")))
        return fail_user(error, "its BPE falls back to bytes; only the byte-level kind can be read");
    return true;
}

/* unk_token stands for bytes without a piece, one for each byte. fuse_unk would make one of a run of them, so it is
 * accepted only if every byte that occurs in UTF-8 has a piece. */
static bool read_unknown(ByteBpe *model, const TokenizerJson *json, GError **error)
{
    const char *name = json_string_value(json_object_get(json->model, "unk_token"));
    model->unk = name ? byte_bpe_id(model, name) : -1;
    bool fuses = model->unk >= 0 && json_is_true(json_object_get(json->model, "fuse_unk"));
    for (int byte = 0; fuses && byte < 0xf5; byte++) {
        g_autofree char *piece = byte_bpe_name(&(char){ (char)byte }, 1);
        if (byte != 0xc0 && byte != 0xc1 && byte_bpe_id(model, piece) < 0)
            return fail_user(error, "its model has fuse_unk, but no piece for byte 0x%02x: want a piece for every byte",
                             byte);
    }
    return true;
}

static bool fill_bpe(ByteBpe *model, const TokenizerJson *json, Plan *plan, bool *joins_blanks, GError **error)
{
    bool only_gpt2 = plan->gpt2 && plan->patterns->len == 1;
    model->add_prefix_space = plan->add_prefix_space;
    model->whole_words = json_is_true(json_object_get(json->model, "ignore_merges"));
    model->pre_tokenizer =
        only_gpt2 ? pre_tokenizer_open_gpt2() : pre_tokenizer_open(plan->patterns, plan->matches_only, error);
    json_auto_t *normalizer = other_steps(json, joins_blanks);
    model->normalizer = normalizer_open(normalizer, error);
    return model->normalizer && model->pre_tokenizer && read_unknown(model, json, error) &&
           read_merges(model, json, error);
}

void *byte_bpe_open_json(const TokenizerJson *json, TokenizerFacts *facts, GError **error)
{
    g_autoptr(GPtrArray) patterns = g_ptr_array_new_with_free_func(g_free);
    Plan plan = { .patterns = patterns };
    if (!check_bpe_json(json, error) || !read_plan(json, &plan, error))
        return NULL;
    ByteBpe *model = byte_bpe_new(json->pieces, json->added);
    bool joins_blanks = false;
    if (!fill_bpe(model, json, &plan, &joins_blanks, error)) {
        byte_bpe_free(model);
        return NULL;
    }
    byte_bpe_facts(model, facts);
    facts->joins_blanks = joins_blanks;
    return model;
}
