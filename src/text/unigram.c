#include "text/unigram.h"

#include "text/charsmap.h"
#include "text/trie.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#define SPACE           "\xe2\x96\x81" /* U+2581, which stands for a space */
#define SPACE_BYTES     (sizeof SPACE - 1)
#define UNKNOWN_PENALTY 10.0f /* below the least score */
#define MAX_PIECES      ((guint)1 << 22)

typedef enum PieceType {
    PIECE_NORMAL,
    PIECE_UNKNOWN,
    PIECE_CONTROL, /* never found in text */
    PIECE_BYTE,    /* "<0x41>" */
} PieceType;

typedef struct Piece {
    char *text;  /* g_free */
    float score; /* log probability */
    PieceType type;
} Piece;

typedef struct UnigramOptions {
    char *charsmap; /* precompiled; NULL: none */
    gsize charsmap_bytes;
    bool add_dummy_prefix;         /* text begins with a space */
    bool only_first;               /* the whole text, not what follows an added token */
    bool remove_extra_whitespaces; /* runs of spaces count as one, none at the ends */
    bool byte_fallback;            /* unknown characters become PIECE_BYTEs */
} UnigramOptions;

typedef struct Unigram {
    GArray *pieces; /* of Piece */
    UnigramOptions options;
    CharsMap charsmap;
    Trie trie;       /* of what is found in text */
    GHashTable *ids; /* text -> id */
    int unk, bytes[256];
    float unk_score;
    bool crosses_words; /* a piece has a space that is not its first character */
} Unigram;

static Piece *piece_at(const Unigram *unigram, int id)
{
    return &g_array_index(unigram->pieces, Piece, id);
}

static void close_model(void *model)
{
    Unigram *unigram = model;
    g_array_unref(unigram->pieces);
    charsmap_clear(&unigram->charsmap);
    trie_clear(&unigram->trie);
    g_hash_table_unref(unigram->ids);
    g_free(unigram);
}

static int id_of(const void *model, const char *piece)
{
    gpointer id;
    return g_hash_table_lookup_extended(((const Unigram *)model)->ids, piece, NULL, &id) ? GPOINTER_TO_INT(id) : -1;
}

static const char *piece_of(const void *model, int id)
{
    return piece_at(model, id)->text;
}

static void clear_piece(void *piece)
{
    g_free(((Piece *)piece)->text);
}

/* What "<0x41>" stands for, or -1. */
static int byte_of(const char *text)
{
    unsigned byte;
    int used = 0;
    return sscanf(text, "<0x%2X>%n", &byte, &used) == 1 && used == 6 && text[6] == 0 ? (int)byte : -1;
}

static void index_pieces(Unigram *unigram)
{
    guint n = unigram->pieces->len, n_keys = 0;
    g_autofree TrieKey *keys = g_new(TrieKey, n);
    float least = FLT_MAX;
    for (int id = 0; id < (int)n; id++) {
        const Piece *piece = piece_at(unigram, id);
        g_hash_table_insert(unigram->ids, piece->text, GINT_TO_POINTER(id));
        int byte = piece->type == PIECE_BYTE ? byte_of(piece->text) : -1;
        if (byte >= 0)
            unigram->bytes[byte] = id;
        if (piece->type == PIECE_UNKNOWN)
            unigram->unk = id;
        if (piece->type != PIECE_NORMAL || piece->text[0] == 0)
            continue;
        keys[n_keys++] = (TrieKey){ piece->text, (uint32_t)strlen(piece->text), id };
        least = MIN(least, piece->score);
        if (strstr(g_utf8_next_char(piece->text), SPACE))
            unigram->crosses_words = true;
    }
    unigram->unk_score = least - UNKNOWN_PENALTY;
    trie_init(&unigram->trie, keys, n_keys);
}

static bool check_model(const Unigram *unigram, GError **error)
{
    if (unigram->unk < 0)
        return fail_user(error, "none of its pieces is the unknown one");
    for (int i = 0; unigram->options.byte_fallback && i < 256; i++)
        if (unigram->bytes[i] < 0)
            return fail_user(error, "it falls back to bytes, but has no piece <0x%02X>", (unsigned)i);
    return true;
}

