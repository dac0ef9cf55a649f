/* tokenizer_write.c: writes a tokenizer into a folder, in its own files or as a tokenizer.json of Hugging Face. */
#include "base/file.h"
#include "text/byte_bpe/byte_bpe.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/tokenizer_state.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- its own files ---- */

static bool copy_file(const char *data, size_t bytes, const char *folder, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return data && io_write_file(path, data, bytes, error);
}

/* Whether the tokenizer.json that is written says that text beside blanks is encoded as in a corpus. That of a Unigram
 * model which was read from one stays as it is. */
static bool writes_blanks(const Tokenizer *tok)
{
    const BlankSpace space = tok->facts.blank_space;
    return tok->kind->to_json && !tok->separates_blanks && (space == BLANK_BEFORE || space == BLANK_AFTER);
}

/* Whether a token of the model itself is the mask of a vocab.json whose flags files beside it give
 * (tokenizer_settings_mask): those files are not copied. */
static bool has_flags_of_files(const Tokenizer *tok, const AddedToken *token)
{
    return token->id == tok->roles[ROLE_MASK] && tok->class_.name && !tokenizer_is_json(tok->path);
}

/* Appends added token number i as it is found: a kind without a normalizer finds all in the unchanged text. */
static void append_token(const Tokenizer *tok, GArray *tokens, guint i)
{
    AddedToken token = *added_at(tok, i);
    token.normalized = token.normalized && tok->kind->normalize;
    g_array_append_val(tokens, token);
}

/* Added tokens that tokenizer_config.json must list: all except those of the model file and what tokenizer_open adds:
 * sentinels and appended tokens. */
static GArray *tokens_to_list(const Tokenizer *tok)
{
    GArray *listed = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    for (guint i = 0; i < tok->added->len; i++) {
        const AddedToken *token = added_at(tok, i);
        const bool sentinel = tok->facts.adds_sentinels && tokenizer_sentinel_index(tok, token->id) >= 0;
        const bool appended = token->id >= tok->size - tok->n_appended;
        if (i < tok->n_own ? has_flags_of_files(tok, token) : !sentinel && !appended)
            append_token(tok, listed, i);
    }
    return listed;
}

/* Writes U+FFFF as "\u0000", which tokenizer_json_parse read as U+FFFF. */
static bool write_object(json_t *root, const char *path, GError **error)
{
    char *text = json_dumps(root, JSON_INDENT(1));
    if (text == NULL)
        return fail_user(error, "%s: its pieces are not valid UTF-8", path);
    g_auto(GStrv) parts = g_strsplit(text, "\xef\xbf\xbf", -1);
    g_autofree char *whole = g_strjoinv("\\u0000", parts);
    free(text);
    return io_write_file(path, whole, strlen(whole), error);
}

/* Gives the blanks in an added_tokens_decoder the flags that they have in the tokenizer.json (json_join_blanks). */
static void mark_blanks(const Tokenizer *tok, json_t *decoder)
{
    const char *id;
    json_t *token;
    json_object_foreach(decoder, id, token)
    {
        if (!writes_blanks(tok) || !tokenizer_is_blank(tok, (int)g_ascii_strtoll(id, NULL, 10)))
            continue;
        json_t *flags = json_pack("{s:b, s:b, s:b}", "lstrip", 0, "rstrip", 0, "normalized", 1),
               *copy = json_copy(token);
        json_object_update(copy, flags);
        json_object_set_new(decoder, id, copy);
        json_decref(flags);
    }
}

