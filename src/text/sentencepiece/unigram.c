/* sentencepiece/unigram.c: models of SentencePiece's kind that are read from a tokenizer.json: unigram models, and BPE
 * of characters. The ids of a unigram model equal those of SentencePiece, ties included: the same sums of floats in the
 * same order. */
#include "text/sentencepiece/char_bpe.h"
#include "text/sentencepiece/model.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/sentencepiece/unigram_text.h"
#include "text/sentencepiece/viterbi.h"

#include <limits.h>
#include <string.h>

#define MAX_PIECES ((guint)1 << 22)

typedef struct Unigram {
    GArray *pieces;    /* SpPiece by id; SP_CONTROL for special tokens, which are not found in ordinary text */
    UnigramText *text; /* normalizer and pre_tokenizer */
    GHashTable *ids;   /* text -> id */
    Viterbi viterbi;
    CharBpe *bpe; /* NULL for a unigram model */
} Unigram;

static const SpPiece *piece_at(const Unigram *unigram, int id)
{
    return &g_array_index(unigram->pieces, SpPiece, id);
}

static void close_unigram(void *model)
{
    Unigram *unigram = model;
    g_array_unref(unigram->pieces);
    unigram_text_close(unigram->text);
    viterbi_clear(&unigram->viterbi);
    char_bpe_close(unigram->bpe);
    g_hash_table_unref(unigram->ids);
    g_free(unigram);
}

static int id_of_unigram(const void *model, const char *piece)
{
    gpointer id;
    return g_hash_table_lookup_extended(((const Unigram *)model)->ids, piece, NULL, &id) ? GPOINTER_TO_INT(id) : -1;
}

static const char *piece_of_unigram(const void *model, int id)
{
    return piece_at(model, id)->text;
}

static bool check_pieces(const Unigram *unigram, GError **error)
{
    if (unigram->viterbi.unk < 0 && unigram->bpe == NULL)
        return fail_user(error, "none of its pieces is the unknown one");
    return !unigram->viterbi.byte_fallback || (unigram->bpe && unigram->viterbi.unk >= 0) ||
           viterbi_check_bytes(&unigram->viterbi, error);
}

/* ---- encoding ---- */

typedef struct Output {
    const Unigram *unigram;
    float score; /* sum of the scores of the words so far; see viterbi_encode */
    GArray *ids;
} Output;

static void encode_unigram_word(void *context, const char *word, size_t bytes)
{
    Output *output = context;
    const Unigram *unigram = output->unigram;
    if (unigram->bpe)
        char_bpe_encode(unigram->bpe, &unigram->viterbi, word, bytes, output->ids);
    else
        viterbi_encode(&unigram->viterbi, word, bytes, &output->score, output->ids);
}

static char *normalize_unigram(const void *model, const char *text, size_t bytes)
{
    return unigram_text_map(((const Unigram *)model)->text, text, bytes);
}

static bool encode_unigram(const void *model, const char *text, size_t bytes, TextEdges edges, GArray *ids,
                           GError **error)
{
    const Unigram *unigram = model;
    Output output = { unigram, 0, ids };
    if (bytes > G_MAXINT32 / 32)
        return fail_user(error, "a text of %zu bytes is too long for one call", bytes);
    return unigram_text_each(unigram->text, text, bytes, edges, (WordTaker){ encode_unigram_word, &output }, NULL,
                             error);
}

/* ---- where ids end ---- */

static void join_word(void *context, const char *word, size_t bytes)
{
    g_string_append_len(context, word, (gssize)bytes);
}

static bool ends_of_unigram(const void *model, const char *text, size_t bytes, TextEdges edges, const int32_t *ids,
                            int64_t n, uint32_t *ends)
{
    const Unigram *unigram = model;
    g_autoptr(GString) words = g_string_sized_new(bytes);
    g_autoptr(GArray) map = NULL;
    return unigram_text_each(unigram->text, text, bytes, edges, (WordTaker){ join_word, words }, &map, NULL) &&
           sp_piece_ends(unigram->pieces, unigram->viterbi.unk, words->str, words->len, map, ids, n, ends);
}

/* ---- decoding ---- */

static void append_with_spaces(GString *out, const char *piece)
{
    for (const char *space; (space = strstr(piece, SP_SPACE)); piece = space + strlen(SP_SPACE)) {
        g_string_append_len(out, piece, space - piece);
        g_string_append_c(out, ' ');
    }
    g_string_append(out, piece);
}

static bool decode_unigram(const void *model, const int32_t *ids, int64_t n, TextEdges edges, GString *text,
                           GError **error)
{
    (void)error;
    const Unigram *unigram = model;
    g_autoptr(GString) out = g_string_new(NULL);
    for (int64_t i = 0; i < n; i++) {
        const SpPiece *piece = piece_at(unigram, ids[i]);
        int byte = piece->type == SP_BYTE ? sp_byte_of(piece->text) : -1;
        if (byte >= 0)
            g_string_append_c(out, (char)byte);
        else if (piece->type == SP_UNKNOWN)
            g_string_append(out, " \xe2\x81\x87 ");
        else if (piece->type != SP_CONTROL)
            append_with_spaces(out, piece->text);
    }
    g_autofree char *valid = g_utf8_make_valid(out->str, (gssize)out->len);
    bool prefixed = !edges.after_blank && unigram_text_prefixes(unigram->text) && valid[0] == ' ';
    g_string_append(text, valid + prefixed);
    return true;
}

