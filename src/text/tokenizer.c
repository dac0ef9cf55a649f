#include "text/tokenizer.h"

#include "base/check.h"
#include "base/foreign.h"
#include "text/tokenizer_state.h"

#include <string.h>

void tokenizer_close(Tokenizer *tok)
{
    if (tok == NULL)
        return;
    added_tokens_close(tok->finder);
    g_clear_pointer(&tok->added, g_array_unref);
    g_clear_pointer(&tok->facts.added, g_array_unref);
    json_decref(tok->settings);
    json_decref(tok->post_processor);
    if (tok->model)
        tok->kind->close(tok->model);
    g_clear_pointer(&tok->sentinels, g_array_unref);
    if (tok->sentinel_of)
        g_hash_table_unref(tok->sentinel_of);
    g_free(tok->path);
    g_free(tok);
}

/* ---- pieces and roles ---- */

const AddedToken *tokenizer_find_added(const Tokenizer *tok, int id, const char *content)
{
    for (guint i = tok->added->len; i > 0; i--) {
        const AddedToken *token = added_at(tok, i - 1);
        if (content ? strcmp(token->content, content) == 0 : token->id == id)
            return token;
    }
    return NULL;
}

bool tokenizer_ids_agree(const Tokenizer *tok, const GArray *tokens, GError **error)
{
    for (guint i = 0; i < tokens->len; i++) {
        const AddedToken *token = &g_array_index(tokens, AddedToken, i);
        const char *owner = token->id < tok->size ? tokenizer_piece(tok, token->id) : "";
        const int known = tokenizer_id(tok, token->content);
        if (known >= 0 && known != token->id)
            return fail_user(error, "the settings beside it give \"%s\" the id %d, but it has the id %d",
                             token->content, token->id, known);
        if (known < 0 && *owner)
            return fail_user(error,
                             "the settings beside it give \"%s\" the id %d, which is that of \"%s\": want %d or "
                             "more",
                             token->content, token->id, owner, tok->size);
    }
    return true;
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

int tokenizer_appended(const Tokenizer *tok)
{
    return tok->n_appended;
}

int tokenizer_role(const Tokenizer *tok, TokenRole role)
{
    return tok->roles[role];
}

const TextFrame *tokenizer_frame(const Tokenizer *tok)
{
    return &tok->frame;
}

const json_t *tokenizer_settings(const Tokenizer *tok)
{
    return tok->settings;
}

int tokenizer_id(const Tokenizer *tok, const char *piece)
{
    int id = tok->kind->id(tok->model, piece);
    const AddedToken *token = id < 0 ? tokenizer_find_added(tok, -1, piece) : NULL;
    return token ? token->id : id;
}

int tokenizer_sentinel(const Tokenizer *tok, int index)
{
    CHECK(index >= 0, "sentinel %d", index);
    return index < tokenizer_sentinels(tok) ? g_array_index(tok->sentinels, int, index) : -1;
}

int tokenizer_sentinels(const Tokenizer *tok)
{
    return (int)tok->sentinels->len;
}

int tokenizer_target_end(const Tokenizer *tok)
{
    return tokenizer_id(tok, TOKENIZER_TARGET_END);
}

int tokenizer_sentinel_index(const Tokenizer *tok, int id)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(tok->sentinel_of, GINT_TO_POINTER(id))) - 1;
}

const char *tokenizer_piece(const Tokenizer *tok, int id)
{
    CHECK(id >= 0 && id < tok->size, "id %d of %d", id, tok->size);
    if (id < tok->facts.size)
        return tok->kind->piece(tok->model, id);
    const AddedToken *token = tokenizer_find_added(tok, id, NULL);
    return token ? token->content : "";
}

int tokenizer_encoder_role(const Tokenizer *tok, TokenRole role)
{
    if (tokenizer_role(tok, role) >= 0)
        return tokenizer_role(tok, role);
    if (role == ROLE_MASK)
        return tokenizer_sentinel(tok, 0);
    return role == ROLE_CLS ? tokenizer_encoder_role(tok, ROLE_SEP) : tokenizer_eos(tok);
}

/* ---- encoding and decoding ---- */

