#include "text/wordpiece/wordpiece.h"

#include "base/log.h"
#include "base/text.h"
#include "text/offset_map.h"
#include "text/trie.h"
#include "text/wordpiece/bert_text.h"

#include <string.h>
#include <xxhash.h>

#define MAX_PIECES ((guint)1 << 22)

typedef struct WordPieceOptions {
    const char *unk;    /* the piece of words that cannot be split: "[UNK]" */
    const char *prefix; /* prefix of pieces inside a word: "##" */
    int max_chars;      /* longer words become unk; at most BERT_TEXT_MAX_CHARS */
    BertTextOptions text;
    bool cleanup; /* decoding puts no space before . ? ! and comma */
} WordPieceOptions;

typedef struct WordPiece {
    GPtrArray *pieces;        /* char * by id */
    WordPieceOptions options; /* strings owned */
    const BertText *text;
    Trie trie;      /* piece -> id */
    bool *outside;  /* by id: an added token that is not in the model's vocabulary, so never part of a word */
    uint32_t inner; /* the trie's unit of the prefix "##", where pieces inside of a word start */
    bool has_inner; /* whether any piece has the prefix */
    int unk;
} WordPiece;

static void close_wordpiece(void *model)
{
    WordPiece *wordpiece = model;
    g_ptr_array_unref(wordpiece->pieces);
    trie_clear(&wordpiece->trie);
    g_free(wordpiece->outside);
    g_free((char *)wordpiece->options.unk);
    g_free((char *)wordpiece->options.prefix);
    g_free(wordpiece);
}

static void build_trie(WordPiece *wordpiece)
{
    guint n = wordpiece->pieces->len;
    g_autofree TrieKey *keys = g_new(TrieKey, n);
    for (guint i = 0; i < n; i++) {
        const char *piece = wordpiece->pieces->pdata[i];
        keys[i] = (TrieKey){ piece, (uint32_t)strlen(piece), (int32_t)i };
    }
    trie_init(&wordpiece->trie, keys, n);
    const char *prefix = wordpiece->options.prefix;
    wordpiece->has_inner = true;
    for (size_t i = 0; prefix[i] && wordpiece->has_inner; i++) {
        wordpiece->inner = trie_step(&wordpiece->trie, wordpiece->inner, (unsigned char)prefix[i]);
        wordpiece->has_inner = wordpiece->inner != 0;
    }
}

static int id_of_wordpiece(const void *model, const char *piece)
{
    return trie_find(&((const WordPiece *)model)->trie, piece, strlen(piece));
}

static const char *piece_of_wordpiece(const void *model, int id)
{
    return ((const WordPiece *)model)->pieces->pdata[id];
}

/* BERT's special tokens that are in the vocabulary. */
static GArray *list_specials(const WordPiece *wordpiece)
{
    static const char *const names[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };
    GArray *added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        AddedToken token = { .content = names[i], .id = id_of_wordpiece(wordpiece, names[i]), .special = true };
        if (token.id >= 0)
            g_array_append_val(added, token);
    }
    return added;
}

/* Makes a model of kind_wordpiece. Takes ownership of `pieces` (char *), also on failure. */
static void *open_pieces(GPtrArray *pieces, const WordPieceOptions *options, TokenizerFacts *facts, GError **error)
{
    WordPiece *wordpiece = g_new0(WordPiece, 1);
    wordpiece->pieces = pieces;
    wordpiece->outside = g_new0(bool, pieces->len);
    wordpiece->options = *options;
    wordpiece->options.unk = g_strdup(options->unk);
    wordpiece->options.prefix = g_strdup(options->prefix);
    bool ok = pieces->len <= MAX_PIECES || fail_user(error, "%u pieces: at most %u", pieces->len, MAX_PIECES);
    if (ok && (options->max_chars < 1 || options->max_chars > BERT_TEXT_MAX_CHARS))
        ok = fail_user(error, "words of at most %d characters: 1 to %d", options->max_chars, BERT_TEXT_MAX_CHARS);
    if (ok) {
        build_trie(wordpiece);
        wordpiece->unk = id_of_wordpiece(wordpiece, options->unk);
        ok = wordpiece->unk >= 0 || fail_user(error, "not a WordPiece vocabulary: it has no %s", options->unk);
    }
    if (!ok) {
        close_wordpiece(wordpiece);
        return NULL;
    }
    wordpiece->text = bert_text_of(options->text);
    const int cls = id_of_wordpiece(wordpiece, "[CLS]"), sep = id_of_wordpiece(wordpiece, "[SEP]");
    *facts =
        (TokenizerFacts){ TOKENIZER_FACTS("wordpiece", (int)pieces->len, id_of_wordpiece(wordpiece, "[PAD]"), sep,
                                          wordpiece->unk, cls),
                          .blank_space = BLANK_SPLITS, .added = list_specials(wordpiece),
                          .json_frame = frame_of(sep >= 0 ? cls : -1, cls >= 0 ? sep : -1, false), .json_typed = true };
    return wordpiece;
}

