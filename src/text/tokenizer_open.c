/* tokenizer_open.c: opens a tokenizer: its files, its model, and the tokens, roles and sentinels that these name. */
#include "base/file.h"
#include "base/hub.h"
#include "base/log.h"
#include "text/byte_bpe/byte_bpe.h"
#include "text/tokenizer_state.h"
#include "text/wordpiece/wordpiece.h"

#include <string.h>
#include <xxhash.h>

#define LLAMA_FILE "tokenizer.model" /* Llama 2: a SentencePiece model; Llama 3: tiktoken's ranks */

/* ---- files ---- */

bool tokenizer_is_json(const char *path)
{
    return g_str_has_suffix(path, ".json") && !g_str_has_suffix(path, "vocab.json") &&
           !g_str_has_suffix(path, TOKENIZER_CONFIG);
}

/* Whether a file starts with a line of a tiktoken rank file: base64, a space, a number. */
static bool holds_ranks(const char *data)
{
    size_t n = strspn(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
    return n > 0 && data[n] == ' ' && g_ascii_isdigit(data[n + 1]);
}

/* The kind of a file, by its name; files of other names are taken for SentencePiece models. NULL means a
 * tokenizer.json, whose model.type says which kind it is. */
static const TokenizerKind *kind_of_file(const char *path, const char *data)
{
    if (tokenizer_is_json(path))
        return NULL;
    if (g_str_has_suffix(path, ".tiktoken") || (g_str_has_suffix(path, LLAMA_FILE) && holds_ranks(data)))
        return &kind_tiktoken;
    for (const TokenizerKind *const *kind = tokenizer_kinds; *kind; kind++)
        if ((*kind)->file_name && g_str_has_suffix(path, (*kind)->file_name))
            return *kind;
    return strcmp(path, BYTES_PATH) == 0 ? &kind_bytes : tokenizer_kinds[0];
}

/* Whether the folder's tokenizer_config.json is of ByT5; then other files in the folder do not matter. */
static bool is_byt5(const char *folder)
{
    g_auto(TokenizerSettings) config = { 0 };
    return tokenizer_settings_read(folder, &config, NULL) &&
           g_strcmp0(json_string_value(json_object_get(config.root, "tokenizer_class")), "ByT5Tokenizer") == 0;
}

/* The files of a folder that may be opened, in the order of tokenizer_kinds. tokenizer.json comes after the files of
 * the first two kinds, SentencePiece and WordPiece, which may tell more than it does. */
static GPtrArray *find_in_folder(const char *folder, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new(), files = g_ptr_array_new_with_free_func(g_free);
    for (const TokenizerKind *const *kind = tokenizer_kinds; *kind; kind++) {
        if ((*kind)->file_name)
            g_ptr_array_add(names, (char *)(*kind)->file_name);
        if (*kind == &kind_wordpiece) {
            g_ptr_array_add(names, (char *)TOKENIZER_JSON);
            g_ptr_array_add(names, (char *)LLAMA_FILE);
        }
    }
    if (is_byt5(folder))
        g_ptr_array_add(files, g_build_filename(folder, TOKENIZER_CONFIG, NULL));
    for (guint i = 0; i < names->len && !is_byt5(folder); i++) {
        g_autofree char *file = g_build_filename(folder, names->pdata[i], NULL);
        if (g_file_test(file, G_FILE_TEST_EXISTS))
            g_ptr_array_add(files, g_steal_pointer(&file));
    }
    if (files->len > 0)
        return g_steal_pointer(&files);
    if (io_refused(folder, error))
        return NULL;
    g_ptr_array_add(names, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
    return fail_user(error, "%s holds no tokenizer (one of %s)", folder, list);
}

/* The files that may be opened for a path, the first one first. */
static GPtrArray *find_files(const char *path, GError **error)
{
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return find_in_folder(path, error);
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
    bool merges = g_str_has_suffix(path, "merges.txt"); /* vocab.json is opened, and reads merges.txt */
    g_ptr_array_add(files, merges ? g_strdup_printf("%.*svocab.json", (int)(strlen(path) - strlen("merges.txt")), path)
                                  : g_strdup(path));
    return files;
}

/* Whether a file may be read in place of a tokenizer.json that cannot be read: it says itself how text is split. */
static bool stands_alone(const char *path)
{
    return g_str_has_suffix(path, LLAMA_FILE) || g_str_has_suffix(path, kind_tiktoken.file_name);
}

char *tokenizer_read_file(const Tokenizer *tok, size_t *bytes, GError **error)
{
    if (g_file_test(tok->path, G_FILE_TEST_EXISTS))
        return io_read_regular(tok->path, TOKENIZER_MAX_FILE, bytes, error);
    bool is_bytes = strcmp(tok->path, BYTES_PATH) == 0 || hub_fail_absent(tok->path, "file or folder", error);
    *bytes = strlen(BYTES_FILE);
    return is_bytes ? g_strdup(BYTES_FILE) : NULL;
}

char *tokenizer_second_path(const Tokenizer *tok)
{
    const char *name = tok->kind->file_name;
    if (tok->kind->second_file == NULL || !g_str_has_suffix(tok->path, name))
        return NULL;
    g_autofree char *stem = g_strndup(tok->path, strlen(tok->path) - strlen(name));
    g_autofree char *path = g_strconcat(stem, tok->kind->second_file, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path) : NULL;
}

/* ---- added tokens ---- */

static bool is_same(const AddedToken *a, const AddedToken *b)
{
    return a->id == b->id && strcmp(a->content, b->content) == 0 && a->special == b->special &&
           a->single_word == b->single_word && a->lstrip == b->lstrip && a->rstrip == b->rstrip &&
           a->normalized == b->normalized;
}

/* Copies a token that the tokenizer does not have yet. */
static void add_new_token(Tokenizer *tok, AddedToken token)
{
    const AddedToken *before = tokenizer_find_added(tok, -1, token.content);
    if (before && is_same(before, &token))
        return;
    token.content = g_strdup(token.content);
    g_array_append_val(tok->added, token);
    tok->size = MAX(tok->size, token.id + 1);
}

static void add_tokens(Tokenizer *tok, const GArray *tokens)
{
    for (guint i = 0; tokens && i < tokens->len; i++)
        add_new_token(tok, g_array_index(tokens, AddedToken, i));
}

/* The pieces that the tokenizer's class gives the roles that no file names: for each TokenRole a piece or NULL. */
static const char *const *class_tokens(const Tokenizer *tok)
{
    static const char *const none[TOKEN_ROLES] = { NULL };
    return tok->class_.special_tokens ? tok->class_.special_tokens : none;
}

/* Adds special tokens in the order of transformers: those that a file names for a role and the vocabulary lacks, with
 * the next free id, and those of a class that has its own, with their id in the vocabulary or the next free one. T5's
 * are left as they are, since its sentinels follow the vocabulary. */
static void add_class_tokens(Tokenizer *tok, TokenizerSettings *config)
{
    static const TokenRole order[] = { ROLE_BOS, ROLE_EOS, ROLE_UNK, ROLE_SEP, ROLE_PAD, ROLE_CLS, ROLE_MASK };
    const bool has_class = tok->class_.special_tokens != NULL;
    const bool appends = tok->class_.name || tok->kind == &kind_wordpiece || tokenizer_is_json(tok->path);
    for (size_t i = 0; appends && i < G_N_ELEMENTS(order); i++) {
        const char *key = token_role_key(order[i]), **piece = &config->roles[order[i]];
        const json_t *flags = tokenizer_settings_flags(config, order[i]);
        if (*piece == NULL && !json_is_null(json_object_get(config->root, key)))
            *piece = class_tokens(tok)[order[i]];
        if (*piece == NULL || tokenizer_find_added(tok, -1, *piece))
            continue;
        const int id = tokenizer_id(tok, *piece);
        if (id >= 0 && !has_class)
            continue;
        AddedToken token = { .content = *piece, .id = id >= 0 ? id : tok->size };
        if (json_is_object(flags))
            added_token_read(flags, &token);
        token.special = true;
        add_new_token(tok, token);
        tok->n_appended += !has_class;
    }
}

/* The id of the piece that has a role by convention; -1 if there is none. */
static int role_by_convention(const Tokenizer *tok, TokenRole role)
{
    int id = -1;
    for (const char *const *piece = token_role_pieces(role); id < 0 && *piece; piece++)
        id = tokenizer_id(tok, *piece);
    return id;
}

/* See tokenizer_role. */
static void find_roles(Tokenizer *tok, const TokenizerSettings *config)
{
    const TokenizerFacts *facts = &tok->facts;
    const int known[TOKEN_ROLES] = { facts->pad, facts->unk, facts->eos, facts->bos, -1, -1, -1 };
    for (int role = 0; role < TOKEN_ROLES; role++) {
        int *id = &tok->roles[role];
        *id = tok->class_.special_tokens && config->roles[role] ? -1 : known[role];
        if (*id < 0 && config->roles[role])
            *id = tokenizer_id(tok, config->roles[role]);
        if (*id < 0 && role >= ROLE_CLS)
            *id = role_by_convention(tok, (TokenRole)role);
    }
}

/* See tokenizer_frame. The frame is also read from a tokenizer.json beside a file of another kind. The class of RoBERTa
 * has its own, whatever that file says. */
static bool find_frame(Tokenizer *tok, const char *folder, GError **error)
{
    json_auto_t *root = NULL;
    bool json = tokenizer_is_json(tok->path);
    if (!json && !tokenizer_json_read(folder, TOKENIZER_JSON, &root, error))
        return false;
    if (root)
        tok->post_processor = json_incref(json_object_get(root, "post_processor"));
    if (class_tokens(tok)[ROLE_CLS]) {
        tok->frame = frame_of(tok->roles[ROLE_CLS], tok->roles[ROLE_SEP], true);
        return true;
    }
    if (json || root)
        return frame_read(&tok->frame, tok->post_processor, tok, error);
    tok->frame = frame_of_flags(tok->settings, tok);
    return true;
}

/* Sets tok->settings, with the class and the special tokens that other files name: a copy of the tokenizer lacks
 * these. Appended tokens keep their flags, so that a copy appends them again. */
static void keep_settings(Tokenizer *tok, const TokenizerSettings *config)
{
    const bool has_roles = tok->class_.special_tokens || tok->n_appended > 0;
    tok->settings = config->root ? json_incref(config->root) : has_roles || tok->class_.name ? json_object() : NULL;
    if (tok->class_.name && json_object_get(tok->settings, "tokenizer_class") == NULL)
        json_object_set_new(tok->settings, "tokenizer_class", json_string(tok->class_.name));
    for (int role = 0; has_roles && role < TOKEN_ROLES; role++) {
        const char *key = token_role_key((TokenRole)role);
        json_t *flags = tok->n_appended > 0 ? json_deep_copy(tokenizer_settings_flags(config, (TokenRole)role)) : NULL;
        if (config->roles[role] && (flags || json_object_get(tok->settings, key) == NULL))
            json_object_set_new(tok->settings, key, flags ? flags : json_string(config->roles[role]));
        else
            json_decref(flags);
    }
}

/* Adds tokens and roles of the settings files in the same folder, and finds the frame. */
static bool read_settings(Tokenizer *tok, GError **error)
{
    g_auto(TokenizerSettings) config = { 0 };
    g_autofree char *folder = g_path_get_dirname(tok->path);
    bool is_file = g_file_test(tok->path, G_FILE_TEST_EXISTS); /* BYTES_PATH is not a file */
    if (is_file) {
        if (!tokenizer_settings_read(folder, &config, error) ||
            (tokenizer_is_json(tok->path) && !tokenizer_ids_agree(tok, config.added, error)))
            return false;
        add_tokens(tok, config.added);
        add_class_tokens(tok, &config);
        if (tok->class_.name && !tokenizer_is_json(tok->path))
            tokenizer_settings_mask(&config, tok->added);
        tok->separates_blanks = strcmp(json_text(config.root, TOKENIZER_BLANKS), "transformers") == 0;
    }
    find_roles(tok, &config);
    if (is_file)
        keep_settings(tok, &config); /* last, since it replaces texts that config.roles points to */
    return !is_file || find_frame(tok, folder, error);
}

bool tokenizer_is_blank(const Tokenizer *tok, int id)
{
    return id >= 0 && (id == tok->roles[ROLE_MASK] || tokenizer_sentinel_index(tok, id) >= 0);
}

/* Blanks are searched for in unchanged text, and take no white space by flags. So are masks that are only pieces. */
static void open_finder(Tokenizer *tok)
{
    const BaseTokenizer base = { tok->model, tok->kind->encode, tok->kind->normalize, tok->kind->ends };
    const int mask = tok->roles[ROLE_MASK];
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    g_array_append_vals(tokens, tok->added->data, tok->added->len);
    if (mask >= 0 && tokenizer_find_added(tok, mask, NULL) == NULL) {
        const AddedToken token = { .content = tokenizer_piece(tok, mask), .id = mask, .special = true };
        g_array_append_val(tokens, token);
    }
    const bool joins = !tok->separates_blanks || tok->facts.joins_blanks;
    for (guint i = 0; joins && i < tokens->len; i++) {
        AddedToken *token = &g_array_index(tokens, AddedToken, i);
        token->blank = tokenizer_is_blank(tok, token->id);
        if (token->blank)
            token->lstrip = token->rstrip = token->normalized = false;
    }
    added_tokens_close(tok->finder);
    tok->finder = added_tokens_open(tokens, &base);
}

bool tokenizer_set_blanks(Tokenizer *tok, const char *blanks, GError **error)
{
    const bool separates = strcmp(blanks, "transformers") == 0;
    if (!separates && strcmp(blanks, "corpus") != 0)
        return fail_user(error, "blanks are encoded as in a \"corpus\" or by \"transformers\", not \"%s\"", blanks);
    tok->separates_blanks = separates;
    open_finder(tok);
    return true;
}

/* ---- opening ---- */

static bool open_kind_json(Tokenizer *tok, const char *data, size_t bytes, GError **error)
{
    g_autoptr(TokenizerJson) json = tokenizer_json_open(data, bytes, &tok->facts.class_, error);
    if (json == NULL)
        return false;
    for (const TokenizerKind *const *kind = tokenizer_kinds; *kind; kind++)
        if (g_strcmp0((*kind)->json_type, json->type) == 0)
            tok->kind = *kind;
    if (tok->kind == NULL)
        return fail_user(error, "its model is %s, which cannot be read", json->type);
    const uint64_t hash = tokenizer_class_hash(&tok->facts.class_);
    tok->model = tok->kind->open_json(json, &tok->facts, error);
    if (tok->model)
        add_tokens(tok, json->added);
    if (json->replaced)
        tok->facts.settings = hash;
    tok->post_processor = json_incref(json->post_processor);
    g_clear_pointer(&tok->facts.added, g_array_unref);
    return tok->model != NULL;
}

/* Finds the class that the tokenizer's folder names. */
static bool read_class(Tokenizer *tok, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(tok->path);
    json_auto_t *settings = NULL, *config = NULL;
    if (!g_file_test(tok->path, G_FILE_TEST_EXISTS)) /* BYTES_PATH */
        return true;
    if (!tokenizer_json_read(folder, TOKENIZER_CONFIG, &settings, error) ||
        !tokenizer_json_read(folder, "config.json", &config, error))
        return false;
    tok->facts.class_ = tokenizer_class_of(settings, config);
    return true;
}

static bool open_kind(Tokenizer *tok, const char *data, size_t bytes, GError **error)
{
    const TokenizerClass class_ = tok->facts.class_;
    tok->added = added_tokens_new();
    tok->kind = kind_of_file(tok->path, data);
    if (tok->facts.pattern && tok->kind != &kind_tiktoken)
        return fail_user(error, "only a rank file of tiktoken takes a pattern");
    if (tok->facts.layout && tok->kind != &kind_tiktoken)
        return fail_user(error, "only a rank file of tiktoken takes a layout");
    if (tok->kind == NULL && !open_kind_json(tok, data, bytes, error))
        return false;
    if (tok->model == NULL)
        tok->model = tok->kind->open(tok->path, data, bytes, &tok->facts, error);
    if (tok->model == NULL)
        return false;
    tok->class_ = class_.text == CLASS_BERT && tok->kind != &kind_wordpiece ? (TokenizerClass){ 0 } : class_;
    add_tokens(tok, tok->facts.added);
    tok->n_own = tok->added->len;
    tok->size = tok->facts.size;
    return read_settings(tok, error);
}

/* The name of sentinel i: T5's, or AST-T5's, whose <sen000> starts and ends targets instead. */
static char *sentinel_name(bool of_ast_t5, int i)
{
    return of_ast_t5 ? g_strdup_printf("<sen%03d>", i + 1) : g_strdup_printf("<extra_id_%d>", i);
}

static void append_sentinel(Tokenizer *tok, int id)
{
    g_array_append_val(tok->sentinels, id);
    g_hash_table_insert(tok->sentinel_of, GINT_TO_POINTER(id), GUINT_TO_POINTER(tok->sentinels->len));
}

/* See tokenizer_appended. The finder is to be opened anew. */
static void drop_appended(Tokenizer *tok)
{
    if (tok->n_appended == 0)
        return;
    tok->size -= tok->n_appended;
    tok->n_appended = 0;
    for (guint i = tok->added->len; i-- > tok->n_own;)
        if (added_at(tok, i)->id >= tok->size)
            g_array_remove_index(tok->added, i);
    for (int role = 0; role < TOKEN_ROLES; role++)
        if (tok->roles[role] >= tok->size)
            tok->roles[role] = role >= ROLE_CLS ? role_by_convention(tok, (TokenRole)role) : -1;
    if (tok->post_processor) /* it could be read before, and leaves out what is not in the vocabulary */
        frame_read(&tok->frame, tok->post_processor, tok, NULL);
    else if (tok->frame.before.n > 0 || tok->frame.after.n > 0)
        tok->frame = frame_of_flags(tok->settings, tok);
}

void tokenizer_fit(Tokenizer *tok, int64_t rows)
{
    if (rows >= tok->size || tok->n_appended == 0)
        return;
    log_info("%s: its settings name special tokens that its vocabulary lacks (%d, the first %s), for which the model "
             "has no embedding row: they are left out",
             tok->path, tok->n_appended, tokenizer_piece(tok, tok->size - tok->n_appended));
    drop_appended(tok);
    open_finder(tok);
}

/* Sentinels follow the vocabulary: tokens that were appended to it make room. */
void tokenizer_add_sentinels(Tokenizer *tok, int n)
{
    if (tok->sentinels->len > 0)
        return;
    drop_appended(tok);
    int first = tok->size + n - 1;
    for (int i = 0; i < n; i++)
        append_sentinel(tok, first - i);
    for (int i = n - 1; i >= 0; i--) {
        g_autofree char *name = sentinel_name(false, i);
        add_new_token(tok, (AddedToken){ .content = name, .id = first - i, .special = true });
    }
    open_finder(tok);
}

/* Other tokenizers than a T5's, such as a Llama's, may have a piece that only has the name of the first sentinel. */
static bool place_sentinels(Tokenizer *tok, GError **error)
{
    tok->sentinel_of = g_hash_table_new(NULL, NULL);
    tok->sentinels = g_array_new(FALSE, FALSE, sizeof(int));
    const bool of_ast_t5 = tokenizer_target_end(tok) >= 0, own = of_ast_t5 || tokenizer_id(tok, "<extra_id_0>") >= 0;
    const char *first = of_ast_t5 ? TOKENIZER_TARGET_END : "<extra_id_0>";
    int n = 0;
    for (bool found = own; found; n += found) {
        g_autofree char *name = sentinel_name(of_ast_t5, n);
        found = n < TOKENIZER_MAX_SENTINELS && tokenizer_id(tok, name) >= 0;
    }
    g_autofree char *missing = own && n < TOKENIZER_SENTINELS ? sentinel_name(of_ast_t5, n) : NULL;
    if (missing && (of_ast_t5 || tok->roles[ROLE_BOS] < 0))
        return fail_user(error, "it has a piece %s, but no %s", first, missing);
    if (missing)
        log_warning("%s: it has a piece %s, but no %s: none of its pieces is a sentinel", tok->path, first, missing);
    for (int i = 0; !missing && i < n; i++) {
        g_autofree char *name = sentinel_name(of_ast_t5, i);
        int id = tokenizer_id(tok, name);
        append_sentinel(tok, id);
        if (tokenizer_find_added(tok, id, NULL) == NULL)
            add_new_token(tok, (AddedToken){ .content = name, .id = id, .special = true });
    }
    open_finder(tok);
    if (tok->facts.adds_sentinels)
        tokenizer_add_sentinels(tok, TOKENIZER_SENTINELS);
    return true;
}

/* ---- the hash ---- */

/* The hash that an export recorded for a file (tokenizer_record_hash); NULL if the file is another, or settings beside
 * it change its ids. */
static const char *recorded_hash(const Tokenizer *tok, guint64 file)
{
    const json_t *record = json_object_get(tok->settings, TOKENIZER_HASH);
    g_autofree char *name = g_strdup_printf("%016" G_GINT64_MODIFIER "x", file);
    const char *hash = json_text(record, "hash");
    const bool same =
        tokenizer_is_json(tok->path) && tok->facts.settings == 0 && strcmp(json_text(record, "file"), name) == 0;
    return same && strlen(hash) == sizeof tok->hash - 1 ? hash : NULL;
}

/* See tokenizer_hash. If the tokenizer is only one file, the hash is that of the file's bytes. */
static bool set_hash(Tokenizer *tok, const char *data, size_t bytes, GError **error)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(guint64));
    guint64 hash = tok->kind == &kind_bytes ? XXH3_64bits(BYTES_FILE, strlen(BYTES_FILE)) : XXH3_64bits(data, bytes);
    const char *recorded = recorded_hash(tok, hash);
    if (recorded) {
        g_strlcpy(tok->hash, recorded, sizeof tok->hash);
        return true;
    }
    g_array_append_val(parts, hash);
    g_autofree char *second = tokenizer_second_path(tok);
    if (second) {
        size_t n;
        g_autofree char *text = io_read_regular(second, TOKENIZER_MAX_FILE, &n, error);
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
    return tokenizer_open_ranks(path, NULL, NULL, error);
}

static Tokenizer *open_layout(const char *path, const char *pattern, const char *layout, GError **error)
{
    g_autoptr(Tokenizer) tok = g_new0(Tokenizer, 1);
    size_t bytes = 0;
    tok->facts.pattern = pattern;
    tok->facts.layout = layout;
    tok->path = g_strdup(path);
    g_autofree char *data = read_class(tok, error) ? tokenizer_read_file(tok, &bytes, error) : NULL;
    if (data == NULL)
        return NULL;
    if (bytes == 0)
        return fail_user(error, "%s is an empty file, not a tokenizer", tok->path);
    if (!open_kind(tok, data, bytes, error) || !set_hash(tok, data, bytes, error) || !place_sentinels(tok, error))
        return fail_context(error, "%s", tok->path);
    return g_steal_pointer(&tok);
}

/* ---- a tokenizer.json beside a model of its own ---- */

/* Whether an added token of a tokenizer.json is found by the tokenizer, too. */
static bool finds(const Tokenizer *tok, const AddedToken *token)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    bool found = token->special || !tokenizer_encode(tok, token->content, strlen(token->content), false, ids, NULL);
    for (guint i = 0; i < ids->len && !found; i++)
        found = g_array_index(ids, int32_t, i) == token->id;
    return found;
}

