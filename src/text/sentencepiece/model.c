#include "text/sentencepiece/model.h"

#include "format/protobuf.h"

#include <math.h>
#include <string.h>

#define MAX_PIECES ((guint)1 << 22)

static void read_piece(ProtobufField message, GArray *pieces)
{
    SpPiece piece = { .type = SP_NORMAL };
    const char *at = message.bytes, *end = at + message.n_bytes;
    for (ProtobufField field; protobuf_next(&at, end, &field);) {
        if (field.number == 1 && field.bytes) {
            g_free(piece.text);
            piece.text = g_strndup(field.bytes, field.n_bytes);
        } else if (field.number == 2 && field.n_bytes == sizeof piece.score) {
            memcpy(&piece.score, field.bytes, sizeof piece.score);
        } else if (field.number == 3 && field.value >= SP_NORMAL && field.value <= SP_BYTE) {
            piece.type = (int)field.value; /* protobuf ignores other values too */
        }
    }
    if (piece.text == NULL)
        piece.text = g_strdup("");
    g_array_append_val(pieces, piece);
}

static void clear_piece(void *piece)
{
    g_free(((SpPiece *)piece)->text);
}

GArray *sp_pieces_new(void)
{
    GArray *pieces = g_array_new(FALSE, FALSE, sizeof(SpPiece));
    g_array_set_clear_func(pieces, clear_piece);
    return pieces;
}

/* sentencepiece_model.proto: TrainerSpec. */
static void read_trainer_spec(ProtobufField message, SpModel *model)
{
    const char *at = message.bytes, *end = at + message.n_bytes;
    for (ProtobufField field; protobuf_next(&at, end, &field);) {
        if (field.number == 3 && field.value >= SP_UNIGRAM && field.value <= SP_CHAR)
            model->type = (int)field.value;
        else if (field.number == 24)
            model->treat_whitespace_as_suffix = field.value != 0;
        else if (field.number == 35)
            model->byte_fallback = field.value != 0;
    }
}

/* sentencepiece_model.proto: NormalizerSpec. */
static void read_normalizer_spec(ProtobufField message, SpModel *model)
{
    const char *at = message.bytes, *end = at + message.n_bytes;
    for (ProtobufField field; protobuf_next(&at, end, &field);) {
        if (field.number == 2 && field.bytes) {
            g_free(model->charsmap_data);
            model->charsmap_data = g_memdup2(field.bytes, field.n_bytes);
            model->charsmap_bytes = field.n_bytes;
        } else if (field.number == 3) {
            model->add_dummy_prefix = field.value != 0;
        } else if (field.number == 4) {
            model->remove_extra_whitespaces = field.value != 0;
        } else if (field.number == 5) {
            model->escape_whitespaces = field.value != 0;
        }
    }
}

/* The character map for text after decoding: it is checked, but not used. */
static void read_denormalizer_spec(ProtobufField message, SpModel *model)
{
    const char *at = message.bytes, *end = at + message.n_bytes;
    for (ProtobufField field; protobuf_next(&at, end, &field);)
        if (field.number == 2 && field.bytes && !charsmap_is_valid(field.bytes, field.n_bytes))
            model->has_bad_denormalizer = true;
}

/* sentencepiece_model.proto: ModelProto. */
static void read_model(const char *at, size_t bytes, SpModel *model)
{
    const char *end = at + bytes;
    for (ProtobufField field; protobuf_next(&at, end, &field);) {
        if (field.bytes == NULL)
            continue;
        if (field.number == 1)
            read_piece(field, model->pieces);
        else if (field.number == 2)
            read_trainer_spec(field, model);
        else if (field.number == 3)
            read_normalizer_spec(field, model);
        else if (field.number == 5)
            read_denormalizer_spec(field, model);
    }
}

static void index_symbols(SpModel *model)
{
    g_autofree TrieKey *keys = g_new(TrieKey, model->pieces->len);
    size_t n = 0;
    for (int id = 0; id < (int)model->pieces->len; id++) {
        const SpPiece *piece = sp_piece(model, id);
        if (piece->type == SP_UNKNOWN)
            model->unk = id;
        if (piece->type == SP_USER && *piece->text)
            keys[n++] = (TrieKey){ piece->text, (uint32_t)strlen(piece->text), id };
    }
    model->has_user_symbols = n > 0;
    trie_init(&model->symbols, keys, n);
}

static bool check_sp_model(const SpModel *model, GError **error)
{
    if (model->pieces->len > MAX_PIECES)
        return fail_user(error, "%u pieces: at most %u", model->pieces->len, MAX_PIECES);
    for (int id = 0; id < (int)model->pieces->len; id++)
        if (!isfinite(sp_piece(model, id)->score))
            return fail_user(error, "the score of piece %d is not a number", id);
    if (model->has_bad_denormalizer || !charsmap_is_valid(model->charsmap_data, model->charsmap_bytes))
        return fail_user(error, "its character map is damaged");
    return true;
}

SpModel *sp_model_open(const char *data, size_t bytes, GError **error)
{
    SpModel *model = g_new0(SpModel, 1);
    *model = (SpModel){ .type = SP_UNIGRAM,
                        .unk = -1,
                        .add_dummy_prefix = true,
                        .remove_extra_whitespaces = true,
                        .escape_whitespaces = true };
    model->pieces = sp_pieces_new();
    read_model(data, bytes, model);
    if (!check_sp_model(model, error)) {
        sp_model_close(model);
        return NULL;
    }
    index_symbols(model);
    charsmap_init(&model->charsmap, model->charsmap_data, model->charsmap_bytes);
    return model;
}

void sp_model_close(SpModel *model)
{
    if (model == NULL)
        return;
    g_array_unref(model->pieces);
    g_free(model->charsmap_data);
    charsmap_clear(&model->charsmap);
    trie_clear(&model->symbols);
    g_free(model);
}

void sp_model_set_class(SpModel *model, const TokenizerClass *class_)
{
    charsmap_clear(&model->charsmap);
    charsmap_init(&model->charsmap, NULL, 0);
    model->add_dummy_prefix = class_->prefix_space;
    model->treat_whitespace_as_suffix = model->remove_extra_whitespaces = false;
    model->keeps_space = true;
    model->first_only = class_->first_only;
}

float sp_score(const SpPiece *piece)
{
    return piece->type == SP_USER ? (float)(0.1 * ((double)strlen(piece->text) - 1)) : piece->score;
}

int sp_byte_of(const char *piece)
{
    unsigned byte;
    int used = 0;
    return sscanf(piece, "<0x%2X>%n", &byte, &used) == 1 && used == 6 && piece[6] == 0 ? (int)byte : -1;
}

size_t sp_symbol_bytes(const SpModel *model, const char *text, size_t bytes)
{
    return model->has_user_symbols ? trie_longest(&model->symbols, text, bytes, &(int32_t){ 0 }) : 0;
}
