#include "text/tokenizer.h"

#include "base/check.h"
#include "base/file.h"
#include "text/byte_bpe.h"
#include "text/bytes.h"
#include "text/json_parts.h"
#include "text/sentencepiece.h"
#include "text/unigram.h"
#include "text/wordpiece.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAX_FILE ((size_t)256 << 20) /* bytes; models of 250,000 pieces have about 5 MB */

static const TokenizerKind *const kinds[] = { &kind_sentencepiece, &kind_wordpiece, &kind_byte_bpe,
                                              &kind_tiktoken,      &kind_bytes,     &kind_unigram };

#define JSON_FILE "tokenizer.json" /* read by every kind with a json_type */

struct Tokenizer {
    const TokenizerKind *kind;
    void *model;
    TokenizerFacts facts;
    char *path;
    char hash[17];
    int size;
    int sentinels[TOKENIZER_SENTINELS];           /* ids */
    char sentinel_names[TOKENIZER_SENTINELS][16]; /* "<extra_id_0>" */
    GHashTable *sentinel_of;                      /* id -> index + 1 */
};

void tokenizer_close(Tokenizer *tok)
{
    if (tok == NULL)
        return;
    if (tok->model)
        tok->kind->close(tok->model);
    if (tok->sentinel_of)
        g_hash_table_unref(tok->sentinel_of);
    g_free(tok->path);
    g_free(tok);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tokenizer, tokenizer_close)

/* The kind is known by what a folder holds, or by the name of a file; others are tried as the first kind. NULL for a
 * tokenizer.json, which says itself what it is. */
static const TokenizerKind *kind_of_name(const char *path)
{
    if (g_str_has_suffix(path, JSON_FILE))
        return NULL;
    if (g_str_has_suffix(path, ".tiktoken"))
        return &kind_tiktoken;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (kinds[i]->file_name && g_str_has_suffix(path, kinds[i]->file_name))
            return kinds[i];
    return strcmp(path, BYTES_PATH) == 0 ? &kind_bytes : kinds[0];
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
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (kinds[i]->file_name)
            g_ptr_array_add(names, (char *)kinds[i]->file_name);
    g_ptr_array_insert(names, 2, (char *)JSON_FILE);
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

static bool open_json(Tokenizer *tok, const char *data, size_t bytes, GError **error)
{
    g_autoptr(TokenizerJson) json = tokenizer_json_open(data, bytes, error);
    if (json == NULL)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_strcmp0(kinds[i]->json_type, json->type) == 0)
            tok->kind = kinds[i];
    if (tok->kind == NULL)
        return fail_user(error, "its model is %s, which cannot be read", json->type);
    tok->model = tok->kind->open_json(json, &tok->facts, error);
    return tok->model != NULL;
}

static bool open_model(Tokenizer *tok, const char *data, size_t bytes, GError **error)
{
    tok->kind = kind_of_name(tok->path);
    if (tok->kind == NULL)
        return open_json(tok, data, bytes, error);
    tok->model = tok->kind->open(tok->path, data, bytes, &tok->facts, error);
    return tok->model != NULL;
}

static bool place_sentinels(Tokenizer *tok, GError **error)
{
    tok->size = tok->facts.size;
    tok->sentinel_of = g_hash_table_new(NULL, NULL);
    for (int i = 0; i < TOKENIZER_SENTINELS; i++)
        g_snprintf(tok->sentinel_names[i], sizeof tok->sentinel_names[i], "<extra_id_%d>", i);
    memset(tok->sentinels, 0xff, sizeof tok->sentinels);
    bool own = tok->kind->id(tok->model, tok->sentinel_names[0]) >= 0;
    if (!own && !tok->facts.adds_sentinels)
        return true;
    if (!own)
        tok->size += TOKENIZER_SENTINELS;
    for (int i = 0; i < TOKENIZER_SENTINELS; i++) {
        int id = own ? tok->kind->id(tok->model, tok->sentinel_names[i]) : tok->size - 1 - i;
        if (id < 0)
            return fail_user(error, "it has a piece <extra_id_0>, but no %s", tok->sentinel_names[i]);
        tok->sentinels[i] = id;
        g_hash_table_insert(tok->sentinel_of, GINT_TO_POINTER(id), GINT_TO_POINTER(i + 1));
    }
    return true;
}

