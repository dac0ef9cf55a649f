#include "text/tokenizer_json.h"

#include <string.h>

#define MAX_ID (1 << 21) /* exclusive */

void tokenizer_settings_clear(TokenizerSettings *config)
{
    g_clear_pointer(&config->added, g_array_unref);
    json_decref(config->root);
    json_decref(config->map);
    json_decref(config->old);
    *config = (TokenizerSettings){ 0 };
}

/* The string at a key, or the "content" of an object at the key; NULL means neither. */
static const char *content_at(const json_t *root, const char *key)
{
    const json_t *value = json_object_get(root, key);
    return json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
}

/* The piece that tokenizer_config.json gives for a role, by its key ("pad_token"). */
static const char *role(const TokenizerSettings *config, const char *key)
{
    const char *content = content_at(config->root, key);
    return content ? content : content_at(config->map, key);
}

static bool add_listed_token(TokenizerSettings *config, AddedToken token, GError **error)
{
    if (token.content == NULL || *token.content == 0 || token.id < 0)
        return fail_user(error, "an added token has no content, or its id is not 0 to %d", MAX_ID - 1);
    g_array_append_val(config->added, token);
    return true;
}

static int id_from_number(double id)
{
    return id >= 0 && id < MAX_ID ? (int)id : -1;
}

/* tokenizer_config.json: {"added_tokens_decoder": {"id": {"content", "lstrip", …}}}. */
static bool read_decoder(TokenizerSettings *config, json_t *decoder, GError **error)
{
    const char *number;
    json_t *object;
    json_object_foreach(decoder, number, object)
    {
        char *end;
        gint64 id = g_ascii_strtoll(number, &end, 10);
        AddedToken token = { .content = json_string_value(json_object_get(object, "content")),
                             .id = *end == 0 && end > number ? id_from_number((double)id) : -1 };
        added_token_read(object, &token);
        if (!add_listed_token(config, token, error))
            return fail_context(error, "tokenizer_config.json: added_tokens_decoder");
    }
    return true;
}

static bool is_listed(const json_t *list, const char *content)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(list, i, entry)
    {
        const char *text = json_string_value(json_is_object(entry) ? json_object_get(entry, "content") : entry);
        if (g_strcmp0(text, content) == 0)
            return true;
    }
    return false;
}

/* The value of special_tokens_map.json that names this token; NULL means that the token is not special. */
static const json_t *find_special(const TokenizerSettings *config, const char *content)
{
    const char *key;
    json_t *value;
    json_object_foreach(config->map, key, value)
    {
        if (json_is_array(value) ? is_listed(value, content) : g_strcmp0(content_at(config->map, key), content) == 0)
            return value;
    }
    return NULL;
}

/* added_tokens.json: {"content": id}; special_tokens_map.json says which of them are special. Its flags of them do not
 * count, as in transformers. */
static bool read_old(TokenizerSettings *config, GError **error)
{
    const char *content;
    json_t *id;
    json_object_foreach(config->old, content, id)
    {
        const bool special = find_special(config, content) != NULL;
        const AddedToken token = { .content = content,
                                   .id = json_is_number(id) ? id_from_number(json_number_value(id)) : -1,
                                   .special = special,
                                   .normalized = !special };
        if (!add_listed_token(config, token, error))
            return fail_context(error, "added_tokens.json");
    }
    return true;
}

bool tokenizer_settings_read(const char *folder, TokenizerSettings *config, GError **error)
{
    *config = (TokenizerSettings){ .added = g_array_new(FALSE, FALSE, sizeof(AddedToken)) };
    if (!tokenizer_json_read(folder, "tokenizer_config.json", &config->root, error) ||
        !tokenizer_json_read(folder, "special_tokens_map.json", &config->map, error) ||
        !tokenizer_json_read(folder, "added_tokens.json", &config->old, error))
        return false;
    json_t *decoder = json_object_get(config->root, "added_tokens_decoder");
    if (decoder ? !read_decoder(config, decoder, error) : !read_old(config, error))
        return false;
    for (int i = 0; i < TOKEN_ROLES; i++)
        config->roles[i] = role(config, token_role_key((TokenRole)i));
    return true;
}

const json_t *tokenizer_settings_flags(const TokenizerSettings *config, TokenRole role)
{
    const json_t *of_map = json_object_get(config->map, token_role_key(role));
    return of_map ? of_map : json_object_get(config->root, token_role_key(role));
}

void tokenizer_settings_mask(const TokenizerSettings *config, GArray *added)
{
    const char *mask = config->roles[ROLE_MASK] ? config->roles[ROLE_MASK] : "<mask>";
    const json_t *flags = tokenizer_settings_flags(config, ROLE_MASK);
    if (json_object_get(config->root, "added_tokens_decoder"))
        return;
    for (guint i = 0; i < added->len; i++) {
        AddedToken *token = &g_array_index(added, AddedToken, i);
        if (strcmp(token->content, mask) == 0)
            token->lstrip =
                json_object_get(config->old, mask) == NULL && json_is_true(json_object_get(flags, "lstrip"));
    }
}

json_t *tokenizer_settings_decoder(const GArray *added)
{
    json_t *decoder = json_object();
    for (guint i = 0; i < added->len; i++) {
        const AddedToken *token = &g_array_index(added, AddedToken, i);
        char number[16];
        g_snprintf(number, sizeof number, "%d", token->id);
        json_object_set_new(decoder, number,
                            json_pack("{s:s, s:b, s:b, s:b, s:b, s:b}", "content", token->content, "lstrip",
                                      (int)token->lstrip, "normalized", (int)token->normalized, "rstrip",
                                      (int)token->rstrip, "single_word", (int)token->single_word, "special",
                                      (int)token->special));
    }
    return decoder;
}