/* `pieces` (Piece) becomes the model's, also where it fails. */
static void *open_model(GArray *pieces, const UnigramOptions *options, TokenizerFacts *facts, GError **error)
{
    Unigram *unigram = g_new0(Unigram, 1);
    unigram->pieces = pieces;
    unigram->options = *options;
    unigram->ids = g_hash_table_new(g_str_hash, g_str_equal);
    unigram->unk = -1;
    memset(unigram->bytes, 0xff, sizeof unigram->bytes);
    bool ok = pieces->len <= MAX_PIECES || fail_user(error, "%u pieces: at most %u", pieces->len, MAX_PIECES);
    if (ok && !charsmap_is_sound(options->charsmap, options->charsmap_bytes))
        ok = fail_user(error, "its character map is damaged");
    if (ok) {
        index_pieces(unigram);
        charsmap_init(&unigram->charsmap, options->charsmap, options->charsmap_bytes);
        ok = check_model(unigram, error);
    }
    if (!ok) {
        close_model(unigram);
        return NULL;
    }
    *facts = (TokenizerFacts){ .name = "unigram",
                               .size = (int)pieces->len,
                               .pad = id_of(unigram, "<pad>"),
                               .eos = id_of(unigram, "</s>"),
                               .unk = unigram->unk,
                               .bos = id_of(unigram, "<s>") };
    return unigram;
}

/* ---- encoding ---- */

/* The best way to a place in a word: the piece that ends there. */
typedef struct Node {
    float score;       /* of the whole text up to here */
    int32_t id, start; /* start < 0: not reached */
} Node;

/* Text as the model sees it: mapped, with U+2581 for each space. */
static GString *spaced(const Unigram *unigram, const char *text, size_t bytes, bool first)
{
    g_autoptr(GString) mapped = g_string_sized_new(bytes + bytes / 8 + 16);
    charsmap_apply(&unigram->charsmap, text, bytes, mapped);
    GString *out = g_string_sized_new(mapped->len + mapped->len / 2 + 16);
    const char *at = mapped->str, *end = at + mapped->len;
    bool squeeze = unigram->options.remove_extra_whitespaces;
    if (squeeze)
        while (end > at && end[-1] == ' ')
            end--;
    if (squeeze)
        while (at < end && *at == ' ')
            at++;
    if (at == end)
        return out;
    if (unigram->options.add_dummy_prefix && (first || !unigram->options.only_first))
        g_string_append_len(out, SPACE, SPACE_BYTES);
    while (at < end) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        g_string_append_len(out, at, (space ? space : end) - at);
        if (space == NULL)
            break;
        g_string_append_len(out, SPACE, SPACE_BYTES);
        for (at = space + 1; squeeze && at < end && *at == ' ';)
            at++;
    }
    return out;
}

/* Fills nodes[1 … bytes] by Viterbi's algorithm; nodes[0].score is that of what came before. Sums are compared before
 * they are rounded to a float, and the first of equals stays, as SentencePiece has it: that settles ties. */
static void find_best(const Unigram *unigram, const char *text, size_t bytes, Node *nodes)
{
    const Trie *trie = &unigram->trie;
    for (size_t i = 1; i <= bytes; i++)
        nodes[i].start = -1;
    for (size_t at = 0, char_bytes; at < bytes; at += char_bytes) {
        char_bytes = MIN((size_t)g_utf8_skip[(unsigned char)text[at]], bytes - at);
        const float score = nodes[at].score;
        bool has_char = false;
        uint32_t unit = 0;
        for (size_t i = at; i < bytes && (unit = trie_step(trie, unit, (unsigned char)text[i]));) {
            int32_t id = trie->units[unit].value;
            i++;
            if (id < 0)
                continue;
            double candidate = (double)piece_at(unigram, id)->score + (double)score;
            if (nodes[i].start < 0 || candidate > (double)nodes[i].score)
                nodes[i] = (Node){ (float)candidate, id, (int32_t)at };
            has_char |= i - at == char_bytes;
        }
        Node *next = &nodes[at + char_bytes];
        if (!has_char && (next->start < 0 || unigram->unk_score + score > next->score))
            *next = (Node){ unigram->unk_score + score, unigram->unk, (int32_t)at };
    }
}

