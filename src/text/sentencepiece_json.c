#include "text/sentencepiece_json.h"

#include "text/charsmap.h"
#include "text/json_parts.h"
#include "text/roles.h"

#include <string.h>

#define SPACE "\xe2\x96\x81" /* U+2581 */

enum { TYPE_NORMAL = 1, TYPE_UNKNOWN, TYPE_CONTROL, TYPE_USER, TYPE_UNUSED, TYPE_BYTE };
enum { MODEL_UNIGRAM = 1, MODEL_BPE };

/* A field of a protobuf message: number, and a varint's value or the bytes of a string or of a fixed number. */
typedef struct Field {
    uint64_t number, value;
    const char *bytes;
    size_t n_bytes;
} Field;

typedef struct Piece {
    char *text;
    float score;
    int type;
} Piece;

typedef struct Model {
    GArray *pieces; /* of Piece */
    uint64_t type;
    bool byte_fallback, add_dummy_prefix, remove_extra_whitespaces;
    const char *charsmap;
    size_t charsmap_bytes;
} Model;

static bool take_varint(const char **at, const char *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*(*at)++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* False at the end of the message, or where it is broken. */
static bool next_field(const char **at, const char *end, Field *field)
{
    static const size_t fixed_bytes[8] = { 0, 8, 0, 0, 0, 4, 0, 0 };
    uint64_t tag;
    if (!take_varint(at, end, &tag))
        return false;
    int wire = (int)(tag & 7);
    *field = (Field){ .number = tag >> 3 };
    if (wire == 0)
        return take_varint(at, end, &field->value);
    uint64_t n = fixed_bytes[wire];
    if ((wire == 2 && !take_varint(at, end, &n)) || n > (size_t)(end - *at))
        return false;
    field->bytes = *at;
    field->n_bytes = n;
    *at += n;
    return wire == 1 || wire == 2 || wire == 5;
}

static void read_piece(const char *at, const char *end, GArray *pieces)
{
    Piece piece = { .type = TYPE_NORMAL };
    for (Field field; next_field(&at, end, &field);) {
        if (field.number == 1 && field.bytes && piece.text == NULL)
            piece.text = g_strndup(field.bytes, field.n_bytes);
        else if (field.number == 2 && field.n_bytes == sizeof piece.score)
            memcpy(&piece.score, field.bytes, sizeof piece.score);
        else if (field.number == 3)
            piece.type = (int)(field.value & 15);
    }
    if (piece.text == NULL)
        piece.text = g_strdup("");
    g_array_append_val(pieces, piece);
}

static void clear_piece(void *piece)
{
    g_free(((Piece *)piece)->text);
}

/* sentencepiece_model.proto: ModelProto has pieces (1), trainer_spec (2) and normalizer_spec (3). */
static void read_model(const char *at, size_t bytes, Model *model)
{
    const char *end = at + bytes;
    *model = (Model){ .type = MODEL_UNIGRAM, .add_dummy_prefix = true, .remove_extra_whitespaces = true };
    model->pieces = g_array_new(FALSE, FALSE, sizeof(Piece));
    g_array_set_clear_func(model->pieces, clear_piece);
    for (Field field; next_field(&at, end, &field);) {
        const char *inner = field.bytes, *stop = field.bytes + field.n_bytes;
        if (field.number == 1)
            read_piece(inner, stop, model->pieces);
        for (Field spec; field.number == 2 && next_field(&inner, stop, &spec);)
            if (spec.number == 3)
                model->type = spec.value;
            else if (spec.number == 35)
                model->byte_fallback = spec.value != 0;
        for (Field spec; field.number == 3 && next_field(&inner, stop, &spec);) {
            if (spec.number == 2) {
                model->charsmap = spec.bytes;
                model->charsmap_bytes = spec.n_bytes;
            } else if (spec.number == 3) {
                model->add_dummy_prefix = spec.value != 0;
            } else if (spec.number == 4) {
                model->remove_extra_whitespaces = spec.value != 0;
            }
        }
    }
}

static Piece *piece_at(const Model *model, guint id)
{
    return &g_array_index(model->pieces, Piece, id);
}

static int find_type(const Model *model, int type)
{
    for (guint id = 0; id < model->pieces->len; id++)
        if (piece_at(model, id)->type == type)
            return (int)id;
    return -1;
}

static json_t *unigram_model(const Model *model)
{
    json_t *vocab = json_array();
    for (guint id = 0; id < model->pieces->len; id++) {
        json_t *entry = json_array();
        json_array_append_new(entry, json_string(piece_at(model, id)->text));
        json_array_append_new(entry, json_real((double)piece_at(model, id)->score));
        json_array_append_new(vocab, entry);
    }
    return json_pack("{s:s, s:i, s:o, s:b}", "type", "Unigram", "unk_id", find_type(model, TYPE_UNKNOWN), "vocab",
                     vocab, "byte_fallback", (int)model->byte_fallback);
}

/* ---- BPE: SentencePiece joins any two neighbours that make a piece, the best piece first ---- */

typedef struct Merge {
    float score;     /* of what it makes */
    guint made, cut; /* the piece, and the bytes of its left part */
} Merge;

static gint compare_merges(gconstpointer a, gconstpointer b)
{
    const Merge *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    if (x->made != y->made)
        return x->made < y->made ? -1 : 1;
    return x->cut > y->cut ? -1 : x->cut < y->cut;
}

static GArray *find_merges(const Model *model, GHashTable *ids)
{
    GArray *merges = g_array_new(FALSE, FALSE, sizeof(Merge));
    for (guint id = 0; id < model->pieces->len; id++) {
        const Piece *piece = piece_at(model, id);
        if (piece->type != TYPE_NORMAL || piece->text[0] == 0)
            continue;
        for (const char *cut = g_utf8_next_char(piece->text); *cut; cut = g_utf8_next_char(cut)) {
            g_autofree char *left = g_strndup(piece->text, (gsize)(cut - piece->text));
            if (!g_hash_table_contains(ids, left) || !g_hash_table_contains(ids, cut))
                continue;
            Merge merge = { piece->score, id, (guint)(cut - piece->text) };
            g_array_append_val(merges, merge);
        }
    }
    g_array_sort(merges, compare_merges);
    return merges;
}

static json_t *bpe_model(const Model *model)
{
    g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
    json_t *vocab = json_object(), *list = json_array();
    for (guint id = 0; id < model->pieces->len; id++) {
        json_object_set_new(vocab, piece_at(model, id)->text, json_integer(id));
        if (piece_at(model, id)->type == TYPE_NORMAL)
            g_hash_table_add(ids, piece_at(model, id)->text);
    }
    g_autoptr(GArray) merges = find_merges(model, ids);
    for (guint i = 0; i < merges->len; i++) {
        const Merge *merge = &g_array_index(merges, Merge, i);
        const char *made = piece_at(model, merge->made)->text;
        json_array_append_new(list, json_pack("[s%, s]", made, (size_t)merge->cut, made + merge->cut));
    }
    int unk = find_type(model, TYPE_UNKNOWN);
    return json_pack("{s:s, s:n, s:s?, s:n, s:n, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout", "unk_token",
                     unk >= 0 ? piece_at(model, (guint)unk)->text : NULL, "continuing_subword_prefix",
                     "end_of_word_suffix", "fuse_unk", 1, "byte_fallback", (int)model->byte_fallback, "vocab", vocab,
                     "merges", list);
}

/* ---- what surrounds the model ---- */

static json_t *metaspace(const Model *model)
{
    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", SPACE, "prepend_scheme",
                     model->add_dummy_prefix ? "always" : "never", "split", 1);
}

