#include "text/tokenizer_json.h"

#include "base/file.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define MAX_ID (1 << 21) /* exclusive; the largest vocabularies have 260,000 pieces */

void tokenizer_json_close(TokenizerJson *json)
{
    if (json == NULL)
        return;
    g_clear_pointer(&json->pieces, g_ptr_array_unref);
    g_clear_pointer(&json->added, g_array_unref);
    json_decref(json->root);
    g_free(json);
}

/* A copy of JSON text with "\uffff" for every escape "\u0000"; "\\u0000", an escaped backslash, stays. */
static char *without_nul(const char *data, size_t bytes)
{
    char *text = g_memdup2(data, bytes + 1);
    for (char *at = text, *end = text + bytes; (at = memchr(at, '\\', (size_t)(end - at))); at += MIN(2, end - at))
        if (end - at >= 6 && memcmp(at, "\\u0000", 6) == 0)
            memcpy(at, "\\uffff", 6);
    return text;
}

static json_t *parse(const char *data, size_t bytes, size_t flags, GError **error)
{
    json_error_t problem;
    g_autofree char *text = without_nul(data, bytes);
    json_t *root = json_loadb(text, bytes, flags, &problem);
    if (root == NULL)
        fail_user(error, "line %d: %s", problem.line, problem.text);
    else if (!json_is_object(root))
        fail_user(error, "it is not a JSON object");
    else
        return root;
    json_decref(root);
    return NULL;
}

json_t *tokenizer_json_parse(const char *data, size_t bytes, GError **error)
{
    return parse(data, bytes, 0, error);
}

/* Turns reals without a fraction that a double holds exactly into integers. */
static void make_whole(json_t *value)
{
    const double most = 9007199254740992.0; /* 2^53 */
    const char *key;
    void *next;
    size_t i;
    json_t *each;
#define IS_WHOLE(v) (json_is_real(v) && fabs(json_real_value(v)) <= most && fmod(json_real_value(v), 1) == 0)
    json_array_foreach(value, i, each)
    {
        if (IS_WHOLE(each))
            json_array_set_new(value, i, json_integer((json_int_t)json_real_value(each)));
        else
            make_whole(each);
    }
    json_object_foreach_safe(value, next, key, each)
    {
        if (IS_WHOLE(each))
            json_object_set_new(value, key, json_integer((json_int_t)json_real_value(each)));
        else
            make_whole(each);
    }
#undef IS_WHOLE
}

json_t *tokenizer_json_parse_settings(const char *data, size_t bytes, GError **error)
{
    json_t *root = parse(data, bytes, JSON_DECODE_INT_AS_REAL, error);
    make_whole(root);
    return root;
}

bool tokenizer_json_read(const char *folder, const char *name, json_t **root, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    size_t bytes;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    g_autofree char *data = io_read_regular(path, TOKENIZER_MAX_FILE, &bytes, error);
    *root = data ? tokenizer_json_parse_settings(data, bytes, error) : NULL;
    return *root || (data && fail_context(error, "%s", path));
}

static bool set_piece(GPtrArray *pieces, json_int_t id, const char *piece, GError **error)
{
    if (id < 0 || id >= MAX_ID)
        return fail_user(error, "the piece \"%s\" has the id %" JSON_INTEGER_FORMAT ", want 0 to %d", piece, id,
                         MAX_ID - 1);
    if (pieces->len <= id)
        g_ptr_array_set_size(pieces, (int)id + 1);
    const char *other = pieces->pdata[id];
    if (other && strcmp(other, piece) != 0)
        return fail_user(error, "the pieces \"%s\" and \"%s\" both have the id %" JSON_INTEGER_FORMAT, other, piece,
                         id);
    pieces->pdata[id] = (char *)piece;
    return true;
}

GPtrArray *tokenizer_json_vocab(json_t *vocab, GError **error)
{
    g_autoptr(GPtrArray) pieces = g_ptr_array_new();
    const char *piece;
    json_t *id;
    json_object_foreach(vocab, piece, id)
    {
        if (!json_is_integer(id))
            return fail_user(error, "the piece \"%s\" of the vocabulary has no number", piece);
        if (!set_piece(pieces, json_integer_value(id), piece, error))
            return NULL;
    }
    return g_steal_pointer(&pieces);
}

/* The pieces of a Unigram vocabulary, [["piece", score], …]. */
static GPtrArray *list_pieces(json_t *vocab, GError **error)
{
    g_autoptr(GPtrArray) pieces = g_ptr_array_new();
    size_t i;
    json_t *entry;
    json_array_foreach(vocab, i, entry)
    {
        const char *piece = json_string_value(json_array_get(entry, 0));
        if (piece == NULL || !json_is_number(json_array_get(entry, 1)))
            return fail_user(error, "entry %zu of the vocabulary is not [\"piece\", score]", i);
        if (!set_piece(pieces, (json_int_t)i, piece, error))
            return NULL;
    }
    return g_steal_pointer(&pieces);
}

void added_token_read(const json_t *object, AddedToken *token)
{
    token->special = json_is_true(json_object_get(object, "special"));
    token->single_word = json_is_true(json_object_get(object, "single_word"));
    token->lstrip = json_is_true(json_object_get(object, "lstrip"));
    token->rstrip = json_is_true(json_object_get(object, "rstrip"));
    token->normalized = json_is_true(json_object_get(object, "normalized"));
}