/* Appends the pieces that lead to nodes[bytes]; neighbouring unknown ones count once, or become bytes. */
static void append_best(const Unigram *unigram, const char *text, size_t bytes, const Node *nodes, GArray *ids,
                        bool *after_unk)
{
    guint first = ids->len;
    for (size_t at = bytes; at > 0; at = (size_t)nodes[at].start) {
        bool unk = nodes[at].id == unigram->unk;
        for (size_t i = at; unk && unigram->options.byte_fallback && i > (size_t)nodes[at].start; i--)
            g_array_append_val(ids, unigram->bytes[(unsigned char)text[i - 1]]);
        if (!unk || !unigram->options.byte_fallback)
            g_array_append_val(ids, nodes[at].id);
    }
    int32_t *id = (int32_t *)(void *)ids->data;
    for (guint i = first, j = ids->len; j > i + 1; i++, j--) {
        int32_t last = id[j - 1];
        id[j - 1] = id[i];
        id[i] = last;
    }
    guint n = first;
    for (guint i = first; i < ids->len; i++) {
        bool unk = id[i] == unigram->unk;
        if (!unk || !*after_unk)
            id[n++] = id[i];
        *after_unk = unk;
    }
    g_array_set_size(ids, n);
}

static char *normalize(const void *model, const char *text, size_t bytes)
{
    GString *mapped = g_string_sized_new(bytes);
    charsmap_apply(&((const Unigram *)model)->charsmap, text, bytes, mapped);
    return g_string_free(mapped, FALSE);
}

static bool encode(const void *model, const char *text, size_t bytes, bool first, GArray *ids, GError **error)
{
    const Unigram *unigram = model;
    if (bytes > G_MAXINT32 / 32)
        return fail_user(error, "a text of %zu bytes is too long for one call", bytes);
    g_autoptr(GString) normal = spaced(unigram, text, bytes, first);
    g_autofree Node *nodes = NULL;
    size_t room = 0;
    float score = 0;
    bool after_unk = false;
    const char *at = normal->str, *end = at + normal->len;
    while (at < end) {
        /* No piece reaches over the beginning of a word, so each is settled by itself. */
        const char *stop = NULL;
        if (!unigram->crosses_words)
            stop = memmem(at + 1, (size_t)(end - at - 1), SPACE, SPACE_BYTES);
        size_t n = (size_t)((stop ? stop : end) - at);
        if (n + 1 > room) {
            room = MAX(2 * room, n + 64);
            nodes = g_renew(Node, nodes, room);
        }
        nodes[0] = (Node){ .score = score };
        find_best(unigram, at, n, nodes);
        append_best(unigram, at, n, nodes, ids, &after_unk);
        score = nodes[n].score;
        at += n;
    }
    return true;
}

/* ---- decoding ---- */

static void append_with_spaces(GString *out, const char *piece)
{
    for (const char *space; (space = strstr(piece, SPACE)); piece = space + SPACE_BYTES) {
        g_string_append_len(out, piece, space - piece);
        g_string_append_c(out, ' ');
    }
    g_string_append(out, piece);
}

static bool decode(const void *model, const int32_t *ids, int64_t n, GString *text, GError **error)
{
    (void)error;
    const Unigram *unigram = model;
    g_autoptr(GString) out = g_string_new(NULL);
    for (int64_t i = 0; i < n; i++) {
        const Piece *piece = piece_at(unigram, ids[i]);
        int byte = piece->type == PIECE_BYTE ? byte_of(piece->text) : -1;
        if (byte >= 0)
            g_string_append_c(out, (char)byte);
        else if (piece->type == PIECE_UNKNOWN)
            g_string_append(out, " \xe2\x81\x87 ");
        else if (piece->type != PIECE_CONTROL)
            append_with_spaces(out, piece->text);
    }
    g_autofree char *valid = g_utf8_make_valid(out->str, (gssize)out->len);
    bool prefixed = unigram->options.add_dummy_prefix && valid[0] == ' ';
    g_string_append(text, valid + prefixed);
    return true;
}

/* ---- tokenizer.json ---- */

static bool is_type(const json_t *part, const char *type)
{
    return g_strcmp0(json_string_value(json_object_get(part, "type")), type) == 0;
}

