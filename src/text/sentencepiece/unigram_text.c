#include "text/sentencepiece/unigram_text.h"

#include "text/sentencepiece/charsmap.h"
#include "text/white_space.h"

#include <string.h>

#define SPACE       "\xe2\x96\x81" /* U+2581, which stands for a space */
#define SPACE_BYTES (sizeof SPACE - 1)

typedef enum StepType { STEP_MAP, STEP_REPLACE, STEP_STRIP, STEP_PREPEND } StepType;

typedef struct Step {
    StepType type;
    CharsMap map;
    char *literal; /* what is replaced; NULL: what `regex` matches */
    GRegex *regex;
    char *content;    /* what is put there, or in front */
    bool left, right; /* white space is stripped there */
} Step;

typedef enum Scheme { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS } Scheme;

struct UnigramText {
    GArray *steps; /* of Step: the normalizer's */
    bool splits_white_space, escapes, splits_words;
    Scheme scheme;
};

static void clear_step(void *opaque)
{
    Step *step = opaque;
    charsmap_clear(&step->map);
    g_free(step->literal);
    g_free(step->content);
    g_clear_pointer(&step->regex, g_regex_unref);
}

void unigram_text_close(UnigramText *plan)
{
    if (plan == NULL)
        return;
    g_array_unref(plan->steps);
    g_free(plan);
}

/* ---- reading ---- */

static const char *text_of(const json_t *part, const char *key)
{
    const char *text = json_string_value(json_object_get(part, key));
    return text ? text : "";
}

static bool read_map(const json_t *part, Step *step, GError **error)
{
    gsize bytes = 0;
    const char *base64 = text_of(part, "precompiled_charsmap");
    g_autofree guchar *map = *base64 ? g_base64_decode(base64, &bytes) : NULL;
    if (!charsmap_is_sound((const char *)map, bytes))
        return fail_user(error, "its character map is damaged");
    charsmap_init(&step->map, (const char *)map, bytes);
    return true;
}

static bool read_replace(const json_t *part, Step *step, GError **error)
{
    json_t *pattern = json_object_get(part, "pattern");
    const char *literal = text_of(pattern, "String"), *regex = text_of(pattern, "Regex");
    g_autoptr(GError) wrong = NULL;
    step->type = STEP_REPLACE;
    step->content = g_strdup(text_of(part, "content"));
    if (*literal)
        step->literal = g_strdup(literal);
    else if (*regex)
        step->regex = g_regex_new(regex, G_REGEX_OPTIMIZE | G_REGEX_MULTILINE, 0, &wrong);
    if (step->literal == NULL && step->regex == NULL)
        return fail_user(error, "its normalizer replaces \"%s\", which is no pattern%s%s", regex, wrong ? ": " : "",
                         wrong ? wrong->message : "");
    return true;
}

static bool read_normalizer(json_t *part, UnigramText *plan, GError **error)
{
    const char *type = text_of(part, "type");
    Step step = { .type = STEP_MAP };
    bool ok = true;
    if (strcmp(type, "Precompiled") == 0)
        ok = read_map(part, &step, error);
    else if (strcmp(type, "Replace") == 0)
        ok = read_replace(part, &step, error);
    else if (strcmp(type, "Strip") == 0)
        step = (Step){ .type = STEP_STRIP,
                       .left = json_is_true(json_object_get(part, "strip_left")),
                       .right = json_is_true(json_object_get(part, "strip_right")) };
    else if (strcmp(type, "Prepend") == 0)
        step = (Step){ .type = STEP_PREPEND, .content = g_strdup(text_of(part, "prepend")) };
    else
        return fail_user(error, "Unigram with the normalizer %s, want Precompiled, Replace, Strip or Prepend",
                         *type ? type : "null");
    g_array_append_val(plan->steps, step);
    return ok;
}

