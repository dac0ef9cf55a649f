#include "text/tokenizer.h"

#include "base/check.h"
#include "base/file.h"
#include "base/hub.h"
#include "text/byte_bpe.h"
#include "text/bytes.h"
#include "text/json_parts.h"
#include "text/kinds.h"
#include "text/roles.h"
#include "text/sentencepiece.h"
#include "text/tokenizer_config.h"
#include "text/unigram.h"
#include "text/wordpiece.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAX_FILE ((size_t)256 << 20) /* bytes; models of 250,000 pieces have about 5 MB */

#define LLAMA_FILE "tokenizer.model" /* SentencePiece or ranks */

struct Tokenizer {
    const TokenizerKind *kind;
    void *model;
    TokenizerFacts facts;
    char *path;
    char hash[17];
    int size;
    GArray *added; /* AddedToken, contents are its own: first the model's, then those of files beside it */
    guint n_own;   /* the model's */
    int roles[TOKEN_ROLES];
    json_t *settings; /* tokenizer_config.json beside the file; NULL: there is none */
    AddedTokens *finder;
    int sentinels[TOKENIZER_SENTINELS];           /* ids */
    char sentinel_names[TOKENIZER_SENTINELS][16]; /* "<extra_id_0>" */
    GHashTable *sentinel_of;                      /* id -> index + 1 */
};

void tokenizer_close(Tokenizer *tok)
{
    if (tok == NULL)
        return;
    added_tokens_close(tok->finder);
    g_clear_pointer(&tok->added, g_array_unref);
    g_clear_pointer(&tok->facts.added, g_array_unref);
    json_decref(tok->settings);
    if (tok->model)
        tok->kind->close(tok->model);
    if (tok->sentinel_of)
        g_hash_table_unref(tok->sentinel_of);
    g_free(tok->path);
    g_free(tok);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tokenizer, tokenizer_close)

/* A tokenizer.json under any name; GPT-2's vocab.json is another thing. */
static bool is_json(const char *path)
{
    return g_str_has_suffix(path, ".json") && !g_str_has_suffix(path, "vocab.json") &&
           !g_str_has_suffix(path, CONFIG_FILE);
}

