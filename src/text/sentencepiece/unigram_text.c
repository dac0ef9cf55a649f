#include "text/sentencepiece/unigram_text.h"

#include "text/normalizer.h"
#include "text/sentencepiece/anchor.h"
#include "text/sentencepiece/model.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

#include <string.h>

#define SPACE_BYTES (sizeof SP_SPACE - 1)

typedef enum Scheme { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS } Scheme; /* Metaspace.prepend_scheme */

struct UnigramText {
    Normalizer *normalizer;
    bool splits_white_space; /* WhitespaceSplit */
    bool escapes;            /* Metaspace: spaces become SP_SPACE */
    bool splits_words;       /* Metaspace.split: a word starts at each SP_SPACE */
    Scheme scheme;
    bool suffixes; /* the normalizer puts a space at the end of the text: pieces end with their space */
};

void unigram_text_close(UnigramText *plan)
{
    if (plan == NULL)
        return;
    normalizer_close(plan->normalizer);
    g_free(plan);
}

/* ---- reading ---- */

static bool read_metaspace(const json_t *part, UnigramText *plan, GError **error)
{
    const char *scheme = tokenizer_json_text(part, "prepend_scheme"), *space = tokenizer_json_text(part, "replacement");
    if (strcmp(space, SP_SPACE) != 0)
        return fail_user(error, "Metaspace with \"%s\" for a space, want \"" SP_SPACE "\"", space);
    bool never = *scheme ? strcmp(scheme, "never") == 0 : json_is_false(json_object_get(part, "add_prefix_space"));
    plan->scheme = never ? PREPEND_NEVER : strcmp(scheme, "first") == 0 ? PREPEND_FIRST : PREPEND_ALWAYS;
    plan->escapes = true;
    plan->splits_words = !json_is_false(json_object_get(part, "split"));
    return true;
}

static bool read_pre_tokenizer(json_t *part, UnigramText *plan, GError **error)
{
    const char *type = tokenizer_json_text(part, "type");
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

/* Reads a part or, if it is a Sequence, each of its parts. */
static bool read_parts(json_t *part, UnigramText *plan, GError **error)
{
    size_t i;
    json_t *inner;
    if (part == NULL)
        return true;
    if (strcmp(tokenizer_json_text(part, "type"), "Sequence") != 0)
        return read_pre_tokenizer(part, plan, error);
    json_array_foreach(json_object_get(part, "pretokenizers"), i,
                       inner) if (!read_pre_tokenizer(inner, plan, error)) return false;
    return true;
}

/* Whether a normalizer puts a space at the end of a text, as exports of a SentencePiece model do (json.c). */
static bool puts_suffix(const json_t *normalizer)
{
    size_t i;
    const json_t *step;
    bool found = strcmp(tokenizer_json_text(json_object_get(normalizer, "pattern"), "Regex"), "\\z") == 0;
    json_array_foreach(json_object_get(normalizer, "normalizers"), i, step) found |= puts_suffix(step);
    return found;
}

UnigramText *unigram_text_open(json_t *normalizer, json_t *pre_tokenizer, GError **error)
{
    UnigramText *plan = g_new0(UnigramText, 1);
    plan->normalizer = normalizer_open(normalizer, error);
    plan->suffixes = puts_suffix(normalizer);
    if (plan->normalizer && read_parts(pre_tokenizer, plan, error))
        return plan;
    unigram_text_close(plan);
    return NULL;
}

BlankSpace unigram_text_blank_space(const UnigramText *plan)
{
    return plan->suffixes ? BLANK_AFTER : BLANK_BEFORE;
}

bool unigram_text_prefixes(const UnigramText *plan)
{
    return plan->scheme != PREPEND_NEVER || normalizer_prefixes(plan->normalizer);
}

char *unigram_text_map(const UnigramText *plan, const char *text, size_t bytes)
{
    return normalizer_map(plan->normalizer, text, bytes);
}

/* ---- the pre_tokenizer ---- */

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

/* Sets words->normal to the normalized text; beside a blank the text is normalized with an anchor. */
static bool normalize_edges(Words *words, const char *text, size_t bytes, TextEdges *edges, bool with_map,
                            GError **error)
{
    const UnigramText *plan = words->plan;
    g_autoptr(GString) anchored = anchor_add(text, bytes, *edges);
    if (anchored) {
        words->normal = mapped_text_of(anchored->str, anchored->len, with_map);
        if (!normalizer_apply(plan->normalizer, &words->normal, &edges->starts_text, error))
            return false;
        if (anchor_cut(words->normal.text, words->normal.map, bytes, *edges, unigram_text_blank_space(plan)))
            return true;
        mapped_text_clear(&words->normal);
    }
    words->normal = mapped_text_of(text, bytes, with_map);
    return normalizer_apply(plan->normalizer, &words->normal, &edges->starts_text, error);
}

bool unigram_text_each(const UnigramText *plan, const char *text, size_t bytes, TextEdges edges, WordTaker taker,
                       GArray **map, GError **error)
{
    Words words = { .plan = plan, .spaced = mapped_text_new(bytes, map != NULL), .taker = taker };
    bool good = normalize_edges(&words, text, bytes, &edges, map != NULL, error);
    if (good)
        each_word(&words, edges);
    if (map)
        *map = g_steal_pointer(&words.spaced.map);
    mapped_text_clear(&words.normal);
    mapped_text_clear(&words.spaced);
    return good;
}