/* Writes the tokenizer_config.json that lay beside the tokenizer's file, with all added tokens. */
static bool copy_settings(const Tokenizer *tok, const char *folder, GError **error)
{
    g_autoptr(GArray) listed = tokens_to_list(tok);
    if (tok->kind == &kind_bytes || (tok->settings == NULL && listed->len == 0 && !tok->separates_blanks))
        return true;
    json_auto_t *root = tok->settings ? json_copy(tok->settings) : json_object(),
                *tokens = tokenizer_settings_decoder(listed);
    json_t *before = json_object_get(root, "added_tokens_decoder");
    if (before)
        json_object_update_missing(tokens, before);
    mark_blanks(tok, tokens);
    if (json_object_size(tokens) > 0)
        json_object_set(root, "added_tokens_decoder", tokens);
    json_object_del(root, TOKENIZER_BLANKS);
    if (tok->separates_blanks)
        json_object_set_new(root, TOKENIZER_BLANKS, json_string("transformers"));
    g_autofree char *path = g_build_filename(folder, TOKENIZER_CONFIG, NULL);
    return write_object(root, path, error);
}

/* Copies the tokenizer.json beside a file of another kind: it has the special tokens around a text (frame). */
static bool copy_post_processor(const Tokenizer *tok, const char *folder, GError **error)
{
    size_t bytes;
    if (tok->post_processor == NULL || tokenizer_is_json(tok->path))
        return true;
    g_autofree char *from = g_path_get_dirname(tok->path), *path = g_build_filename(from, TOKENIZER_JSON, NULL);
    g_autofree char *data = io_read_file(path, TOKENIZER_MAX_FILE, &bytes, error);
    return copy_file(data, bytes, folder, TOKENIZER_JSON, error);
}

bool tokenizer_copy(const Tokenizer *tok, const char *folder, GError **error)
{
    size_t bytes = 0;
    bool json = tokenizer_is_json(tok->path);
    g_autofree char *data = tokenizer_read_file(tok, &bytes, error),
                    *second_path = json ? NULL : tokenizer_second_path(tok);
    if (!copy_file(data, bytes, folder, json ? TOKENIZER_JSON : tok->kind->file_name, error))
        return false;
    g_autofree char *second = second_path ? io_read_file(second_path, TOKENIZER_MAX_FILE, &bytes, error) : NULL;
    return (second_path == NULL || copy_file(second, bytes, folder, tok->kind->second_file, error)) &&
           copy_settings(tok, folder, error) && copy_post_processor(tok, folder, error);
}

static bool remove_named(const char *folder, const char *name, GError **error)
{
    g_autofree char *path = name ? g_build_filename(folder, name, NULL) : NULL;
    return path == NULL || io_remove_file(path, error);
}

bool tokenizer_remove(const char *folder, GError **error)
{
    for (const TokenizerKind *const *kind = tokenizer_kinds; *kind; kind++)
        if (!remove_named(folder, (*kind)->file_name, error) || !remove_named(folder, (*kind)->second_file, error))
            return false;
    return remove_named(folder, TOKENIZER_JSON, error) && remove_named(folder, TOKENIZER_CONFIG, error);
}

/* ---- tokenizer.json ---- */

static int compare_ids(const void *a, const void *b)
{
    return ((const AddedToken *)a)->id - ((const AddedToken *)b)->id;
}

/* Lists the added tokens that are not the model's own, and a mask with flags of its own, in a tokenizer.json, in order
 * of their ids. Its readers ignore the ids and number added tokens after the last piece; where that would give other
 * ids, the tokens become pieces too. */
static void put_added(const Tokenizer *tok, json_t *root)
{
    json_t *list = json_object_get(root, "added_tokens"), *old;
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    for (guint i = 0; i < tok->added->len; i++)
        if (i >= tok->n_own || has_flags_of_files(tok, added_at(tok, i)))
            append_token(tok, tokens, i);
    g_array_sort(tokens, compare_ids);
    size_t at;
    bool follow = (int)json_object_size(vocab) == tok->facts.size &&
                  tok->size - tok->facts.size <= (int)(tok->added->len - tok->n_own);
    for (guint i = 0; i < tokens->len; i++) {
        const AddedToken *token = &g_array_index(tokens, AddedToken, i);
        json_array_foreach(list, at, old) if (json_integer_value(json_object_get(old, "id")) == token->id) break;
        if (at < json_array_size(list))
            json_array_set_new(list, at, json_added_token(token));
        else
            json_array_append_new(list, json_added_token(token));
    }
    json_array_foreach(list, at, old)
    {
        const char *content = json_text(old, "content");
        if (json_is_object(vocab) && !follow && json_object_get(vocab, content) == NULL)
            json_object_set(vocab, content, json_object_get(old, "id"));
    }
}