/* Whether it begins with a line of tiktoken's, as the tokenizer.model of Llama 3 does: base64, a space, a number. */
static bool holds_ranks(const char *data)
{
    size_t n = strspn(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
    return n > 0 && data[n] == ' ' && g_ascii_isdigit(data[n + 1]);
}

/* The kind is known by what a folder holds, or by the name of a file; others are tried as the first kind. NULL for a
 * tokenizer.json, which says itself what it is. */
static const TokenizerKind *kind_of_file(const char *path, const char *data)
{
    if (is_json(path))
        return NULL;
    if (g_str_has_suffix(path, ".tiktoken") || (g_str_has_suffix(path, LLAMA_FILE) && holds_ranks(data)))
        return &kind_tiktoken;
    for (size_t i = 0; i < N_TOKENIZER_KINDS; i++)
        if (tokenizer_kinds[i]->file_name && g_str_has_suffix(path, tokenizer_kinds[i]->file_name))
            return tokenizer_kinds[i];
    return strcmp(path, BYTES_PATH) == 0 ? &kind_bytes : tokenizer_kinds[0];
}

/* Its own file says that of a folder, whatever else lies in it. */
static bool is_byt5(const char *folder)
{
    g_auto(TokenizerConfig) config = { 0 };
    return tokenizer_config_read(folder, &config, NULL) &&
           g_strcmp0(json_string_value(json_object_get(config.root, "tokenizer_class")), "ByT5Tokenizer") == 0;
}

/* The file of a tokenizer in a folder, the kinds in their order; tokenizer.json, which may lack what the files of the
 * first two kinds say, comes after those. */
static char *find_file(const char *path, GError **error)
{
    if (g_str_has_suffix(path, "merges.txt")) /* vocab.json is opened, and reads the other */
        return g_strdup_printf("%.*svocab.json", (int)(strlen(path) - strlen("merges.txt")), path);
    if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        return g_strdup(path);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (size_t i = 0; i < N_TOKENIZER_KINDS; i++)
        if (tokenizer_kinds[i]->file_name)
            g_ptr_array_add(names, (char *)tokenizer_kinds[i]->file_name);
    g_ptr_array_insert(names, 2, (char *)JSON_FILE);
    g_ptr_array_insert(names, 3, (char *)LLAMA_FILE);
    if (is_byt5(path))
        return g_build_filename(path, CONFIG_FILE, NULL);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *file = g_build_filename(path, names->pdata[i], NULL);
        if (g_file_test(file, G_FILE_TEST_EXISTS))
            return g_steal_pointer(&file);
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
    fail_user(error, "%s holds no tokenizer (one of %s)", path, list);
    return NULL;
}

/* ---- added tokens ---- */

static const AddedToken *added_at(const Tokenizer *tok, guint i)
{
    return &g_array_index(tok->added, AddedToken, i);
}

static void clear_added(void *token)
{
    g_free((char *)((AddedToken *)token)->content);
}

/* The last of that id or, where content is not NULL, of that content; NULL if there is none. */
static const AddedToken *find_added(const Tokenizer *tok, int id, const char *content)
{
    for (guint i = tok->added->len; i > 0; i--) {
        const AddedToken *token = added_at(tok, i - 1);
        if (content ? strcmp(token->content, content) == 0 : token->id == id)
            return token;
    }
    return NULL;
}

static bool is_same(const AddedToken *a, const AddedToken *b)
{
    return a->id == b->id && strcmp(a->content, b->content) == 0 && a->special == b->special &&
           a->single_word == b->single_word && a->lstrip == b->lstrip && a->rstrip == b->rstrip &&
           a->normalized == b->normalized;
}

/* Copies tokens that are not there yet. */
static void add_tokens(Tokenizer *tok, const GArray *tokens)
{
    for (guint i = 0; tokens && i < tokens->len; i++) {
        AddedToken token = g_array_index(tokens, AddedToken, i);
        const AddedToken *before = find_added(tok, -1, token.content);
        if (before && is_same(before, &token))
            continue;
        token.content = g_strdup(token.content);
        g_array_append_val(tok->added, token);
        tok->size = MAX(tok->size, token.id + 1);
    }
}

static int id_of(const Tokenizer *tok, const char *piece)
{
    int id = tok->kind->id(tok->model, piece);
    const AddedToken *token = id < 0 ? find_added(tok, -1, piece) : NULL;
    return token ? token->id : id;
}

/* The token that has a role by its name; -1 if there is none. */
static int role_by_name(const Tokenizer *tok, TokenRole role)
{
    int id = -1;
    for (const char *const *piece = token_role_pieces(role); id < 0 && *piece; piece++)
        id = id_of(tok, *piece);
    return id;
}

/* What the model knows, then what the files beside it say. Pieces named like the roles of an encoder have them. */
static void find_roles(Tokenizer *tok, const TokenizerConfig *config)
{
    const TokenizerFacts *facts = &tok->facts;
    const int known[TOKEN_ROLES] = { facts->pad, facts->unk, facts->eos, facts->bos, -1, -1, -1 };
    for (int role = 0; role < TOKEN_ROLES; role++) {
        int *id = &tok->roles[role];
        *id = known[role];
        if (*id < 0 && config->roles[role])
            *id = id_of(tok, config->roles[role]);
        if (*id < 0 && role >= ROLE_CLS)
            *id = role_by_name(tok, (TokenRole)role);
    }
}

/* What the files beside it add. */
static bool read_beside(Tokenizer *tok, GError **error)
{
    g_auto(TokenizerConfig) config = { 0 };
    g_autofree char *folder = g_path_get_dirname(tok->path);
    if (g_file_test(tok->path, G_FILE_TEST_EXISTS)) { /* not "bytes" */
        if (!tokenizer_config_read(folder, &config, error))
            return false;
        add_tokens(tok, config.added);
        tok->settings = json_incref(config.root);
    }
    find_roles(tok, &config);
    return true;
}

static void open_finder(Tokenizer *tok)
{
    const AddedPlain plain = { tok->model, tok->kind->encode, tok->kind->normalize };
    added_tokens_close(tok->finder);
    tok->finder = added_tokens_open(tok->added, &plain);
}

/* ---- opening ---- */

static bool open_json(Tokenizer *tok, const char *data, size_t bytes, GError **error)
{
    g_autoptr(TokenizerJson) json = tokenizer_json_open(data, bytes, error);
    if (json == NULL)
        return false;
    for (size_t i = 0; i < N_TOKENIZER_KINDS; i++)
        if (g_strcmp0(tokenizer_kinds[i]->json_type, json->type) == 0)
            tok->kind = tokenizer_kinds[i];
    if (tok->kind == NULL)
        return fail_user(error, "its model is %s, which cannot be read", json->type);
    tok->model = tok->kind->open_json(json, &tok->facts, error);
    if (tok->model)
        add_tokens(tok, json->added);
    g_clear_pointer(&tok->facts.added, g_array_unref);
    return tok->model != NULL;
}

static bool open_model(Tokenizer *tok, const char *data, size_t bytes, GError **error)
{
    tok->added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    g_array_set_clear_func(tok->added, clear_added);
    tok->kind = kind_of_file(tok->path, data);
    if (tok->kind == NULL && !open_json(tok, data, bytes, error))
        return false;
    if (tok->facts.pattern && tok->kind != &kind_tiktoken)
        return fail_user(error, "only a rank file of tiktoken takes a pattern");
    if (tok->model == NULL)
        tok->model = tok->kind->open(tok->path, data, bytes, &tok->facts, error);
    if (tok->model == NULL)
        return false;
    add_tokens(tok, tok->facts.added);
    tok->n_own = tok->added->len;
    tok->size = tok->facts.size;
    return read_beside(tok, error);
}

static void set_sentinel(Tokenizer *tok, int i, int id)
{
    tok->sentinels[i] = id;
    g_hash_table_insert(tok->sentinel_of, GINT_TO_POINTER(id), GINT_TO_POINTER(i + 1));
}

void tokenizer_add_sentinels(Tokenizer *tok)
{
    if (tok->sentinels[0] >= 0)
        return;
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    int first = tok->size + TOKENIZER_SENTINELS - 1;
    for (int i = TOKENIZER_SENTINELS - 1; i >= 0; i--) {
        AddedToken token = { .content = tok->sentinel_names[i], .id = first - i, .special = true };
        g_array_append_val(tokens, token);
        set_sentinel(tok, i, token.id);
    }
    add_tokens(tok, tokens);
    open_finder(tok);
}

static bool place_sentinels(Tokenizer *tok, GError **error)
{
    tok->sentinel_of = g_hash_table_new(NULL, NULL);
    for (int i = 0; i < TOKENIZER_SENTINELS; i++)
        g_snprintf(tok->sentinel_names[i], sizeof tok->sentinel_names[i], "<extra_id_%d>", i);
    memset(tok->sentinels, 0xff, sizeof tok->sentinels);
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(AddedToken)); /* own pieces that are not yet added */
    bool own = id_of(tok, tok->sentinel_names[0]) >= 0;
    for (int i = 0; own && i < TOKENIZER_SENTINELS; i++) {
        int id = id_of(tok, tok->sentinel_names[i]);
        if (id < 0)
            return fail_user(error, "it has a piece <extra_id_0>, but no %s", tok->sentinel_names[i]);
        set_sentinel(tok, i, id);
        if (find_added(tok, id, NULL) == NULL)
            g_array_append_vals(tokens, &(AddedToken){ .content = tok->sentinel_names[i], .id = id, .special = true },
                                1);
    }
    add_tokens(tok, tokens);
    open_finder(tok);
    if (tok->facts.adds_sentinels)
        tokenizer_add_sentinels(tok);
    return true;
}

