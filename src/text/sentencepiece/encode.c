/* sentencepiece/encode.c: encodes text with a SentencePiece model. */
#include "text/sentencepiece/model.h"

#include "text/offset_map.h"

#include <string.h>

struct SpEncoder {
    SpModel *model;
    Viterbi viterbi; /* its trie and byte pieces are used for every type of model */
};

/* The ids of a text so far. */
typedef struct Output {
    const Viterbi *viterbi;
    GArray *ids;
    bool after_unk; /* the last piece was unknown: a run of unknown pieces becomes one id */
} Output;

static bool check_unknown(const SpEncoder *encoder, GError **error)
{
    if (!encoder->model->byte_fallback)
        return encoder->viterbi.unk >= 0 || fail_user(error, "none of its pieces is the unknown one");
    return viterbi_check_bytes(&encoder->viterbi, error);
}

SpEncoder *sp_encoder_open(SpModel *model, GError **error)
{
    SpEncoder *encoder = g_new0(SpEncoder, 1);
    encoder->model = model;
    unsigned found = 1 << SP_NORMAL | 1 << SP_USER | (model->type == SP_BPE ? 1 << SP_UNUSED : 0);
    viterbi_init(&encoder->viterbi, model->pieces, model->byte_fallback, found, 1 << SP_NORMAL);
    if (!check_unknown(encoder, error))
        g_clear_pointer(&encoder, sp_encoder_close);
    return encoder;
}

void sp_encoder_close(SpEncoder *encoder)
{
    if (encoder == NULL)
        return;
    sp_model_close(encoder->model);
    viterbi_clear(&encoder->viterbi);
    g_free(encoder);
}

static void put_piece(void *context, const char *piece, size_t bytes, int32_t id)
{
    Output *output = context;
    const Viterbi *viterbi = output->viterbi;
    for (size_t i = 0; id < 0 && viterbi->byte_fallback && i < bytes; i++)
        g_array_append_val(output->ids, viterbi->bytes[(unsigned char)piece[i]]);
    if (id >= 0)
        g_array_append_val(output->ids, id);
    else if (!viterbi->byte_fallback && !output->after_unk)
        g_array_append_val(output->ids, viterbi->unk);
    output->after_unk = id < 0;
}

static void each_char(const SpEncoder *encoder, const char *text, size_t bytes, Output *output)
{
    for (size_t at = 0, n; at < bytes; at += n) {
        n = sp_symbol_bytes(encoder->model, text + at, bytes - at);
        n = n ? n : MIN((size_t)g_utf8_skip[(unsigned char)text[at]], bytes - at);
        put_piece(output, text + at, n, trie_find(&encoder->viterbi.trie, text + at, n));
    }
}

static void each_word(const SpEncoder *encoder, const char *text, size_t bytes, Output *output)
{
    const char *end = text + bytes;
    for (const char *at = text, *next; at < end; at = next) {
        next = memmem(at + 1, (size_t)(end - at - 1), SP_SPACE, strlen(SP_SPACE));
        next = next ? next : end;
        put_piece(output, at, (size_t)(next - at), trie_find(&encoder->viterbi.trie, at, (size_t)(next - at)));
    }
}

bool sp_encoder_encode(const SpEncoder *encoder, const char *text, size_t bytes, TextEdges edges, GArray *ids,
                       GError **error)
{
    g_autoptr(GString) normal = sp_normalize_edges(encoder->model, text, bytes, edges, NULL);
    if (normal->len > G_MAXINT32)
        return fail_user(error, "a text of %zu bytes, %zu with its spaces as pieces have them, is too long", bytes,
                         normal->len);
    Output output = { &encoder->viterbi, ids, false };
    if (encoder->model->type == SP_BPE)
        sp_bpe_each(encoder->model, &encoder->viterbi.trie, normal->str, normal->len, put_piece, &output);
    else if (encoder->model->type == SP_WORD)
        each_word(encoder, normal->str, normal->len, &output);
    else if (encoder->model->type == SP_CHAR)
        each_char(encoder, normal->str, normal->len, &output);
    else
        viterbi_encode(&encoder->viterbi, normal->str, normal->len, &(float){ 0 }, ids);
    return true;
}

/* ---- where pieces end ---- */

/* Bytes of the next character, 0 at the end. */
static size_t char_bytes(const char *text, size_t at, size_t bytes)
{
    return at < bytes ? MIN((size_t)g_utf8_skip[(unsigned char)text[at]], bytes - at) : 0;
}

/* Length in bytes of a piece at `at`, 0 if it is not there. A byte piece (<0x41>) is its byte or written out. */
static size_t piece_bytes(const SpPiece *piece, const char *normal, size_t at, size_t bytes)
{
    size_t n = strlen(piece->text);
    if (piece->type == SP_BYTE && at < bytes && (unsigned char)normal[at] == sp_byte_of(piece->text))
        return 1;
    return n <= bytes - at && memcmp(normal + at, piece->text, n) == 0 ? n : 0;
}

bool sp_piece_ends(const GArray *pieces, int32_t unk, const char *normal, size_t normal_bytes, const GArray *map,
                   const int32_t *ids, int64_t n, uint32_t *ends)
{
    g_autofree size_t *stops = g_new(size_t, n); /* where each piece ends in the normalized text */
    int64_t i = 0, unknown = -1;                 /* unknown: the last unknown piece so far; -1 means none */
    size_t at = 0;
    while (i < n || at < normal_bytes) {
        bool wild = i < n && ids[i] == unk;
        size_t step = i == n ? 0
                      : wild ? char_bytes(normal, at, normal_bytes)
                             : piece_bytes(&g_array_index(pieces, SpPiece, ids[i]), normal, at, normal_bytes);
        if (step > 0) {
            unknown = wild ? i : unknown;
            stops[i++] = at += step;
        } else { /* the match failed: the last unknown piece grows by one character, as * in a file pattern */
            step = unknown >= 0 ? char_bytes(normal, stops[unknown], normal_bytes) : 0;
            if (step == 0)
                return false;
            at = stops[unknown] += step;
            i = unknown + 1;
        }
    }
    for (i = 0; i < n; i++)
        ends[i] = offset_map_at(map, stops[i]);
    return true;
}

bool sp_encoder_ends(const SpEncoder *encoder, const char *text, size_t bytes, TextEdges edges, const int32_t *ids,
                     int64_t n, uint32_t *ends)
{
    const SpModel *model = encoder->model;
    g_autoptr(GArray) map = NULL;
    g_autoptr(GString) normal = sp_normalize_edges(model, text, bytes, edges, &map);
    return sp_piece_ends(model->pieces, model->unk, normal->str, normal->len, map, ids, n, ends);
}