/* ---- vocab.txt ---- */

/* Whether a piece other than "[PAD]", "[CLS]", … has a capital from A to Z (uncased vocabularies have others). */
static bool has_capitals(const GPtrArray *pieces)
{
    for (guint i = 0; i < pieces->len; i++) {
        const char *piece = pieces->pdata[i];
        for (const char *p = piece[0] == '[' && piece[1] ? "" : piece; *p; p++)
            if (g_ascii_isupper(*p))
                return true;
    }
    return false;
}

static void read_flag(const json_t *config, const char *key, bool *flag)
{
    const json_t *value = json_object_get(config, key);
    if (json_is_boolean(value))
        *flag = json_is_true(value);
}

/* Reads do_lower_case, strip_accents and tokenize_chinese_chars of the tokenizer_config.json in the vocabulary's
 * folder, if there is one. Without strip_accents, accents are stripped if text is lower-cased. */
static bool read_tokenizer_config(const char *vocab_path, BertTextOptions *text, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(vocab_path);
    json_auto_t *config = NULL;
    if (!tokenizer_json_read(folder, "tokenizer_config.json", &config, error))
        return false;
    if (config == NULL)
        return true;
    read_flag(config, "do_lower_case", &text->lowercase);
    text->strip_accents = text->lowercase;
    read_flag(config, "strip_accents", &text->strip_accents);
    read_flag(config, "tokenize_chinese_chars", &text->handle_chinese_chars);
    return true;
}

/* BertTokenizer lower-cases unless its files say otherwise, which may be wrong for a vocabulary with capitals. */
static void warn_of_case(const GPtrArray *pieces, const TokenizerClass *class_)
{
    if (class_->text == CLASS_BERT && !class_->cased_by_key && has_capitals(pieces))
        log_warning(
            "text becomes lower case, as in transformers, though the vocabulary has capital letters: if that is "
            "wrong, set do_lower_case to false in tokenizer_config.json");
}

static void *open_vocabulary(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error)
{
    const char *end = data + bytes;
    if (!g_utf8_validate_len(data, bytes, NULL))
        return fail_user(error, "not a WordPiece vocabulary: it is not valid UTF-8");
    g_autoptr(GPtrArray) pieces = g_ptr_array_new_with_free_func(g_free);
    for (const char *line = data + text_mark_bytes(data, bytes), *stop; line < end; line = stop + 1) {
        stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        g_ptr_array_add(pieces, g_strchomp(g_strndup(line, (size_t)(stop - line))));
    }
    bool uncased = !has_capitals(pieces);
    const BertTextOptions alone = { true, true, uncased, uncased };
    WordPieceOptions options = { "[UNK]", "##", WORDPIECE_CHARS, alone, true };
    options.text.lowercase = options.text.strip_accents = uncased || facts->class_.text == CLASS_BERT;
    warn_of_case(pieces, &facts->class_);
    if (!read_tokenizer_config(path, &options.text, error))
        return NULL;
    void *model = open_pieces(g_steal_pointer(&pieces), &options, facts, error);
    if (memcmp(&options.text, &alone, sizeof alone) != 0)
        facts->settings = XXH3_64bits(&options.text, sizeof options.text);
    return model;
}

/* ---- encoding ---- */

typedef struct Encoding {
    const WordPiece *wordpiece;
    GArray *ids;
    bool joined; /* the next word goes on with the word in the blank before it */
} Encoding;

/* Appends the longest pieces from the left. joined: the word goes on with another, so its first piece is an inner one,
 * too. False, with some pieces appended, if no piece matches at some position. */
static bool split_word(const WordPiece *wordpiece, const BertWord *word, bool joined, GArray *ids)
{
    const Trie *trie = &wordpiece->trie;
    for (size_t at = 0; at < word->bytes;) {
        uint32_t unit = at == 0 && !joined ? 0 : wordpiece->inner;
        if (!wordpiece->has_inner && (at > 0 || joined))
            return false;
        int32_t found = -1;
        size_t stop = at;
        for (size_t i = at; i < word->bytes; i++) {
            if ((unit = trie_step(trie, unit, (unsigned char)word->text[i])) == 0)
                break;
            int32_t piece = trie->units[unit].value;
            if (piece >= 0 && !wordpiece->outside[piece]) {
                found = piece;
                stop = i + 1;
            }
        }
        if (found < 0)
            return false;
        g_array_append_val(ids, found);
        at = stop;
    }
    return true;
}