/* Whether each piece of a tokenizer.json has the same id in the tokenizer, and each of the tokenizer's model is in the
 * tokenizer.json. A file that cannot be parsed counts as one that has the same. */
static bool has_same_pieces(const Tokenizer *tok, const char *path)
{
    size_t bytes;
    g_autoptr(GError) wrong = NULL;
    g_autofree char *data = io_read_regular(path, TOKENIZER_MAX_FILE, &bytes, &wrong);
    g_autoptr(TokenizerJson) json = data ? tokenizer_json_open(data, bytes, &tok->class_, &wrong) : NULL;
    if (wrong)
        log_warning("%s: %s; %s is read instead", path, wrong->message, tok->path);
    const guint n = json ? MAX(json->pieces->len, (guint)tok->facts.size) : 0;
    bool same = true;
    for (guint id = 0; id < n && same; id++) {
        const char *piece = id < json->pieces->len ? json->pieces->pdata[id] : NULL,
                   *own = id < (guint)tok->size ? tokenizer_piece(tok, (int)id) : "";
        same = piece ? strcmp(piece, own) == 0 : id >= (guint)tok->facts.size || *own == 0;
    }
    for (guint i = 0; json && i < json->added->len && same; i++)
        same = finds(tok, &g_array_index(json->added, AddedToken, i));
    return same;
}

