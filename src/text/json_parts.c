#include "text/json_parts.h"

#include "base/text.h"

#include <stddef.h>
#include <string.h>

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

json_t *json_tokenizer(json_t *added, json_t *normalizer, json_t *pre_tokenizer, json_t *post_processor,
                       json_t *decoder, json_t *model)
{
    return json_pack("{s:s, s:n, s:n, s:o, s:o?, s:o?, s:o?, s:o?, s:o}", "version", "1.0", "truncation", "padding",
                     "added_tokens", added, "normalizer", normalizer, "pre_tokenizer", pre_tokenizer, "post_processor",
                     post_processor, "decoder", decoder, "model", model);
}

/* ---- blanks ---- */

/* A regular expression for the space that belongs to a blank; NULL if no added token is a blank. */
static char *space_pattern(const json_t *root, const char *space, bool after)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    size_t i;
    json_t *token;
    json_array_foreach(json_object_get(root, "added_tokens"), i, token)
    {
        const char *name = json_string_value(json_object_get(token, "content"));
        if (name && *name && json_is_true(json_object_get(token, "special")) &&
            json_is_true(json_object_get(token, "normalized")))
            g_ptr_array_add(names, (char *)name);
    }
    if (names->len == 0)
        return NULL;
    /* of alternatives in a lookbehind each must have one length */
    size_t n = after || names->len == 1 ? 0 : strlen(names->pdata[0]);
    for (i = 1; i < names->len; i++)
        n = MIN(n, text_common(names->pdata[0], names->pdata[i]));
    g_autofree char *start = g_regex_escape_string(names->pdata[0], (gint)n);
    g_autoptr(GString) any = g_string_new(n ? start : NULL);
    for (i = 0; i < names->len; i++) {
        g_autofree char *rest = g_regex_escape_string((const char *)names->pdata[i] + n, -1);
        g_string_append_printf(any, "%s%s", i > 0 ? "|" : n > 0 ? "(?:" : "", rest);
    }
    return after ? g_strdup_printf("(?<=%s)%s", any->str, space)
                 : g_strdup_printf("%s(?=%s%s)", space, any->str, n > 0 ? ")" : "");
}

bool json_joins_blanks(const json_t *root, const json_t *step, const char *space, bool after)
{
    const char *type = json_string_value(json_object_get(step, "type")),
               *regex = json_string_value(json_object_get(json_object_get(step, "pattern"), "Regex")),
               *content = json_string_value(json_object_get(step, "content"));
    g_autofree char *pattern = space_pattern(root, space, after);
    return pattern && g_strcmp0(type, "Replace") == 0 && g_strcmp0(regex, pattern) == 0 && content && *content == 0;
}

static void append_step(json_t *root, json_t *step)
{
    json_t *normalizer = json_object_get(root, "normalizer"), *steps = json_object_get(normalizer, "normalizers");
    if (steps)
        json_array_append_new(steps, step);
    else if (json_is_object(normalizer))
        json_object_set_new(root, "normalizer",
                            json_pack("{s:s, s:[O, o]}", "type", "Sequence", "normalizers", normalizer, step));
    else
        json_object_set_new(root, "normalizer", step);
}

void json_join_blanks(json_t *root, GHashTable *names, const char *space, bool after)
{
    size_t i;
    json_t *token;
    json_array_foreach(json_object_get(root, "added_tokens"), i, token)
    {
        const char *name = json_string_value(json_object_get(token, "content"));
        bool blank = name && g_hash_table_contains(names, name);
        if (blank) {
            json_object_set_new(token, "lstrip", json_false());
            json_object_set_new(token, "rstrip", json_false());
        }
        json_object_set_new(token, "normalized",
                            json_boolean(blank || (json_is_true(json_object_get(token, "normalized")) &&
                                                   !json_is_true(json_object_get(token, "special")))));
    }
    g_autofree char *pattern = space_pattern(root, space, after);
    if (pattern)
        append_step(root,
                    json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "Regex", pattern, "content", ""));
}