/* The bytes of the file at tok->path; the tokenizer of bytes needs none. */
static char *read_file(const Tokenizer *tok, size_t *bytes, GError **error)
{
    if (g_file_test(tok->path, G_FILE_TEST_EXISTS))
        return io_read_file(tok->path, MAX_FILE, bytes, error);
    bool is_bytes = strcmp(tok->path, BYTES_PATH) == 0 || hub_fail_absent(tok->path, "file or folder", error);
    *bytes = strlen(BYTES_FILE);
    return is_bytes ? g_strdup(BYTES_FILE) : NULL;
}

/* The other file that the tokenizer was read from; NULL if there is none. */
static char *path_beside(const Tokenizer *tok)
{
    const char *name = tok->kind->file_name;
    if (tok->kind->beside == NULL || !g_str_has_suffix(tok->path, name))
        return NULL;
    g_autofree char *stem = g_strndup(tok->path, strlen(tok->path) - strlen(name));
    g_autofree char *path = g_strconcat(stem, tok->kind->beside, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path) : NULL;
}

/* Of the file's bytes, and of what else decides about the ids of plain text: the other file, settings beside it, added
 * tokens that are not special. */
static bool set_hash(Tokenizer *tok, const char *data, size_t bytes, GError **error)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(guint64));
    guint64 hash = tok->kind == &kind_bytes ? XXH3_64bits(BYTES_FILE, strlen(BYTES_FILE)) : XXH3_64bits(data, bytes);
    g_array_append_val(parts, hash);
    g_autofree char *other = path_beside(tok);
    if (other) {
        size_t n;
        g_autofree char *text = io_read_file(other, MAX_FILE, &n, error);
        if (text == NULL)
            return false;
        hash = XXH3_64bits(text, n);
        g_array_append_val(parts, hash);
    }
    if (tok->facts.settings)
        g_array_append_val(parts, tok->facts.settings);
    for (guint i = tok->n_own; i < tok->added->len; i++) {
        const AddedToken *token = added_at(tok, i);
        hash = XXH3_64bits_withSeed(token->content, strlen(token->content), (XXH64_hash_t)token->id);
        if (!token->special)
            g_array_append_val(parts, hash);
    }
    hash = parts->len == 1 ? g_array_index(parts, guint64, 0) : XXH3_64bits(parts->data, parts->len * sizeof hash);
    g_snprintf(tok->hash, sizeof tok->hash, "%016" G_GINT64_MODIFIER "x", hash);
    return true;
}

