/* sentencepiece/unigram.c: models of SentencePiece's kind that are read from a tokenizer.json: unigram models, and BPE
 * of characters. A unigram model's ids equal SentencePiece's, ties included: it sums floats in the same order. */
#include "text/normalizer.h"
#include "text/sentencepiece/model.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/unicode.h"

#include <limits.h>
#include <string.h>

#define MAX_PIECES  ((guint)1 << 22)
#define SPACE_BYTES (sizeof SP_SPACE - 1)

typedef enum Scheme { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS } Scheme; /* Metaspace.prepend_scheme */

/* The normalizer and the pre_tokenizer. */
typedef struct UnigramText {
    Normalizer *normalizer;
    bool splits_white_space; /* WhitespaceSplit */
    bool escapes;            /* Metaspace: spaces become SP_SPACE */
    bool splits_words;       /* Metaspace.split: a word starts at each SP_SPACE */
    Scheme scheme;
    bool suffixes; /* the normalizer puts a space at the end of the text: pieces end with their space */
} UnigramText;

typedef struct Unigram {
    GArray *pieces; /* SpPiece by id; not found in ordinary text: SP_CONTROL for special tokens, which no text is
                       decoded to, SP_USER for other added tokens outside the model's vocabulary */
    UnigramText text;
    GHashTable *shown; /* id of a `normalized` added token -> its normalized content, which it is decoded to */
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
    normalizer_close(unigram->text.normalizer);
    viterbi_clear(&unigram->viterbi);
    char_bpe_close(unigram->bpe);
    g_hash_table_unref(unigram->ids);
    g_hash_table_unref(unigram->shown);
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

static BlankSpace blank_space_of(const UnigramText *plan)
{
    return plan->suffixes ? BLANK_AFTER : BLANK_BEFORE;
}

/* ---- normalizing and splitting ---- */

/* What takes the words of a text. */
typedef struct WordTaker {
    void (*fn)(void *context, const char *word, size_t bytes);
    void *context;
} WordTaker;

typedef struct Words {
    const UnigramText *plan;
    MappedText normal,
        spaced; /* normalized text; the words as pieces spell them, `spaced.map` those of all words so far */
    WordTaker taker;
} Words;

static void each_spaced(const Words *words, const char *at, const char *end)
{
    while (at < end) {
        const char *stop = NULL;
        if (words->plan->splits_words)
            stop = memmem(at + 1, (size_t)(end - at - 1), SP_SPACE, SPACE_BYTES);
        stop = stop ? stop : end;
        words->taker.fn(words->taker.context, at, (size_t)(stop - at));
        at = stop;
    }
}

/* Metaspace: spaces become SP_SPACE, and by the scheme one is put before a word that does not start with one. */
static void put_word(Words *words, size_t begin, size_t end, TextEdges edges)
{
    const UnigramText *plan = words->plan;
    const char *text = words->normal.text->str;
    bool has_space =
        text[begin] == ' ' || (end - begin >= SPACE_BYTES && memcmp(text + begin, SP_SPACE, SPACE_BYTES) == 0);
    bool prefix =
        !edges.after_blank && (plan->scheme == PREPEND_ALWAYS || (plan->scheme == PREPEND_FIRST && edges.starts_text));
    g_string_truncate(words->spaced.text, 0);
    if (plan->escapes && prefix && !has_space)
        mapped_text_put(&words->spaced, &words->normal, SP_SPACE, SPACE_BYTES, begin, begin);
    for (const char *space; plan->escapes && (space = memchr(text + begin, ' ', end - begin));) {
        size_t at = (size_t)(space - text);
        mapped_text_keep(&words->spaced, &words->normal, begin, at);
        mapped_text_put(&words->spaced, &words->normal, SP_SPACE, SPACE_BYTES, at + 1, at + 1);
        begin = at + 1;
    }
    mapped_text_keep(&words->spaced, &words->normal, begin, end);
    each_spaced(words, words->spaced.text->str, words->spaced.text->str + words->spaced.text->len);
}

static void each_word(Words *words, TextEdges edges)
{
    const char *text = words->normal.text->str, *at = text, *end = text + words->normal.text->len, *stop;
    if (!words->plan->splits_white_space) {
        if (at < end)
            put_word(words, 0, words->normal.text->len, edges);
        return;
    }
    for (; at < end; at = stop) {
        for (stop = at; stop < end && !is_white_space(g_utf8_get_char(stop));)
            stop = g_utf8_next_char(stop);
        if (stop > at)
            put_word(words, (size_t)(at - text), (size_t)(stop - text), at == text ? edges : (TextEdges){ 0 });
        else
            stop = g_utf8_next_char(at);
    }
}

/* Sets *normal to the normalized text, beside a blank with an anchor. False, with an error, if the normalizer fails. */
static bool normalize_edges(const UnigramText *plan, MappedText *normal, const char *text, size_t bytes,
                            TextEdges *edges, bool with_map, GError **error)
{
    g_autoptr(GString) anchored = anchor_add(text, bytes, *edges);
    if (anchored) {
        *normal = mapped_text_of(anchored->str, anchored->len, with_map);
        if (!normalizer_apply(plan->normalizer, normal, &edges->starts_text, error))
            return false;
        if (anchor_cut(normal->text, normal->map, bytes, *edges, blank_space_of(plan)))
            return true;
        mapped_text_clear(normal);
    }
    *normal = mapped_text_of(text, bytes, with_map);
    return normalizer_apply(plan->normalizer, normal, &edges->starts_text, error);
}

static char *normalize_unigram(const void *model, const char *text, size_t bytes, TextEdges *edges, GArray **map,
                               GError **error)
{
    g_auto(MappedText) normal = { 0 };
    const bool good = normalize_edges(&((const Unigram *)model)->text, &normal, text, bytes, edges, map != NULL, error);
    edges->normalized = true;
    if (good && map)
        *map = g_steal_pointer(&normal.map);
    return good ? g_string_free(g_steal_pointer(&normal.text), FALSE) : NULL;
}

/* Normalizes and splits UTF-8 text and calls taker.fn with each word in order. edges: as in TokenizerKind.encode.
 * Unless map is NULL, *map becomes the offset map (text/offset_map.h) of all words; g_array_unref. */
static bool each_unigram_word(const UnigramText *plan, const char *text, size_t bytes, TextEdges edges, WordTaker taker,
                              GArray **map, GError **error)
{
    Words words = { .plan = plan, .spaced = mapped_text_new(bytes, map != NULL), .taker = taker };
    bool good = true;
    if (edges.normalized)
        words.normal = mapped_text_of(text, bytes, map != NULL);
    else
        good = normalize_edges(plan, &words.normal, text, bytes, &edges, map != NULL, error);
    if (good)
        each_word(&words, edges);
    if (map)
        *map = g_steal_pointer(&words.spaced.map);
    mapped_text_clear(&words.normal);
    mapped_text_clear(&words.spaced);
    return good;
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

static bool encode_unigram(const void *model, const char *text, size_t bytes, TextEdges edges, GArray *ids,
                           GError **error)
{
    const Unigram *unigram = model;
    Output output = { unigram, 0, ids };
    if (bytes > G_MAXINT32 / 32)
        return fail_user(error, "a text of %zu bytes is too long for one call", bytes);
    return each_unigram_word(&unigram->text, text, bytes, edges, (WordTaker){ encode_unigram_word, &output }, NULL,
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
    return each_unigram_word(&unigram->text, text, bytes, edges, (WordTaker){ join_word, words }, &map, NULL) &&
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

static const char *decoded_text(const Unigram *unigram, int32_t id)
{
    const char *shown = g_hash_table_lookup(unigram->shown, GINT_TO_POINTER(id));
    return shown ? shown : piece_at(unigram, id)->text;
}

/* Appends and empties a run of byte pieces. As in ByteFallback of tokenizers, each byte of a run that is not UTF-8 as a
 * whole becomes U+FFFD. */
static void append_run(GString *out, GString *run)
{
    const char *at = run->str, *end = at + run->len;
    while (!g_utf8_validate_len(at, (gsize)(end - at), &at) && *at == '\0')
        at++; /* for GLib no text holds NUL */
    if (at == end)
        g_string_append_len(out, run->str, (gssize)run->len);
    for (gsize i = 0; at < end && i < run->len; i++)
        g_string_append(out, "\uFFFD");
    g_string_truncate(run, 0);
}

static bool decode_unigram(const void *model, const int32_t *ids, int64_t n, TextEdges edges, GString *text,
                           G_GNUC_UNUSED GError **error)
{
    const Unigram *unigram = model;
    g_autoptr(GString) out = g_string_new(NULL), run = g_string_new(NULL);
    for (int64_t i = 0; i < n; i++) {
        const SpPiece *piece = piece_at(unigram, ids[i]);
        int byte = piece->type == SP_BYTE ? sp_byte_of(piece->text) : -1;
        if (byte >= 0) {
            g_string_append_c(run, (char)byte);
            continue;
        }
        if (piece->type == SP_CONTROL)
            continue;
        append_run(out, run);
        append_with_spaces(out, decoded_text(unigram, ids[i]));
    }
    append_run(out, run);
    const UnigramText *plan = &unigram->text;
    bool prefixes = plan->scheme != PREPEND_NEVER || normalizer_prefixes(plan->normalizer);
    bool prefixed = !edges.after_blank && prefixes && out->str[0] == ' ';
    g_string_append_len(text, out->str + prefixed, (gssize)out->len - prefixed);
    return true;
}

/* ---- tokenizer.json ---- */

static bool read_metaspace(const json_t *part, UnigramText *plan, GError **error)
{
    const char *scheme = json_text(part, "prepend_scheme"), *space = json_text(part, "replacement");
    if (strcmp(space, SP_SPACE) != 0)
        return fail_user(error, "Metaspace with \"%s\" for a space, want \"" SP_SPACE "\"", space);
    bool never = *scheme ? strcmp(scheme, "never") == 0 : json_is_false(json_object_get(part, "add_prefix_space"));
    plan->scheme = never ? PREPEND_NEVER : strcmp(scheme, "first") == 0 ? PREPEND_FIRST : PREPEND_ALWAYS;
    plan->escapes = true;
    plan->splits_words = !json_is_false(json_object_get(part, "split"));
    return true;
}

static bool read_splitter(const json_t *part, UnigramText *plan, GError **error)
{
    const char *type = json_text(part, "type");
    if (strcmp(type, "Metaspace") == 0 && !plan->escapes)
        return read_metaspace(part, plan, error);
    if (strcmp(type, "WhitespaceSplit") != 0 || plan->escapes)
        return fail_user(
            error,
            "Unigram with the pre-tokenizer %s%s; loam reads Metaspace, with or without WhitespaceSplit before it",
            *type ? type : "null", plan->escapes ? " after Metaspace" : "");
    plan->splits_white_space = true;
    return true;
}

static bool read_pre_tokenizer(json_t *part, UnigramText *plan, GError **error)
{
    json_auto_t *steps = tokenizer_json_steps(part, "pretokenizers");
    bool good = true;
    for (size_t i = 0; good && i < json_array_size(steps); i++)
        good = read_splitter(json_array_get(steps, i), plan, error);
    return good;
}

/* Whether a normalizer puts a space at the end of a text, as exports of a SentencePiece model do (json.c). */
static bool puts_suffix(const json_t *normalizer)
{
    size_t i;
    const json_t *step;
    bool found = strcmp(json_text(json_object_get(normalizer, "pattern"), "Regex"), "\\z") == 0;
    json_array_foreach(json_object_get(normalizer, "normalizers"), i, step) found |= puts_suffix(step);
    return found;
}

/* A BPE names its unknown piece. */
static void mark_unknown(const TokenizerJson *json, GArray *pieces)
{
    const char *unk = json_text(json->model, "unk_token");
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
        bool outside = json_is_object(vocab) ? !json_object_get(vocab, token->content)
                                             : (size_t)token->id >= json_array_size(vocab);
        if (outside || (token->special && piece->type != SP_BYTE))
            piece->type = token->special ? SP_CONTROL : SP_USER;
    }
    mark_unknown(json, pieces);
    if (json_is_integer(unk) && json_integer_value(unk) >= 0 && json_integer_value(unk) < pieces->len)
        g_array_index(pieces, SpPiece, json_integer_value(unk)).type = SP_UNKNOWN;
    return pieces;
}

/* Fills unigram->shown. */
static void spell_added(Unigram *unigram, const GArray *added)
{
    for (guint i = 0; i < added->len; i++) {
        const AddedToken *token = &g_array_index(added, AddedToken, i);
        char *content = NULL;
        if (token->normalized)
            content = normalize_unigram(unigram, token->content, strlen(token->content), &(TextEdges){ 0 }, NULL, NULL);
        if (content)
            g_hash_table_replace(unigram->shown, GINT_TO_POINTER(token->id), content);
    }
}

static void *open_unigram_json(const TokenizerJson *json, TokenizerFacts *facts, GError **error)
{
    bool byte_fallback = json_is_true(json_object_get(json->model, "byte_fallback"));
    Unigram *unigram = g_new0(Unigram, 1);
    unigram->pieces = read_pieces(json, byte_fallback);
    unigram->ids = g_hash_table_new(g_str_hash, g_str_equal);
    unigram->shown = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    guint n = unigram->pieces->len;
    bool ok = n <= MAX_PIECES || fail_user(error, "%u pieces: at most %u", n, MAX_PIECES);
    for (guint id = 0; id < n; id++)
        g_hash_table_insert(unigram->ids, piece_at(unigram, (int)id)->text, GUINT_TO_POINTER(id));
    if (ok)
        viterbi_init(&unigram->viterbi, unigram->pieces, byte_fallback, 1 << SP_NORMAL | 1 << SP_BYTE, UINT_MAX);
    bool bpe = strcmp(json->type, TOKENIZER_JSON_CHARS) == 0;
    unigram->bpe = ok && bpe ? char_bpe_open(json, error) : NULL;
    ok = ok && (!bpe || unigram->bpe);
    unigram->text.suffixes = puts_suffix(json->normalizer);
    ok = ok && (unigram->text.normalizer = normalizer_open(json->normalizer, error)) &&
         read_pre_tokenizer(json->pre_tokenizer, &unigram->text, error) && check_pieces(unigram, error);
    if (!ok) {
        close_unigram(unigram);
        return NULL;
    }
    spell_added(unigram, json->added);
    *facts = (TokenizerFacts){ TOKENIZER_FACTS(bpe ? "char-bpe" : "unigram", (int)n, id_of_unigram(unigram, "<pad>"),
                                               id_of_unigram(unigram, "</s>"), unigram->viterbi.unk,
                                               id_of_unigram(unigram, "<s>")),
                               .blank_space = blank_space_of(&unigram->text),
                               .joins_blanks = json_joins_blanks(json->root, SP_SPACE, unigram->text.suffixes) };
    return unigram;
}

#define UNIGRAM(type)                                                                                                  \
    TOKENIZER_KIND(close_unigram, id_of_unigram, piece_of_unigram, encode_unigram, decode_unigram),                    \
        TOKENIZER_OF_JSON(type, open_unigram_json), .normalize = normalize_unigram, .ends = ends_of_unigram
const TokenizerKind kind_unigram = { UNIGRAM("Unigram") };
const TokenizerKind kind_char_bpe = { UNIGRAM(TOKENIZER_JSON_CHARS) };