/* The bytes of the file at tok->path; the tokenizer of bytes needs none. */
static char *read_file(const Tokenizer *tok, size_t *bytes, GError **error)
{
    if (strcmp(tok->path, BYTES_PATH) != 0 || g_file_test(tok->path, G_FILE_TEST_EXISTS))
        return io_read_file(tok->path, MAX_FILE, bytes, error);
    *bytes = strlen(BYTES_FILE);
    return g_strdup(BYTES_FILE);
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

/* Of the file's bytes; of those and the hash of the other file, where there is one. */
static bool set_hash(Tokenizer *tok, const char *data, size_t bytes, GError **error)
{
    guint64 hashes[2] = { XXH3_64bits(data, bytes), 0 };
    g_autofree char *other = path_beside(tok);
    if (other) {
        size_t n;
        g_autofree char *text = io_read_file(other, MAX_FILE, &n, error);
        if (text == NULL)
            return false;
        hashes[1] = XXH3_64bits(text, n);
        hashes[0] = XXH3_64bits(hashes, sizeof hashes);
    }
    g_snprintf(tok->hash, sizeof tok->hash, "%016" G_GINT64_MODIFIER "x", hashes[0]);
    return true;
}

Tokenizer *tokenizer_open(const char *path, GError **error)
{
    g_autoptr(Tokenizer) tok = g_new0(Tokenizer, 1);
    size_t bytes = 0;
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

bool tokenizer_copy(const Tokenizer *tok, const char *folder, GError **error)
{
    size_t bytes = 0;
    bool json = kind_of_name(tok->path) == NULL;
    g_autofree char *data = read_file(tok, &bytes, error), *other = json ? NULL : path_beside(tok);
    if (!copy_file(data, bytes, folder, json ? JSON_FILE : tok->kind->file_name, error))
        return false;
    g_autofree char *more = other ? io_read_file(other, MAX_FILE, &bytes, error) : NULL;
    return other == NULL || copy_file(more, bytes, folder, tok->kind->beside, error);
}

char *tokenizer_find(const char *folder)
{
    g_autofree char *path = find_file(folder, NULL);
    if (path == NULL || g_str_has_suffix(path, kinds[0]->file_name))
        return g_steal_pointer(&path);
    Tokenizer *tok = tokenizer_open(path, NULL); /* folders of Hugging Face hold what no kind here can read */
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

int tokenizer_pad(const Tokenizer *tok)
{
    return tok->facts.pad;
}

int tokenizer_eos(const Tokenizer *tok)
{
    return tok->facts.eos;
}

int tokenizer_unk(const Tokenizer *tok)
{
    return tok->facts.unk;
}

int tokenizer_bos(const Tokenizer *tok)
{
    return tok->facts.bos;
}

int tokenizer_special(const Tokenizer *tok, const char *piece)
{
    return tok->kind->id(tok->model, piece);
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
    int index = sentinel_index(tok, id);
    return index >= 0 ? tok->sentinel_names[index] : tok->kind->piece(tok->model, id);
}

/* The next <extra_id_N> that is a sentinel's name in [text, end), and its end; NULL if there is none. */
static const char *find_sentinel(const char *text, const char *end, int *index, const char **after)
{
    static const char start[] = "<extra_id_";
    const char *at = text;
    while ((at = memmem(at, (size_t)(end - at), start, sizeof start - 1))) {
        const char *digit = at + sizeof start - 1, *first = digit;
        int n = 0;
        for (; digit < end && digit - first < 2 && g_ascii_isdigit(*digit); digit++)
            n = 10 * n + (*digit - '0');
        bool named = digit > first && !(digit - first == 2 && *first == '0');
        if (named && digit < end && *digit == '>') {
            *index = n;
            *after = digit + 1;
            return at;
        }
        at = first;
    }
    return NULL;
}

bool tokenizer_encode(const Tokenizer *tok, const char *text, size_t bytes, bool specials, GArray *ids, GError **error)
{
    const char *end = text + bytes, *bad, *at, *after;
    if (!g_utf8_validate_len(text, bytes, &bad))
        return fail_user(error, "the text is not valid UTF-8 at byte %zu (0x%02x)", (size_t)(bad - text),
                         (unsigned char)*bad);
    int index;
    bool sentinels = specials && tok->sentinels[0] >= 0;
    while (sentinels && (at = find_sentinel(text, end, &index, &after))) {
        if (!tok->kind->encode(tok->model, text, (size_t)(at - text), specials, ids, error))
            return false;
        g_array_append_val(ids, tok->sentinels[index]);
        text = after;
    }
    return tok->kind->encode(tok->model, text, (size_t)(end - text), specials, ids, error);
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
        int index = sentinel_index(tok, ids[i]);
        if (index >= 0) {
            ok = decode_run(tok, run, text, error);
            g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "", tok->sentinel_names[index]);
        } else if (ids[i] >= 0 && ids[i] < tok->facts.size && ids[i] != tok->facts.pad && ids[i] != tok->facts.eos) {
            g_array_append_val(run, ids[i]);
        }
    }
    ok = ok && decode_run(tok, run, text, error);
    return g_string_free(text, !ok);
}

/* Sentinels that lie above the pieces are added tokens, from the lowest id upwards. */
static void add_sentinels(const Tokenizer *tok, json_t *added)
{
    for (int i = TOKENIZER_SENTINELS - 1; i >= 0; i--)
        if (tok->sentinels[i] >= tok->facts.size)
            json_array_append_new(added, json_added_token(tok->sentinels[i], tok->sentinel_names[i], true));
}

static bool write_as_json(const Tokenizer *tok, const char *data, size_t bytes, const char *path, GError **error)
{
    if (tok->kind->to_json == NULL)
        return fail_user(error, "%s: a tokenizer of kind %s has no form in tokenizer.json", tok->path, tok->facts.name);
    json_t *root = tok->kind->to_json(tok->model, data, bytes, error);
    if (root == NULL)
        return fail_context(error, "%s", tok->path);
    add_sentinels(tok, json_object_get(root, "added_tokens"));
    char *text = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    bool done = text ? io_write_file(path, text, strlen(text), error)
                     : fail_user(error, "%s: its pieces are not valid UTF-8", tok->path);
    free(text);
    return done;
}

bool tokenizer_has_json(const Tokenizer *tok)
{
    return tok->kind->to_json != NULL || kind_of_name(tok->path) == NULL;
}

bool tokenizer_write_json(const Tokenizer *tok, const char *path, GError **error)
{
    size_t bytes;
    g_autofree char *data = read_file(tok, &bytes, error);
    if (data == NULL)
        return false;
    if (kind_of_name(tok->path) == NULL) /* it is one */
        return io_write_file(path, data, bytes, error);
    return write_as_json(tok, data, bytes, path, error);
}