/* A word that cannot be split is unknown as a whole; one that cannot go on with that in a blank is a word itself. */
static void encode_bert_word(void *context, const BertWord *word)
{
    Encoding *encoding = context;
    const WordPiece *wordpiece = encoding->wordpiece;
    GArray *ids = encoding->ids;
    const guint before = ids->len;
    const bool fits = word->n_chars <= wordpiece->options.max_chars, joined = encoding->joined;
    encoding->joined = false;
    if (joined && fits && split_word(wordpiece, word, true, ids))
        return;
    g_array_set_size(ids, before);
    if (fits && split_word(wordpiece, word, false, ids))
        return;
    g_array_set_size(ids, before);
    g_array_append_val(ids, wordpiece->unk);
}

static char *normalize_wordpiece(const void *model, const char *text, size_t bytes, TextEdges *edges, GArray **map,
                                 GError **error)
{
    (void)edges, (void)map, (void)error;
    return bert_text_normalize(((const WordPiece *)model)->text, text, bytes);
}

/* Whether a text that follows a blank goes on with the word in it: "ing", but not " ing" or ".". */
static bool starts_inside(const WordPiece *wordpiece, const char *text)
{
    uint8_t room[BERT_TEXT_CHAR_BYTES];
    const uint8_t *mapped = bert_text_char(wordpiece->text, g_utf8_get_char(text), room);
    return mapped[0] > 0 && mapped[1] != ' ';
}

static bool encode_wordpiece(const void *model, const char *text, size_t bytes, TextEdges edges, GArray *ids,
                             G_GNUC_UNUSED GError **error)
{
    const WordPiece *wordpiece = model;
    Encoding encoding = { wordpiece, ids, edges.after_blank && starts_inside(wordpiece, text) };
    bert_text_words(wordpiece->text, wordpiece->options.max_chars, text, bytes, encode_bert_word, &encoding);
    return true;
}

/* The words of a text, one after another, each with a space behind it, and their offset map. */
static GString *trace_words(const WordPiece *wordpiece, const char *text, size_t bytes, GArray **map)
{
    GString *words = g_string_sized_new(bytes);
    uint8_t room[BERT_TEXT_CHAR_BYTES];
    *map = offset_map_new();
    for (const char *at = text, *next; at < text + bytes; at = next) {
        next = g_utf8_next_char(at);
        const uint8_t *mapped = bert_text_char(wordpiece->text, g_utf8_get_char(at), room);
        g_string_append_len(words, (const char *)mapped + 1, mapped[0]);
        offset_map_add(*map, mapped[0], (size_t)(next - text), (size_t)(next - text));
    }
    g_string_append_c(words, ' ');
    offset_map_add(*map, 1, bytes, bytes);
    return words;
}

/* TokenizerKind.ends: an unknown word is one id, other words are their pieces. */
static bool ends_of_wordpiece(const void *opaque, const char *text, size_t bytes, TextEdges edges, const int32_t *ids,
                              int64_t n, uint32_t *ends)
{
    const WordPiece *wordpiece = opaque;
    bool joined = edges.after_blank && starts_inside(wordpiece, text);
    g_autoptr(GArray) map = NULL;
    g_autoptr(GString) words = trace_words(wordpiece, text, bytes, &map);
    int64_t i = 0;
    for (size_t at = 0, stop; at < words->len; at = stop + 1) {
        stop = (size_t)((const char *)memchr(words->str + at, ' ', words->len - at) - words->str);
        for (bool first = true; at < stop && i < n; first = joined = false) {
            const char *name = piece_of_wordpiece(wordpiece, ids[i]), *prefix = wordpiece->options.prefix;
            bool inner = !first || (joined && g_str_has_prefix(name, prefix));
            size_t piece = strlen(name) - (inner ? strlen(prefix) : 0);
            at = first && ids[i] == wordpiece->unk ? stop : at + MIN(piece, stop - at);
            ends[i++] = offset_map_at(map, at);
        }
    }
    return i == n;
}

/* Decodes. Words are separated by spaces, with cleanup except before . ? ! and comma. */
static bool decode_wordpiece(const void *model, const int32_t *ids, int64_t n, TextEdges edges, GString *text,
                             G_GNUC_UNUSED GError **error)
{
    const WordPiece *wordpiece = model;
    const char *prefix = wordpiece->options.prefix;
    for (int64_t i = 0; i < n; i++) {
        const char *piece = piece_of_wordpiece(model, ids[i]);
        bool follows = i > 0 || edges.after_blank, inner = follows && g_str_has_prefix(piece, prefix);
        bool mark = wordpiece->options.cleanup && piece[0] && strchr(".?!,", piece[0]) && !piece[1];
        if (follows && !inner && !mark)
            g_string_append_c(text, ' ');
        g_string_append(text, inner ? piece + strlen(prefix) : piece);
    }
    return true;
}