static void put_blanks(const Tokenizer *tok, json_t *root)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    const bool byte_level = tok->kind == &kind_byte_bpe || tok->kind == &kind_tiktoken;
    const int mask = tok->roles[ROLE_MASK];
    for (int i = 0; i < tokenizer_sentinels(tok); i++)
        g_hash_table_add(names, (char *)tokenizer_piece(tok, tokenizer_sentinel(tok, i)));
    if (mask >= 0)
        g_hash_table_add(names, (char *)tokenizer_piece(tok, mask));
    json_join_blanks(root, names, byte_level ? " " : SP_SPACE, tok->facts.blank_space == BLANK_AFTER);
}

bool tokenizer_json_keeps_blanks(const Tokenizer *tok)
{
    const bool has_blanks = tok->roles[ROLE_MASK] >= 0 || tokenizer_sentinels(tok) > 0;
    return !has_blanks || tok->separates_blanks || tok->facts.joins_blanks || writes_blanks(tok) ||
           tok->facts.blank_space == BLANK_TEXT;
}

bool tokenizer_has_json(const Tokenizer *tok)
{
    return tok->kind->to_json != NULL || tokenizer_is_json(tok->path);
}

bool tokenizer_write_json(const Tokenizer *tok, const char *path, json_t *post_processor, GError **error)
{
    size_t bytes;
    json_auto_t *around = post_processor;
    g_autofree char *data = tokenizer_read_file(tok, &bytes, error);
    if (data == NULL)
        return false;
    if (!tokenizer_has_json(tok))
        return fail_user(error, "%s: a tokenizer of kind %s has no form in tokenizer.json", tok->path, tok->facts.name);
    const bool adds_blanks = writes_blanks(tok) && !tok->facts.joins_blanks;
    if (tokenizer_is_json(tok->path) && tok->added->len == tok->n_own && around == NULL && tok->facts.settings == 0 &&
        !adds_blanks)
        return io_write_file(path, data, bytes, error);
    json_auto_t *root = tokenizer_is_json(tok->path) ? tokenizer_json_parse(data, bytes, error)
                                                     : tok->kind->to_json(tok->model, data, bytes, error);
    if (root == NULL)
        return fail_context(error, "%s", tok->path);
    if (!tokenizer_is_json(tok->path) && !frame_is_empty(&tok->facts.json_frame))
        json_object_set_new(root, "post_processor", frame_json(&tok->facts.json_frame, tok->facts.json_typed, tok));
    tokenizer_class_apply(&tok->class_, root);
    put_added(tok, root);
    if (adds_blanks)
        put_blanks(tok, root);
    if (around)
        json_object_set(root, "post_processor", around);
    return write_object(root, path, error);
}

bool tokenizer_record_hash(const Tokenizer *tok, const char *folder, GError **error)
{
    size_t bytes;
    json_auto_t *config = NULL;
    g_autofree char *json = g_build_filename(folder, TOKENIZER_JSON, NULL),
                    *path = g_build_filename(folder, TOKENIZER_CONFIG, NULL);
    g_autofree char *data = io_read_file(json, TOKENIZER_MAX_FILE, &bytes, error);
    if (data == NULL || !tokenizer_json_read(folder, TOKENIZER_CONFIG, &config, error))
        return false;
    g_autofree char *file = g_strdup_printf("%016" G_GINT64_MODIFIER "x", (guint64)XXH3_64bits(data, bytes));
    json_object_set_new(config, TOKENIZER_HASH, json_pack("{s:s, s:s}", "file", file, "hash", tok->hash));
    return write_object(config, path, error);
}