/* ---- tokenizer.json ---- */

/* A BPE names its unknown piece. */
static void mark_unknown(const TokenizerJson *json, GArray *pieces)
{
    const char *unk = tokenizer_json_text(json->model, "unk_token");
    for (guint i = 0; *unk && i < pieces->len; i++)
        if (strcmp(g_array_index(pieces, SpPiece, i).text, unk) == 0)
            g_array_index(pieces, SpPiece, i).type = SP_UNKNOWN;
}

static GArray *read_pieces(const TokenizerJson *json, bool byte_fallback)
{
    json_t *vocab = json_object_get(json->model, "vocab"), *unk = json_object_get(json->model, "unk_id");
    GArray *pieces = sp_pieces_new();
    for (guint i = 0; i < json->pieces->len; i++) {
        const char *text = json->pieces->pdata[i] ? json->pieces->pdata[i] : "";
        json_t *score = json_array_get(json_array_get(vocab, i), 1);
        SpPiece piece = { g_strdup(text), (float)json_number_value(score), SP_NORMAL };
        if (byte_fallback && sp_byte_of(text) >= 0)
            piece.type = SP_BYTE;
        g_array_append_val(pieces, piece);
    }
    for (guint i = 0; i < json->added->len; i++) {
        const AddedToken *token = &g_array_index(json->added, AddedToken, i);
        SpPiece *piece = &g_array_index(pieces, SpPiece, token->id);
        bool bpe = strcmp(json->type, TOKENIZER_JSON_CHARS) == 0;
        bool outside = json_is_object(vocab) && !json_object_get(vocab, token->content);
        /* SentencePiece scores control symbols 0 and pieces of text less. */
        if (piece->type == SP_BYTE ? outside : bpe ? token->special : piece->score >= 0)
            piece->type = SP_CONTROL;
    }
    mark_unknown(json, pieces);
    if (json_is_integer(unk) && json_integer_value(unk) >= 0 && json_integer_value(unk) < pieces->len)
        g_array_index(pieces, SpPiece, json_integer_value(unk)).type = SP_UNKNOWN;
    return pieces;
}

static void *open_unigram_json(const TokenizerJson *json, TokenizerFacts *facts, GError **error)
{
    bool byte_fallback = json_is_true(json_object_get(json->model, "byte_fallback"));
    Unigram *unigram = g_new0(Unigram, 1);
    unigram->pieces = read_pieces(json, byte_fallback);
    unigram->ids = g_hash_table_new(g_str_hash, g_str_equal);
    guint n = unigram->pieces->len;
    bool ok = n <= MAX_PIECES || fail_user(error, "%u pieces: at most %u", n, MAX_PIECES);
    for (guint id = 0; id < n; id++)
        g_hash_table_insert(unigram->ids, piece_at(unigram, (int)id)->text, GUINT_TO_POINTER(id));
    if (ok)
        viterbi_init(&unigram->viterbi, unigram->pieces, byte_fallback, 1 << SP_NORMAL | 1 << SP_BYTE, UINT_MAX);
    bool bpe = strcmp(json->type, TOKENIZER_JSON_CHARS) == 0;
    unigram->bpe = ok && bpe ? char_bpe_open(json, &unigram->viterbi.trie, error) : NULL;
    ok = ok && (!bpe || unigram->bpe);
    unigram->text = ok ? unigram_text_open(json->normalizer, json->pre_tokenizer, error) : NULL;
    if (unigram->text == NULL || !check_pieces(unigram, error)) {
        close_unigram(unigram);
        return NULL;
    }
    *facts = (TokenizerFacts){ .name = bpe ? "char-bpe" : "unigram",
                               .blank_space = unigram_text_blank_space(unigram->text),
                               .size = (int)n,
                               .pad = id_of_unigram(unigram, "<pad>"),
                               .eos = id_of_unigram(unigram, "</s>"),
                               .unk = unigram->viterbi.unk,
                               .bos = id_of_unigram(unigram, "<s>") };
    return unigram;
}

const TokenizerKind kind_unigram = {
    .close = close_unigram,
    .id = id_of_unigram,
    .piece = piece_of_unigram,
    .encode = encode_unigram,
    .decode = decode_unigram,
    .normalize = normalize_unigram,
    .json_type = "Unigram",
    .open_json = open_unigram_json,
    .ends = ends_of_unigram,
};

const TokenizerKind kind_char_bpe = {
    .close = close_unigram,
    .id = id_of_unigram,
    .piece = piece_of_unigram,
    .encode = encode_unigram,
    .decode = decode_unigram,
    .normalize = normalize_unigram,
    .json_type = TOKENIZER_JSON_CHARS,
    .open_json = open_unigram_json,
    .ends = ends_of_unigram,
};