Tokenizer *tokenizer_open(const char *path, GError **error)
{
    return tokenizer_open_ranks(path, NULL, error);
}

Tokenizer *tokenizer_open_ranks(const char *path, const char *pattern, GError **error)
{
    g_autoptr(Tokenizer) tok = g_new0(Tokenizer, 1);
    size_t bytes = 0;
    tok->facts.pattern = pattern;
    tok->path = find_file(path, error);
    g_autofree char *data = tok->path ? read_file(tok, &bytes, error) : NULL;
    if (data == NULL)
        return NULL;
    if (!open_model(tok, data, bytes, error) || !set_hash(tok, data, bytes, error) || !place_sentinels(tok, error)) {
        fail_context(error, "%s", tok->path);
        return NULL;
    }
    return g_steal_pointer(&tok);
}

static bool copy_file(const char *data, size_t bytes, const char *folder, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return data && io_write_file(path, data, bytes, error);
}

/* Tokens that the model's own files do not say; sentinels that every tokenizer of its kind has are not told. */
static GArray *told_tokens(const Tokenizer *tok)
{
    GArray *told = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    for (guint i = tok->n_own; i < tok->added->len; i++)
        if (!tok->facts.adds_sentinels ||
            g_hash_table_lookup(tok->sentinel_of, GINT_TO_POINTER(added_at(tok, i)->id)) == NULL)
            g_array_append_val(told, *added_at(tok, i));
    return told;
}

/* U+FFFF is the NUL that tokenizer_json_parse could not keep. */
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

/* The settings that lay beside the file, with every token that is added to its own. */
static bool copy_settings(const Tokenizer *tok, const char *folder, GError **error)
{
    g_autoptr(GArray) told = told_tokens(tok);
    if (tok->kind == &kind_bytes || (tok->settings == NULL && told->len == 0))
        return true;
    json_t *root = tok->settings ? json_copy(tok->settings) : json_object(), *tokens = tokenizer_config_decoder(told);
    json_t *before = json_object_get(root, "added_tokens_decoder");
    if (before)
        json_object_update_missing(tokens, before);
    if (json_object_size(tokens) > 0)
        json_object_set(root, "added_tokens_decoder", tokens);
    g_autofree char *path = g_build_filename(folder, CONFIG_FILE, NULL);
    bool done = write_object(root, path, error);
    json_decref(tokens);
    json_decref(root);
    return done;
}

bool tokenizer_copy(const Tokenizer *tok, const char *folder, GError **error)
{
    size_t bytes = 0;
    bool json = is_json(tok->path);
    g_autofree char *data = read_file(tok, &bytes, error), *other = json ? NULL : path_beside(tok);
    if (!copy_file(data, bytes, folder, json ? JSON_FILE : tok->kind->file_name, error))
        return false;
    g_autofree char *more = other ? io_read_file(other, MAX_FILE, &bytes, error) : NULL;
    return (other == NULL || copy_file(more, bytes, folder, tok->kind->beside, error)) &&
           copy_settings(tok, folder, error);
}