/* ---- tokenizer.json ---- */

static bool read_normalizer(json_t *normalizer, BertTextOptions *text, GError **error)
{
    *text = (BertTextOptions){ true, true, true, true };
    const char *type = json_string_value(json_object_get(normalizer, "type"));
    if (g_strcmp0(type, "BertNormalizer") != 0)
        return fail_user(error, "WordPiece with the normalizer %s, want BertNormalizer", type ? type : "null");
    read_flag(normalizer, "clean_text", &text->clean_text);
    read_flag(normalizer, "handle_chinese_chars", &text->handle_chinese_chars);
    read_flag(normalizer, "lowercase", &text->lowercase);
    text->strip_accents = text->lowercase;
    read_flag(normalizer, "strip_accents", &text->strip_accents);
    return true;
}

static void *open_wordpiece_json(const TokenizerJson *json, TokenizerFacts *facts, GError **error)
{
    const char *unk = json_string_value(json_object_get(json->model, "unk_token"));
    const char *prefix = json_string_value(json_object_get(json->model, "continuing_subword_prefix"));
    json_t *max_chars = json_object_get(json->model, "max_input_chars_per_word");
    const char *splitter = json_string_value(json_object_get(json->pre_tokenizer, "type"));
    WordPieceOptions options = { unk ? unk : "[UNK]",
                                 prefix ? prefix : "##",
                                 WORDPIECE_CHARS,
                                 { 0 },
                                 !json_is_false(json_object_get(json->decoder, "cleanup")) };
    if (json_is_integer(max_chars))
        options.max_chars = (int)CLAMP(json_integer_value(max_chars), 0, G_MAXINT);
    if (!read_normalizer(json->normalizer, &options.text, error))
        return NULL;
    if (g_strcmp0(splitter, "BertPreTokenizer") != 0)
        return fail_user(error, "WordPiece with the pre-tokenizer %s, want BertPreTokenizer",
                         splitter ? splitter : "null");
    GPtrArray *pieces = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < json->pieces->len; i++)
        g_ptr_array_add(pieces, g_strdup(json->pieces->pdata[i] ? json->pieces->pdata[i] : ""));
    warn_of_case(pieces, &facts->class_);
    WordPiece *wordpiece = open_pieces(pieces, &options, facts, error);
    for (guint i = 0; wordpiece && i < json->added->len; i++) {
        const AddedToken *token = &g_array_index(json->added, AddedToken, i);
        wordpiece->outside[token->id] = json_object_get(json_object_get(json->model, "vocab"), token->content) == NULL;
    }
    return wordpiece;
}

static json_t *json_of_text(const BertTextOptions *text)
{
    return json_pack("{s:s, s:b, s:b, s:b, s:b}", "type", "BertNormalizer", "clean_text", (int)text->clean_text,
                     "handle_chinese_chars", (int)text->handle_chinese_chars, "strip_accents", (int)text->strip_accents,
                     "lowercase", (int)text->lowercase);
}

static json_t *wordpiece_to_json(const void *model, const char *data, size_t bytes, GError **error)
{
    (void)data, (void)bytes, (void)error;
    const WordPiece *wordpiece = model;
    const WordPieceOptions *options = &wordpiece->options;
    g_autoptr(GArray) specials = list_specials(wordpiece);
    return json_tokenizer(
        json_added_tokens(specials), json_of_text(&options->text), json_pack("{s:s}", "type", "BertPreTokenizer"), NULL,
        json_pack("{s:s, s:s, s:b}", "type", "WordPiece", "prefix", options->prefix, "cleanup", (int)options->cleanup),
        json_pack("{s:s, s:s, s:s, s:i, s:o}", "type", "WordPiece", "unk_token", options->unk,
                  "continuing_subword_prefix", options->prefix, "max_input_chars_per_word", options->max_chars, "vocab",
                  json_vocab(wordpiece->pieces)));
}

const TokenizerKind kind_wordpiece = { TOKENIZER_KIND(close_wordpiece, id_of_wordpiece, piece_of_wordpiece,
                                                      encode_wordpiece, decode_wordpiece),
                                       TOKENIZER_OF_FILE("vocab.txt", open_vocabulary),
                                       TOKENIZER_OF_JSON("WordPiece", open_wordpiece_json),
                                       .normalize = normalize_wordpiece,
                                       .to_json = wordpiece_to_json,
                                       .ends = ends_of_wordpiece };