/* Whether a tab stays one: then only spaces part words, else all white space does. */
static bool keeps_tabs(const Model *model)
{
    CharsMap map;
    g_autoptr(GString) tab = g_string_new(NULL);
    if (!charsmap_is_sound(model->charsmap, model->charsmap_bytes))
        return false;
    charsmap_init(&map, model->charsmap, model->charsmap_bytes);
    charsmap_apply(&map, "\t", 1, tab);
    charsmap_clear(&map);
    return strcmp(tab->str, "\t") == 0;
}

static json_t *pre_tokenizer(const Model *model)
{
    if (!model->remove_extra_whitespaces || keeps_tabs(model))
        return metaspace(model);
    return json_pack("{s:s, s:[{s:s}, o]}", "type", "Sequence", "pretokenizers", "type", "WhitespaceSplit",
                     metaspace(model));
}

static json_t *decoder(const Model *model)
{
    if (!model->byte_fallback)
        return metaspace(model);
    return json_pack("{s:s, s:[{s:s}, {s:s}, o]}", "type", "Sequence", "decoders", "type", "ByteFallback", "type",
                     "Fuse", metaspace(model));
}

static json_t *replacement(const char *pattern, const char *content)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "Regex", pattern, "content", content);
}

static json_t *normalizer(const Model *model)
{
    json_t *steps = json_array();
    if (model->charsmap_bytes > 0) {
        g_autofree char *map = g_base64_encode((const guchar *)model->charsmap, model->charsmap_bytes);
        json_array_append_new(steps, json_pack("{s:s, s:s}", "type", "Precompiled", "precompiled_charsmap", map));
    }
    if (model->remove_extra_whitespaces && keeps_tabs(model)) {
        json_array_append_new(steps, replacement("^ +| +$", ""));
        json_array_append_new(steps, replacement(" {2,}", " "));
    }
    json_t *whole = NULL;
    if (json_array_size(steps) == 1)
        whole = json_incref(json_array_get(steps, 0));
    else if (json_array_size(steps) > 1)
        whole = json_pack("{s:s, s:O}", "type", "Sequence", "normalizers", steps);
    json_decref(steps);
    return whole;
}

static json_t *added_tokens(const Model *model)
{
    json_t *added = json_array();
    for (guint id = 0; id < model->pieces->len; id++) {
        const Piece *piece = piece_at(model, id);
        AddedToken token = { .content = piece->text, .id = (int)id, .special = piece->type != TYPE_USER };
        const char *name;
        token.lstrip = piece->type == TYPE_CONTROL && token_role_of(piece->text, &name) == ROLE_MASK;
        if (piece->type == TYPE_UNKNOWN || piece->type == TYPE_CONTROL || piece->type == TYPE_USER)
            json_array_append_new(added, json_added_token(&token));
    }
    return added;
}

static json_t *post_processor(const Model *model)
{
    for (guint id = 0; id < model->pieces->len; id++)
        if (strcmp(piece_at(model, id)->text, "</s>") == 0)
            return json_template(&(JsonTemplate){ .end = "</s>", .end_id = (int)id });
    return NULL;
}

json_t *sentencepiece_json(const char *data, size_t bytes, GError **error)
{
    Model model;
    json_t *root = NULL;
    read_model(data, bytes, &model);
    if (model.type != MODEL_UNIGRAM && model.type != MODEL_BPE)
        fail_user(error, "only unigram and BPE models have a form in tokenizer.json");
    else
        root = json_tokenizer(added_tokens(&model), normalizer(&model), pre_tokenizer(&model), post_processor(&model),
                              decoder(&model), model.type == MODEL_BPE ? bpe_model(&model) : unigram_model(&model));
    g_array_unref(model.pieces);
    return root;
}