char *tokenizer_find(const char *folder, GError **error)
{
    g_autofree char *path = find_file(folder, error);
    if (path == NULL || g_str_has_suffix(path, tokenizer_kinds[0]->file_name))
        return g_steal_pointer(&path);
    Tokenizer *tok = tokenizer_open(path, error); /* folders of Hugging Face hold what no kind here can read */
    bool found = tok != NULL;
    tokenizer_close(tok);
    return found ? g_steal_pointer(&path) : NULL;
}

const char *tokenizer_kind(const Tokenizer *tok)
{
    return tok->facts.name;
}

const char *tokenizer_path(const Tokenizer *tok)
{
    return tok->path;
}

const char *tokenizer_hash(const Tokenizer *tok)
{
    return tok->hash;
}

int tokenizer_size(const Tokenizer *tok)
{
    return tok->size;
}

int tokenizer_role(const Tokenizer *tok, TokenRole role)
{
    return tok->roles[role];
}

int tokenizer_special(const Tokenizer *tok, const char *piece)
{
    return id_of(tok, piece);
}

int tokenizer_sentinel(const Tokenizer *tok, int index)
{
    CHECK(index >= 0 && index < TOKENIZER_SENTINELS, "sentinel %d of %d", index, TOKENIZER_SENTINELS);
    return tok->sentinels[index];
}

/* -1 if the id is no sentinel's. */
static int sentinel_index(const Tokenizer *tok, int id)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(tok->sentinel_of, GINT_TO_POINTER(id))) - 1;
}

const char *tokenizer_piece(const Tokenizer *tok, int id)
{
    CHECK(id >= 0 && id < tok->size, "id %d of %d", id, tok->size);
    if (id < tok->facts.size)
        return tok->kind->piece(tok->model, id);
    const AddedToken *token = find_added(tok, id, NULL);
    return token ? token->content : "";
}

bool tokenizer_encode(const Tokenizer *tok, const char *text, size_t bytes, bool specials, GArray *ids, GError **error)
{
    const char *bad;
    if (!g_utf8_validate_len(text, bytes, &bad))
        return fail_user(error, "the text is not valid UTF-8 at byte %zu (0x%02x)", (size_t)(bad - text),
                         (unsigned char)*bad);
    return added_tokens_encode(tok->finder, text, bytes, specials, ids, error);
}

/* Decodes and empties `run`, the ids since the last sentinel; a space parts it from what is there. */
static bool decode_run(const Tokenizer *tok, GArray *run, GString *text, GError **error)
{
    if (run->len == 0)
        return true;
    if (text->len > 0)
        g_string_append_c(text, ' ');
    bool ok = tok->kind->decode(tok->model, (const int32_t *)(void *)run->data, run->len, text, error);
    g_array_set_size(run, 0);
    return ok;
}

char *tokenizer_decode(const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GArray) run = g_array_new(FALSE, FALSE, sizeof *ids);
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        if (ids[i] < 0 || ids[i] >= tok->size || ids[i] == tokenizer_pad(tok) || ids[i] == tokenizer_eos(tok))
            continue;
        if (ids[i] < tok->facts.size && sentinel_index(tok, ids[i]) < 0) {
            g_array_append_val(run, ids[i]);
            continue;
        }
        ok = decode_run(tok, run, text, error);
        g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "", tokenizer_piece(tok, ids[i]));
    }
    ok = ok && decode_run(tok, run, text, error);
    return g_string_free(text, !ok);
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
    return tok->kind->to_json != NULL || is_json(tok->path);
}

bool tokenizer_write_json(const Tokenizer *tok, const char *path, GError **error)
{
    return tokenizer_write_json_around(tok, path, NULL, error);
}

bool tokenizer_write_json_around(const Tokenizer *tok, const char *path, json_t *given, GError **error)
{
    size_t bytes;
    json_auto_t *around = given;
    g_autofree char *data = read_file(tok, &bytes, error);
    if (data == NULL)
        return false;
    if (!tokenizer_has_json(tok))
        return fail_user(error, "%s: a tokenizer of kind %s has no form in tokenizer.json", tok->path, tok->facts.name);
    if (is_json(tok->path) && tok->added->len == tok->n_own && around == NULL)
        return io_write_file(path, data, bytes, error);
    json_t *root = is_json(tok->path) ? tokenizer_json_parse(data, bytes, error)
                                      : tok->kind->to_json(tok->model, data, bytes, error);
    if (root == NULL)
        return fail_context(error, "%s", tok->path);
    put_added(tok, root);
    if (around)
        json_object_set(root, "post_processor", around);
    bool done = write_object(root, path, error);
    json_decref(root);
    return done;
}