/* The ids of the pieces: char * -> int. */
static GHashTable *ids_of_pieces(const GPtrArray *pieces)
{
    GHashTable *ids = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint id = 0; id < pieces->len; id++)
        if (pieces->pdata[id])
            g_hash_table_insert(ids, pieces->pdata[id], GINT_TO_POINTER((int)id));
    return ids;
}

/* Hugging Face's tokenizers give an added token the id of its content or, without one, the first after the vocabulary
 * and the tokens before it, whatever the file says: another id is an error. */
static bool read_added(TokenizerJson *json, GError **error)
{
    size_t i;
    json_t *entry, *list = json_object_get(json->root, "added_tokens"), *vocab = json_object_get(json->model, "vocab");
    g_autoptr(GHashTable) known = ids_of_pieces(json->pieces);
    json_int_t next = (json_int_t)MAX(json_object_size(vocab), json_array_size(vocab));
    json->added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    json_array_foreach(list, i, entry)
    {
        json_t *id = json_object_get(entry, "id");
        AddedToken token = { .content = json_string_value(json_object_get(entry, "content")) };
        gpointer own;
        added_token_read(entry, &token);
        if (token.content == NULL || *token.content == 0 || !json_is_integer(id))
            return fail_user(error, "added token %zu has no content or no id", i);
        if (!set_piece(json->pieces, json_integer_value(id), token.content, error))
            return false;
        token.id = (int)json_integer_value(id);
        if (!g_hash_table_lookup_extended(known, token.content, NULL, &own))
            own = GINT_TO_POINTER((int)next);
        if (token.id != GPOINTER_TO_INT(own))
            return fail_user(
                error, "the added token \"%s\" has the id %d, but Hugging Face's tokenizers give it %d: want that",
                token.content, token.id, GPOINTER_TO_INT(own));
        g_hash_table_insert(known, (char *)token.content, own);
        next = MAX(next, (json_int_t)token.id + 1);
        g_array_append_val(json->added, token);
    }
    return true;
}

static json_t *section(const TokenizerJson *json, const char *name)
{
    json_t *value = json_object_get(json->root, name);
    return json_is_object(value) ? value : NULL;
}

static const char *type_of(json_t *root, json_t *model)
{
    const char *type = json_string_value(json_object_get(model, "type"));
    if (type ? strcmp(type, "BPE") == 0 : json_object_get(model, "merges") != NULL)
        return tokenizer_class_is_byte_level(root) ? "BPE" : TOKENIZER_JSON_CHARS;
    if (type)
        return type;
    return json_is_array(json_object_get(model, "vocab")) ? "Unigram" : "WordPiece";
}

TokenizerJson *tokenizer_json_open(const char *data, size_t bytes, const TokenizerClass *class_, GError **error)
{
    g_autoptr(TokenizerJson) json = g_new0(TokenizerJson, 1);
    json->root = tokenizer_json_parse(data, bytes, error);
    if (json->root == NULL)
        return NULL;
    json->replaced = tokenizer_class_apply(class_, json->root);
    json->model = section(json, "model");
    json_t *vocab = json_object_get(json->model, "vocab");
    if (!json_is_object(vocab) && !json_is_array(vocab))
        return fail_user(error, "it is no tokenizer.json of Hugging Face: model.vocab is missing");
    json->type = type_of(json->root, json->model);
    json->normalizer = section(json, "normalizer");
    json->pre_tokenizer = section(json, "pre_tokenizer");
    json->post_processor = section(json, "post_processor");
    json->decoder = section(json, "decoder");
    json->pieces = json_is_array(vocab) ? list_pieces(vocab, error) : tokenizer_json_vocab(vocab, error);
    if (json->pieces == NULL || !read_added(json, error))
        return NULL;
    return g_steal_pointer(&json);
}

size_t tokenizer_json_merges(const TokenizerJson *json)
{
    return json_array_size(json_object_get(json->model, "merges"));
}

bool tokenizer_json_merge(const TokenizerJson *json, size_t i, char **left, char **right, GError **error)
{
    json_t *merge = json_array_get(json_object_get(json->model, "merges"), i);
    const char *whole = json_string_value(merge), *space = whole ? strchr(whole, ' ') : NULL;
    const char *first = json_string_value(json_array_get(merge, 0));
    const char *second = json_string_value(json_array_get(merge, 1));
    if (space && strchr(space + 1, ' ') == NULL) {
        *left = g_strndup(whole, (gsize)(space - whole));
        *right = g_strdup(space + 1);
    } else if (json_array_size(merge) == 2 && first && second) {
        *left = g_strdup(first);
        *right = g_strdup(second);
    } else {
        return fail_user(error, "merge %zu is neither \"a b\" nor [\"a\", \"b\"]", i);
    }
    return true;
}

json_t *tokenizer_json_steps(json_t *part, const char *list)
{
    const bool sequence = strcmp(json_text(part, "type"), "Sequence") == 0;
    json_t *steps = sequence ? json_incref(json_object_get(part, list)) : json_array();
    if (part && !sequence)
        json_array_append(steps, part);
    return steps;
}

/* ---- building ---- */

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

json_t *json_vocab(const GPtrArray *pieces)
{
    json_t *vocab = json_object();
    for (guint id = 0; id < pieces->len; id++)
        if (*(const char *)pieces->pdata[id])
            json_object_set_new(vocab, pieces->pdata[id], json_integer(id));
    return vocab;
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

bool json_joins_blanks(const json_t *root, const char *space, bool after)
{
    const json_t *normalizer = json_object_get(root, "normalizer"), *steps = json_object_get(normalizer, "normalizers"),
                 *step = steps ? json_array_get(steps, json_array_size(steps) - 1) : normalizer;
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