bool tokenizer_encode(const Tokenizer *tok, const char *text, size_t bytes, bool specials, GArray *ids, GError **error)
{
    const char *bad;
    if (!g_utf8_validate_len(text, bytes, &bad)) {
        g_autofree char *where = g_strdup_printf("byte %zu of the text", (size_t)(bad - text));
        return foreign_fail_byte(where, *bad, error);
    }
    return added_tokens_encode(tok->finder, text, bytes, specials, ids, NULL, error);
}

bool tokenizer_encode_ends(const Tokenizer *tok, const char *text, size_t bytes, bool specials, GArray *ids,
                           GArray *ends, GError **error)
{
    const char *bad;
    guint first = ends->len;
    if (bytes > UINT32_MAX || !g_utf8_validate_len(text, bytes, &bad))
        return fail_user(error, "the text is longer than 4 GiB or not valid UTF-8");
    if (!added_tokens_encode(tok->finder, text, bytes, specials, ids, ends, error))
        return false;
    if (ends->len > first)
        g_array_index(ends, uint32_t, ends->len - 1) = (uint32_t)bytes;
    return true;
}

/* The text of ids so far. */
typedef struct Decoding {
    const Tokenizer *tok;
    GString *text;
    GArray *run;     /* int32_t: ids of pieces that are not yet decoded */
    TextEdges edges; /* what is before `run` */
} Decoding;

/* Replaces each NUL from byte `start` on by U+FFFD, since a text ends at a NUL. */
static void replace_nuls(GString *text, gsize start)
{
    g_autoptr(GString) decoded = g_string_new_len(text->str + start, (gssize)(text->len - start));
    g_string_truncate(text, start);
    for (gsize at = 0; at <= decoded->len; at += strlen(decoded->str + at) + 1) {
        g_string_append(text, at > 0 ? "\uFFFD" : "");
        g_string_append(text, decoded->str + at);
    }
}

/* Decodes and empties `run`. */
static bool decode_run(Decoding *to, bool before_blank, GError **error)
{
    const Tokenizer *tok = to->tok;
    if (to->run->len == 0)
        return true;
    if (to->text->len > 0 && (!to->edges.after_blank || tok->facts.blank_space == BLANK_AFTER))
        g_string_append_c(to->text, ' ');
    to->edges.before_blank = before_blank;
    const gsize start = to->text->len;
    bool ok =
        tok->kind->decode(tok->model, (const int32_t *)(void *)to->run->data, to->run->len, to->edges, to->text, error);
    replace_nuls(to->text, start);
    g_array_set_size(to->run, 0);
    return ok;
}

/* Appends the piece of a sentinel or another added token, with the space that it stands for. */
static bool decode_added(Decoding *to, int32_t id, GError **error)
{
    const BlankSpace space = to->tok->facts.blank_space;
    const bool blank = tokenizer_sentinel_index(to->tok, id) >= 0;
    const bool joined = to->run->len == 0 && to->edges.after_blank;
    if (!decode_run(to, blank, error))
        return false;
    const bool spaced = !blank || space == BLANK_BEFORE || space == BLANK_SPLITS || joined;
    if (to->text->len > 0 && spaced && space != BLANK_TEXT)
        g_string_append_c(to->text, ' ');
    g_string_append(to->text, tokenizer_piece(to->tok, id));
    to->edges = (TextEdges){ .after_blank = blank };
    return true;
}

char *tokenizer_decode(const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error)
{
    g_autoptr(GArray) run = g_array_new(FALSE, FALSE, sizeof *ids);
    Decoding to = { tok, g_string_new(NULL), run, { .starts_text = true } };
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        if (ids[i] < 0 || ids[i] >= tok->size || ids[i] == tokenizer_pad(tok) || ids[i] == tokenizer_eos(tok))
            continue;
        if (ids[i] < tok->facts.size && tokenizer_sentinel_index(tok, ids[i]) < 0)
            g_array_append_val(run, ids[i]);
        else
            ok = decode_added(&to, ids[i], error);
    }
    ok = ok && decode_run(&to, false, error);
    return g_string_free(to.text, !ok);
}

char *tokenizer_decode_answer(const Tokenizer *tok, const GArray *ids, GError **error)
{
    const FrameTokens *before = &tok->frame.before;
    const int32_t *tokens = (const int32_t *)(const void *)ids->data;
    int64_t n = ids->len, first = 0;
    if (before->n > 0 && n >= before->n && memcmp(tokens, before->ids, (size_t)before->n * sizeof *tokens) == 0)
        first = before->n;
    return tokenizer_decode(tok, tokens + first, n - first, error);
}