/* The first file of a folder that is read: of a SentencePiece model or a WordPiece vocabulary, and a tokenizer.json
 * that lists other tokens, the tokenizer.json, as in transformers 5, which writes only that when it saves; unless loam
 * cannot read it. */
static Tokenizer *open_first(const GPtrArray *files, const char *pattern, const char *layout, GError **error)
{
    const char *first = files->pdata[0], *json = NULL;
    Tokenizer *tok = open_layout(first, pattern, layout, error);
    for (guint i = 1; i < files->len && tok && !tokenizer_is_json(first) && json == NULL; i++)
        json = tokenizer_is_json(files->pdata[i]) ? files->pdata[i] : NULL;
    if (json == NULL || tok->kind == &kind_bytes || has_same_pieces(tok, json))
        return tok;
    g_autoptr(GError) wrong = NULL;
    Tokenizer *saved = open_layout(json, pattern, layout, &wrong);
    if (saved)
        log_info("%s has other tokens than %s beside it, and is read, as in transformers", json, first);
    else
        log_warning("%s; %s, which has other tokens, is read instead", wrong->message, first);
    tokenizer_close(saved ? tok : NULL);
    return saved ? saved : tok;
}

Tokenizer *tokenizer_open_ranks(const char *path, const char *pattern, const char *layout, GError **error)
{
    g_autoptr(GPtrArray) files = find_files(path, error);
    g_autoptr(GError) problem = NULL;
    Tokenizer *tok = files ? open_first(files, pattern, layout, &problem) : NULL;
    for (guint i = 1; files && tok == NULL && i < files->len; i++) {
        if (!tokenizer_is_json(files->pdata[0]) || !stands_alone(files->pdata[i]))
            continue;
        tok = open_layout(files->pdata[i], pattern, layout, NULL);
        if (tok)
            log_warning("%s; %s is read instead", problem->message, (char *)files->pdata[i]);
    }
    if (tok == NULL && problem)
        g_propagate_error(error, g_steal_pointer(&problem));
    return tok;
}

char *tokenizer_find(const char *folder, Tokenizer **opened, GError **error)
{
    g_autoptr(GPtrArray) files = find_files(folder, error);
    /* a damaged model is found, too; a tokenizer.json may have parts that cannot be read */
    const char *model =
        files && g_str_has_suffix(files->pdata[0], tokenizer_kinds[0]->file_name) ? files->pdata[0] : NULL;
    const bool opens = files && (!model || files->len > 1);
    g_autoptr(Tokenizer) tok = opens ? tokenizer_open(folder, model ? NULL : error) : NULL;
    char *found = g_strdup(tok ? tok->path : model);
    if (opened)
        *opened = g_steal_pointer(&tok);
    return found;
}
