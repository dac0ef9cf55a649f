#include "text/added_tokens.h"

#include "text/offset_map.h"
#include "text/trie.h"
#include "text/unicode.h"

#include <string.h>

/* The tokens that one pass over the text searches for: the first the unchanged text, the second the normalized one. */
typedef struct Pass {
    GArray *tokens;    /* AddedToken, contents owned, in the form that is searched for */
    Trie trie;         /* content -> index in tokens */
    bool starts[256];  /* whether a token starts with this byte */
    bool any_ordinary; /* whether a token is not special */
} Pass;

struct AddedTokens {
    BaseTokenizer base;
    Pass raw, normal;
};

static void clear_token(void *token)
{
    g_free((char *)((AddedToken *)token)->content);
}

GArray *added_tokens_new(void)
{
    GArray *tokens = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    g_array_set_clear_func(tokens, clear_token);
    return tokens;
}

static const AddedToken *token_at(const Pass *pass, guint i)
{
    return &g_array_index(pass->tokens, AddedToken, i);
}

/* Adds a token in the form `content`, of which it takes ownership; ignores an empty token. */
static void pass_add(Pass *pass, const AddedToken *token, char *content)
{
    AddedToken own = *token;
    own.content = content;
    if (*content == 0) {
        g_free(content);
        return;
    }
    pass->any_ordinary |= !own.special;
    pass->starts[(uint8_t)*content] = true;
    g_array_append_val(pass->tokens, own);
}

static void pass_build(Pass *pass)
{
    guint n = pass->tokens->len;
    g_autofree TrieKey *keys = g_new(TrieKey, n);
    for (guint i = 0; i < n; i++)
        keys[i] = (TrieKey){ token_at(pass, i)->content, (uint32_t)strlen(token_at(pass, i)->content), (int32_t)i };
    trie_init(&pass->trie, keys, n);
}

AddedTokens *added_tokens_open(const GArray *tokens, const BaseTokenizer *base)
{
    AddedTokens *added = g_new0(AddedTokens, 1);
    added->base = *base;
    added->raw.tokens = added_tokens_new();
    added->normal.tokens = added_tokens_new();
    for (guint i = 0; i < tokens->len; i++) {
        const AddedToken *token = &g_array_index(tokens, AddedToken, i);
        const char *content = token->content;
        char *normal = NULL;
        if (token->normalized && base->normalize)
            normal = base->normalize(base->model, content, strlen(content), &(TextEdges){ 0 }, NULL, NULL);
        pass_add(token->normalized ? &added->normal : &added->raw, token, normal ? normal : g_strdup(content));
    }
    pass_build(&added->raw);
    pass_build(&added->normal);
    return added;
}

void added_tokens_close(AddedTokens *added)
{
    if (added == NULL)
        return;
    Pass *const passes[] = { &added->raw, &added->normal };
    for (size_t i = 0; i < G_N_ELEMENTS(passes); i++) {
        g_array_unref(passes[i]->tokens);
        trie_clear(&passes[i]->trie);
    }
    g_free(added);
}

/* ---- finding ---- */

/* Whether c is a symbol (So) that Unicode calls Other_Alphabetic: a letter in a circle, a square or both. */
static bool is_framed_letter(gunichar c)
{
    return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f189 && (c - 0x1f130) % 32 < 26);
}

/* \w as Hugging Face's tokenizers define it: Alphabetic, M, Nd, Pc and Join_Control. */
static bool is_word(gunichar c)
{
    switch (unicode_type(c)) {
    case G_UNICODE_LOWERCASE_LETTER:
    case G_UNICODE_MODIFIER_LETTER:
    case G_UNICODE_OTHER_LETTER:
    case G_UNICODE_TITLECASE_LETTER:
    case G_UNICODE_UPPERCASE_LETTER:
    case G_UNICODE_LETTER_NUMBER:
    case G_UNICODE_SPACING_MARK:
    case G_UNICODE_ENCLOSING_MARK:
    case G_UNICODE_NON_SPACING_MARK:
    case G_UNICODE_DECIMAL_NUMBER:
    case G_UNICODE_CONNECT_PUNCTUATION:
        return true;
    default:
        return is_framed_letter(c) || c == 0x200c || c == 0x200d;
    }
}

/* A search of text for the tokens of a pass. */
typedef struct Search {
    const Pass *pass;
    const char *text, *end;
    const char *taken; /* end of the last token found, including white space that belongs to it */
    const char *at;    /* where the search continues */
    bool specials;
} Search;

static bool stands_alone(const Search *search, const char *start, const char *stop)
{
    bool before = start > search->text && is_word(g_utf8_get_char(g_utf8_prev_char(start)));
    bool after = stop < search->end && is_word(g_utf8_get_char(stop));
    return !before && !after;
}

/* Extends the token at [*start, *stop) over the white space that belongs to it (lstrip, rstrip). */
static void widen_match(const Search *search, const AddedToken *token, const char **start, const char **stop)
{
    while (token->lstrip && *start > search->taken && is_white_space(g_utf8_get_char(g_utf8_prev_char(*start))))
        *start = g_utf8_prev_char(*start);
    *start = token->lstrip ? MAX(*start, search->taken) : *start;
    while (token->rstrip && *stop < search->end && is_white_space(g_utf8_get_char(*stop)))
        *stop = g_utf8_next_char(*stop);
}

/* The next token, with its white space; NULL if there is none. A longest match that is not allowed (special,
 * single_word) is skipped as a whole: shorter tokens within it are not found. */