/* Calls `read` for a part, or for each part of a Sequence (whose parts are under `list`). */
static bool each_part(json_t *part, const char *list, bool (*read)(json_t *, UnigramOptions *, GError **),
                      UnigramOptions *options, GError **error)
{
    size_t i;
    json_t *inner;
    if (part == NULL)
        return true;
    if (!is_type(part, "Sequence"))
        return read(part, options, error);
    json_array_foreach(json_object_get(part, list), i, inner) if (!read(inner, options, error)) return false;
    return true;
}

static bool read_normalizer(json_t *part, UnigramOptions *options, GError **error)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    if (is_type(part, "Precompiled")) {
        const char *map = json_string_value(json_object_get(part, "precompiled_charsmap"));
        g_free(options->charsmap);
        options->charsmap = map ? (char *)g_base64_decode(map, &options->charsmap_bytes) : NULL;
    } else if (is_type(part, "Replace") || is_type(part, "Strip")) {
        options->remove_extra_whitespaces = true; /* how Hugging Face says it: " {2,}" becomes one */
    } else {
        return fail_user(error, "Unigram with the normalizer %s, want Precompiled", type ? type : "null");
    }
    return true;
}

static bool read_pre_tokenizer(json_t *part, UnigramOptions *options, GError **error)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    if (is_type(part, "WhitespaceSplit")) {
        options->remove_extra_whitespaces = true;
    } else if (is_type(part, "Metaspace")) {
        const char *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
        const char *space = json_string_value(json_object_get(part, "replacement"));
        if (g_strcmp0(space, SPACE) != 0)
            return fail_user(error, "Metaspace with \"%s\" for a space, want \"" SPACE "\"", space ? space : "");
        options->add_dummy_prefix =
            scheme ? strcmp(scheme, "never") != 0 : !json_is_false(json_object_get(part, "add_prefix_space"));
        options->only_first = g_strcmp0(scheme, "first") == 0;
    } else {
        return fail_user(error, "Unigram with the pre-tokenizer %s, want Metaspace", type ? type : "null");
    }
    return true;
}

static GArray *read_pieces(const TokenizerJson *json, const UnigramOptions *options)
{
    json_t *vocab = json_object_get(json->model, "vocab"), *unk = json_object_get(json->model, "unk_id");
    GArray *pieces = g_array_new(FALSE, FALSE, sizeof(Piece));
    g_array_set_clear_func(pieces, clear_piece);
    for (guint i = 0; i < json->pieces->len; i++) {
        const char *text = json->pieces->pdata[i] ? json->pieces->pdata[i] : "";
        json_t *score = json_array_get(json_array_get(vocab, i), 1);
        Piece piece = { g_strdup(text), (float)json_number_value(score), PIECE_NORMAL };
        if (options->byte_fallback && byte_of(text) >= 0)
            piece.type = PIECE_BYTE;
        g_array_append_val(pieces, piece);
    }
    for (guint i = 0; i < json->added->len; i++) {
        const AddedToken *token = &g_array_index(json->added, AddedToken, i);
        Piece *piece = &g_array_index(pieces, Piece, token->id);
        if (piece->score >= 0) /* SentencePiece gives its control symbols 0, and pieces of text less */
            piece->type = PIECE_CONTROL;
    }
    if (json_is_integer(unk) && json_integer_value(unk) >= 0 && json_integer_value(unk) < pieces->len)
        g_array_index(pieces, Piece, json_integer_value(unk)).type = PIECE_UNKNOWN;
    return pieces;
}

static void *open_json(const TokenizerJson *json, TokenizerFacts *facts, GError **error)
{
    UnigramOptions options = { .byte_fallback = json_is_true(json_object_get(json->model, "byte_fallback")) };
    void *model = NULL;
    if (each_part(json->normalizer, "normalizers", read_normalizer, &options, error) &&
        each_part(json->pre_tokenizer, "pretokenizers", read_pre_tokenizer, &options, error))
        model = open_model(read_pieces(json, &options), &options, facts, error);
    g_free(options.charsmap);
    return model;
}

const TokenizerKind kind_unigram = {
    .close = close_model,
    .id = id_of,
    .piece = piece_of,
    .encode = encode,
    .decode = decode,
    .normalize = normalize,
    .json_type = "Unigram",
    .open_json = open_json,
};