static bool read_metaspace(const json_t *part, UnigramText *plan, GError **error)
{
    const char *scheme = text_of(part, "prepend_scheme"), *space = text_of(part, "replacement");
    if (strcmp(space, SPACE) != 0)
        return fail_user(error, "Metaspace with \"%s\" for a space, want \"" SPACE "\"", space);
    bool never = *scheme ? strcmp(scheme, "never") == 0 : json_is_false(json_object_get(part, "add_prefix_space"));
    plan->scheme = never ? PREPEND_NEVER : strcmp(scheme, "first") == 0 ? PREPEND_FIRST : PREPEND_ALWAYS;
    plan->escapes = true;
    plan->splits_words = !json_is_false(json_object_get(part, "split"));
    return true;
}

static bool read_pre_tokenizer(json_t *part, UnigramText *plan, GError **error)
{
    const char *type = text_of(part, "type");
    if (strcmp(type, "Metaspace") == 0 && !plan->escapes)
        return read_metaspace(part, plan, error);
    if (strcmp(type, "WhitespaceSplit") != 0 || plan->escapes)
        return fail_user(error,
                         "Unigram with the pre-tokenizer %s%s, want Metaspace, with WhitespaceSplit before it or alone",
                         *type ? type : "null", plan->escapes ? " after Metaspace" : "");
    plan->splits_white_space = true;
    return true;
}

/* Calls `read` for a part, or for each part of a Sequence (whose parts are under `list`). */
static bool each_part(json_t *part, const char *list, bool (*read)(json_t *, UnigramText *, GError **),
                      UnigramText *plan, GError **error)
{
    size_t i;
    json_t *inner;
    if (part == NULL)
        return true;
    if (strcmp(text_of(part, "type"), "Sequence") != 0)
        return read(part, plan, error);
    json_array_foreach(json_object_get(part, list), i, inner) if (!read(inner, plan, error)) return false;
    return true;
}

UnigramText *unigram_text_open(json_t *normalizer, json_t *pre_tokenizer, GError **error)
{
    UnigramText *plan = g_new0(UnigramText, 1);
    plan->steps = g_array_new(FALSE, FALSE, sizeof(Step));
    g_array_set_clear_func(plan->steps, clear_step);
    if (each_part(normalizer, "normalizers", read_normalizer, plan, error) &&
        each_part(pre_tokenizer, "pretokenizers", read_pre_tokenizer, plan, error))
        return plan;
    unigram_text_close(plan);
    return NULL;
}

bool unigram_text_prefixes(const UnigramText *plan)
{
    bool prefixes = plan->scheme != PREPEND_NEVER;
    for (guint i = 0; i < plan->steps->len; i++)
        prefixes |= g_array_index(plan->steps, Step, i).type == STEP_PREPEND;
    return prefixes;
}

/* ---- the normalizer ---- */

static GString *mapped(const Step *step, const char *text, size_t bytes)
{
    GString *out = g_string_sized_new(bytes + bytes / 8 + 16);
    charsmap_apply(&step->map, text, bytes, out);
    return out;
}

/* *first: whether the text's first character is still there. */
static void strip(const Step *step, GString *text, bool *first)
{
    const char *at = text->str, *end = at + text->len;
    while (step->right && end > at && is_white_space(g_utf8_get_char(g_utf8_prev_char(end))))
        end = g_utf8_prev_char(end);
    while (step->left && at < end && is_white_space(g_utf8_get_char(at)))
        at = g_utf8_next_char(at);
    *first = *first && at == text->str;
    g_string_truncate(text, (gsize)(end - text->str));
    g_string_erase(text, 0, at - text->str);
}

static GString *replaced(const Step *step, const GString *text, GError **error)
{
    GString *out = g_string_sized_new(text->len + text->len / 4 + 16);
    const char *at = text->str, *end = at + text->len;
    g_autoptr(GError) wrong = NULL;
    if (step->regex) {
        g_autofree char *whole =
            g_regex_replace_literal(step->regex, text->str, (gssize)text->len, 0, step->content, 0, &wrong);
        if (whole == NULL)
            fail_user(error, "normalizing: %s", wrong->message);
        g_string_append(out, whole ? whole : "");
        return out;
    }
    size_t n = strlen(step->literal);
    for (const char *found; (found = memmem(at, (size_t)(end - at), step->literal, n)); at = found + n) {
        g_string_append_len(out, at, found - at);
        g_string_append(out, step->content);
    }
    g_string_append_len(out, at, end - at);
    return out;
}

