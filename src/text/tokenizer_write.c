/* tokenizer_write.c: a tokenizer as tokenizer.json, with every token that is added to its own. */
#include "base/file.h"
#include "text/json_parts.h"
#include "text/tokenizer_state.h"

#include <stdlib.h>
#include <string.h>

/* U+FFFF is the NUL that tokenizer_json_parse could not keep. */
bool tokenizer_write_object(json_t *root, const char *path, GError **error)
{
    char *text = json_dumps(root, JSON_INDENT(1));
    if (text == NULL)
        return fail_user(error, "%s: its pieces are not valid UTF-8", path);
    g_auto(GStrv) parts = g_strsplit(text, "\xef\xbf\xbf", -1);
    g_autofree char *whole = g_strjoinv("\\u0000", parts);
    free(text);
    return io_write_file(path, whole, strlen(whole), error);
}

static int compare_ids(const void *a, const void *b)
{
    return ((const AddedToken *)a)->id - ((const AddedToken *)b)->id;
}

/* Puts the tokens that are added to the model's own into its tokenizer.json, those of the lowest ids first. The
 * reader numbers them on from the pieces; where that gives other ids they are made pieces, which have ids of their own.
 */
static void put_added(const Tokenizer *tok, json_t *root)
{
    json_t *list = json_object_get(root, "added_tokens"), *old;
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    if (tok->added->len > tok->n_own)
        g_array_append_vals(tokens, added_at(tok, tok->n_own), tok->added->len - tok->n_own);
    g_array_sort(tokens, compare_ids);
    bool follow = (int)json_object_size(vocab) == tok->facts.size && tok->size - tok->facts.size <= (int)tokens->len;
    for (guint i = 0; i < tokens->len; i++) {
        const AddedToken *token = &g_array_index(tokens, AddedToken, i);
        size_t at;
        json_array_foreach(list, at, old) if (json_integer_value(json_object_get(old, "id")) == token->id) break;
        if (at < json_array_size(list))
            json_array_set_new(list, at, json_added_token(token));
        else
            json_array_append_new(list, json_added_token(token));
        if (json_is_object(vocab) && !follow && token->id >= tok->facts.size)
            json_object_set_new(vocab, token->content, json_integer(token->id));
    }
}

bool tokenizer_has_json(const Tokenizer *tok)
{
    return tok->kind->to_json != NULL || tokenizer_is_json(tok->path);
}

bool tokenizer_write_json(const Tokenizer *tok, const char *path, GError **error)
{
    return tokenizer_write_json_around(tok, path, NULL, error);
}

bool tokenizer_write_json_around(const Tokenizer *tok, const char *path, json_t *given, GError **error)
{
    size_t bytes;
    json_auto_t *around = given;
    g_autofree char *data = tokenizer_read_file(tok, &bytes, error);
    if (data == NULL)
        return false;
    if (!tokenizer_has_json(tok))
        return fail_user(error, "%s: a tokenizer of kind %s has no form in tokenizer.json", tok->path, tok->facts.name);
    if (tokenizer_is_json(tok->path) && tok->added->len == tok->n_own && around == NULL)
        return io_write_file(path, data, bytes, error);
    json_t *root = tokenizer_is_json(tok->path) ? tokenizer_json_parse(data, bytes, error)
                                                : tok->kind->to_json(tok->model, data, bytes, error);
    if (root == NULL)
        return fail_context(error, "%s", tok->path);
    put_added(tok, root);
    if (around)
        json_object_set(root, "post_processor", around);
    bool done = tokenizer_write_object(root, path, error);
    json_decref(root);
    return done;
}
