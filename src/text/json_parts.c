#include "text/json_parts.h"

#include <stddef.h>

json_t *json_added_token(const AddedToken *token)
{
    return json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", token->id, "content", token->content, "single_word",
                     (int)token->single_word, "lstrip", (int)token->lstrip, "rstrip", (int)token->rstrip, "normalized",
                     (int)token->normalized, "special", (int)token->special);
}

json_t *json_added_tokens(const GArray *tokens)
{
    json_t *list = json_array();
    for (guint i = 0; i < tokens->len; i++)
        json_array_append_new(list, json_added_token(&g_array_index(tokens, AddedToken, i)));
    return list;
}

static void append_special(json_t *list, const char *token, int type)
{
    if (token)
        json_array_append_new(list, json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", token, "type_id", type));
}

static void append_text(json_t *list, const char *name, int type)
{
    json_array_append_new(list, json_pack("{s:{s:s, s:i}}", "Sequence", "id", name, "type_id", type));
}

static void name_special(json_t *names, const char *token, int id)
{
    if (token)
        json_object_set_new(names, token, json_pack("{s:s, s:[i], s:[s]}", "id", token, "ids", id, "tokens", token));
}

json_t *json_template(const JsonTemplate *around)
{
    json_t *single = json_array(), *pair = json_array(), *names = json_object();
    append_special(single, around->begin, 0);
    append_text(single, "A", 0);
    append_special(single, around->end, 0);
    append_special(pair, around->begin, 0);
    append_text(pair, "A", 0);
    append_special(pair, around->end, 0);
    append_text(pair, "B", around->typed);
    append_special(pair, around->end, around->typed);
    name_special(names, around->begin, around->begin_id);
    name_special(names, around->end, around->end_id);
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair", pair,
                     "special_tokens", names);
}

json_t *json_tokenizer(json_t *added, json_t *normalizer, json_t *pre_tokenizer, json_t *post_processor,
                       json_t *decoder, json_t *model)
{
    return json_pack("{s:s, s:n, s:n, s:o, s:o?, s:o?, s:o?, s:o?, s:o}", "version", "1.0", "truncation", "padding",
                     "added_tokens", added, "normalizer", normalizer, "pre_tokenizer", pre_tokenizer, "post_processor",
                     post_processor, "decoder", decoder, "model", model);
}