/* Takes text. NULL: a pattern could not be matched. */
static GString *run_step(const Step *step, GString *text, bool *first, GError **error)
{
    GString *out = text;
    GError *wrong = NULL;
    if (step->type == STEP_MAP)
        out = mapped(step, text->str, text->len);
    else if (text->len == 0)
        return text; /* nothing is found in it, not even its end */
    else if (step->type == STEP_REPLACE)
        out = replaced(step, text, &wrong);
    else if (step->type == STEP_STRIP)
        strip(step, text, first);
    else
        g_string_prepend(text, step->content);
    if (out != text)
        g_string_free(text, TRUE);
    if (wrong) {
        g_string_free(out, TRUE);
        g_propagate_error(error, wrong);
        return NULL;
    }
    return out;
}

char *unigram_text_map(const UnigramText *plan, const char *text, size_t bytes)
{
    GString *out = g_string_new_len(text, (gssize)bytes);
    for (guint i = 0; i < plan->steps->len; i++)
        if (g_array_index(plan->steps, Step, i).type == STEP_MAP)
            out = run_step(&g_array_index(plan->steps, Step, i), out, &(bool){ true }, NULL);
    return g_string_free(out, FALSE);
}

/* ---- the pre_tokenizer ---- */

typedef struct Words {
    const UnigramText *plan;
    GString *spaced;
    void (*fn)(void *context, const char *word, size_t bytes);
    void *context;
} Words;

static void each_spaced(const Words *words, const char *at, const char *end)
{
    while (at < end) {
        const char *stop = NULL;
        if (words->plan->splits_words)
            stop = memmem(at + 1, (size_t)(end - at - 1), SPACE, SPACE_BYTES);
        stop = stop ? stop : end;
        words->fn(words->context, at, (size_t)(stop - at));
        at = stop;
    }
}

/* Metaspace: a space becomes U+2581, which also goes before the word unless it begins so. */
static void put_word(const Words *words, const char *at, const char *end, bool first)
{
    const UnigramText *plan = words->plan;
    if (!plan->escapes) {
        each_spaced(words, at, end);
        return;
    }
    bool begins = *at == ' ' || ((size_t)(end - at) >= SPACE_BYTES && memcmp(at, SPACE, SPACE_BYTES) == 0);
    bool prefix = plan->scheme == PREPEND_ALWAYS || (plan->scheme == PREPEND_FIRST && first);
    g_string_assign(words->spaced, prefix && !begins ? SPACE : "");
    for (const char *space; (space = memchr(at, ' ', (size_t)(end - at))); at = space + 1) {
        g_string_append_len(words->spaced, at, space - at);
        g_string_append_len(words->spaced, SPACE, SPACE_BYTES);
    }
    g_string_append_len(words->spaced, at, end - at);
    each_spaced(words, words->spaced->str, words->spaced->str + words->spaced->len);
}

static void each_word(const Words *words, const char *text, size_t bytes, bool first)
{
    const char *at = text, *end = text + bytes, *stop;
    if (!words->plan->splits_white_space) {
        if (bytes > 0)
            put_word(words, text, end, first);
        return;
    }
    for (; at < end; at = stop) {
        for (stop = at; stop < end && !is_white_space(g_utf8_get_char(stop));)
            stop = g_utf8_next_char(stop);
        if (stop > at)
            put_word(words, at, stop, first && at == text);
        else
            stop = g_utf8_next_char(at);
    }
}

bool unigram_text_each(const UnigramText *plan, const char *text, size_t bytes, bool first,
                       void (*fn)(void *context, const char *word, size_t bytes), void *context, GError **error)
{
    GString *normal = g_string_new_len(text, (gssize)bytes);
    for (guint i = 0; normal && i < plan->steps->len; i++)
        normal = run_step(&g_array_index(plan->steps, Step, i), normal, &first, error);
    if (normal == NULL)
        return false;
    Words words = { plan, g_string_new(NULL), fn, context };
    each_word(&words, normal->str, normal->len, first);
    g_string_free(words.spaced, TRUE);
    g_string_free(normal, TRUE);
    return true;
}