static const AddedToken *next_token(Search *search, const char **start, const char **stop)
{
    while (search->at < search->end) {
        const char *at = search->at;
        int32_t index;
        size_t bytes = 0;
        if (search->pass->starts[(uint8_t)*at])
            bytes = trie_longest(&search->pass->trie, at, (size_t)(search->end - at), &index);
        search->at += MAX(bytes, 1);
        if (bytes == 0)
            continue;
        const AddedToken *token = token_at(search->pass, (guint)index);
        if ((token->special && !search->specials) || (token->single_word && !stands_alone(search, at, search->at)))
            continue;
        *start = at;
        *stop = search->at;
        widen_match(search, token, start, stop);
        return token;
    }
    return NULL;
}

/* ---- encoding ---- */

/* The ids found so far, where each ends in the text, and which tokens are looked for. */
typedef struct Output {
    GArray *ids;        /* int32_t */
    GArray *ends;       /* uint32_t; NULL means that they are not wanted */
    const char *origin; /* start of the text that the ends are counted in */
    bool specials;      /* special tokens, too */
} Output;

typedef bool (*GapFn)(const AddedTokens *added, const char *text, size_t bytes, TextEdges edges, const Output *out,
                      GError **error);

static void put_token(const Output *out, int id, const char *stop)
{
    uint32_t end = (uint32_t)(stop - out->origin);
    g_array_append_val(out->ids, id);
    if (out->ends && out->ends->len > 0) /* ends ascend */
        end = MAX(end, g_array_index(out->ends, uint32_t, out->ends->len - 1));
    if (out->ends)
        g_array_append_val(out->ends, end);
}

/* Appends the ids of the tokens of a pass; `gap` encodes the text between them. */
static bool run_pass(const AddedTokens *added, const Pass *pass, const char *text, size_t bytes, TextEdges edges,
                     GapFn gap, const Output *out, GError **error)
{
    Search search = { pass, text, text + bytes, text, text, out->specials };
    TextEdges own = edges; /* of the text from search.taken on */
    const AddedToken *token = NULL;
    const char *start, *stop;
    bool some = pass->tokens->len > 0 && (out->specials || pass->any_ordinary);
    while (some && (token = next_token(&search, &start, &stop))) {
        own.before_blank = token->blank;
        if (start > search.taken && !gap(added, search.taken, (size_t)(start - search.taken), own, out, error))
            return false;
        search.taken = stop; /* white space that the token before took, but that is behind this one, is text again */
        if (start < stop)    /* else the token before took all of this one */
            put_token(out, token->id, stop);
        own = (TextEdges){ .after_blank = token->blank, .normalized = edges.normalized };
    }
    own.before_blank = edges.before_blank;
    return search.taken == search.end || gap(added, search.taken, (size_t)(search.end - search.taken), own, out, error);
}

static bool encode_plain(const AddedTokens *added, const char *text, size_t bytes, TextEdges edges, const Output *out,
                         GError **error)
{
    const BaseTokenizer *base = &added->base;
    guint before = out->ids->len;
    if (!base->encode(base->model, text, bytes, edges, out->ids, error))
        return false;
    guint n = out->ids->len - before, first = out->ends ? out->ends->len : 0;
    if (!out->ends || n == 0)
        return true;
    g_array_set_size(out->ends, first + n);
    uint32_t *ends = &g_array_index(out->ends, uint32_t, first);
    if (!base->ends || !base->ends(base->model, text, bytes, edges, &g_array_index(out->ids, int32_t, before), n, ends))
        return fail_user(error, "the places of tokens in a text are not known for this tokenizer");
    for (guint i = 0; i < n; i++)
        ends[i] += (uint32_t)(text - out->origin);
    return true;
}

static bool encode_normal(const AddedTokens *added, const char *text, size_t bytes, TextEdges edges, const Output *out,
                          GError **error)
{
    const BaseTokenizer *base = &added->base;
    const Pass *pass = &added->normal;
    if (pass->tokens->len == 0 || !(out->specials || pass->any_ordinary))
        return encode_plain(added, text, bytes, edges, out, error);
    if (!base->normalize)
        return run_pass(added, pass, text, bytes, edges, encode_plain, out, error);
    g_autoptr(GArray) map = NULL;
    g_autofree char *other = base->normalize(base->model, text, bytes, &edges, out->ends ? &map : NULL, error);
    if (!other)
        return false;
    size_t other_bytes = strlen(other);
    if (other_bytes == bytes && memcmp(other, text, bytes) == 0)
        return run_pass(added, pass, text, bytes, edges, encode_plain, out, error);
    if (out->ends && !map)
        return fail_user(error,
                         "the places of tokens in a text are not known for a tokenizer that finds added tokens in "
                         "normalized text");
    const Output inner = { out->ids, out->ends, other, out->specials };
    const guint first = out->ends ? out->ends->len : 0;
    if (!run_pass(added, pass, other, other_bytes, edges, encode_plain, &inner, error))
        return false;
    for (guint i = first; out->ends && i < out->ends->len; i++) {
        uint32_t *end = &g_array_index(out->ends, uint32_t, i);
        *end = offset_map_at(map, *end) + (uint32_t)(text - out->origin);
    }
    return true;
}

bool added_tokens_encode(const AddedTokens *added, const char *text, size_t bytes, bool specials, GArray *ids,
                         GArray *ends, GError **error)
{
    const Output out = { ids, ends, text, specials };
    return run_pass(added, &added->raw, text, bytes, (TextEdges){ .starts_text = true }, encode_normal, &out, error);
}
