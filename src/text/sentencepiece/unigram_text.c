#include "text/sentencepiece/unigram_text.h"

#include "text/sentencepiece/model.h"
#include "text/tokenizer_json.h"
#include "text/white_space.h"

#include <string.h>

#define SPACE_BYTES (sizeof SP_SPACE - 1)

typedef enum StepType { STEP_MAP, STEP_REPLACE, STEP_STRIP, STEP_PREPEND } StepType;

typedef struct Step {
    StepType type;
    CharsMap map;
    char *literal; /* STEP_REPLACE: the text to replace; NULL means matches of `regex` */
    GRegex *regex;
    char *content;    /* STEP_REPLACE: the replacement; STEP_PREPEND: the prefix */
    bool left, right; /* STEP_STRIP: the ends to strip */
} Step;

typedef enum Scheme { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS } Scheme; /* Metaspace.prepend_scheme */

struct UnigramText {
    GArray *steps;           /* Step: the normalizer */
    bool splits_white_space; /* WhitespaceSplit */
    bool escapes;            /* Metaspace: spaces become SP_SPACE */
    bool splits_words;       /* Metaspace.split: a word starts at each SP_SPACE */
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

static bool read_map(const json_t *part, Step *step, GError **error)
{
    gsize bytes = 0;
    const char *base64 = tokenizer_json_text(part, "precompiled_charsmap");
    g_autofree guchar *map = *base64 ? g_base64_decode(base64, &bytes) : NULL;
    if (!charsmap_is_valid((const char *)map, bytes))
        return fail_user(error, "its character map is damaged");
    charsmap_init(&step->map, (const char *)map, bytes);
    return true;
}

static bool read_replace(const json_t *part, Step *step, GError **error)
{
    json_t *pattern = json_object_get(part, "pattern");
    const char *literal = tokenizer_json_text(pattern, "String"), *regex = tokenizer_json_text(pattern, "Regex");
    g_autoptr(GError) wrong = NULL;
    step->type = STEP_REPLACE;
    step->content = g_strdup(tokenizer_json_text(part, "content"));
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
    const char *type = tokenizer_json_text(part, "type");
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
        step = (Step){ .type = STEP_PREPEND, .content = g_strdup(tokenizer_json_text(part, "prepend")) };
    else
        return fail_user(error, "Unigram with the normalizer %s, want Precompiled, Replace, Strip or Prepend",
                         *type ? type : "null");
    g_array_append_val(plan->steps, step);
    return ok;
}

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
        return fail_user(error,
                         "Unigram with the pre-tokenizer %s%s, want Metaspace, with WhitespaceSplit before it or alone",
                         *type ? type : "null", plan->escapes ? " after Metaspace" : "");
    plan->splits_white_space = true;
    return true;
}

/* Calls `read` for a part or, if it is a Sequence, for each part of its array at the key `list`. */
static bool each_part(json_t *part, const char *list, bool (*read)(json_t *, UnigramText *, GError **),
                      UnigramText *plan, GError **error)
{
    size_t i;
    json_t *inner;
    if (part == NULL)
        return true;
    if (strcmp(tokenizer_json_text(part, "type"), "Sequence") != 0)
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

/* Sets *starts_text to false if the start of the text is stripped. */
static void strip(const Step *step, GString *text, bool *starts_text)
{
    const char *at = text->str, *end = at + text->len;
    while (step->right && end > at && is_white_space(g_utf8_get_char(g_utf8_prev_char(end))))
        end = g_utf8_prev_char(end);
    while (step->left && at < end && is_white_space(g_utf8_get_char(at)))
        at = g_utf8_next_char(at);
    *starts_text = *starts_text && at == text->str;
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

/* Applies a step; takes `text`. NULL, with an error, if a regular expression exceeds its limits. */
static GString *run_step(const Step *step, GString *text, bool *starts_text, GError **error)
{
    GString *out = text;
    GError *wrong = NULL;
    if (step->type == STEP_MAP)
        charsmap_apply(&step->map, text->str, text->len, out = g_string_sized_new(text->len + text->len / 8 + 16));
    else if (text->len == 0)
        return text; /* no pattern matches empty text, not even "\z" */
    else if (step->type == STEP_REPLACE)
        out = replaced(step, text, &wrong);
    else if (step->type == STEP_STRIP)
        strip(step, text, starts_text);
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
            stop = memmem(at + 1, (size_t)(end - at - 1), SP_SPACE, SPACE_BYTES);
        stop = stop ? stop : end;
        words->fn(words->context, at, (size_t)(stop - at));
        at = stop;
    }
}

/* Metaspace: spaces become SP_SPACE, and by the scheme one is put before a word that does not start with one. */
static void put_word(const Words *words, const char *at, const char *end, bool starts_text)
{
    const UnigramText *plan = words->plan;
    if (!plan->escapes) {
        each_spaced(words, at, end);
        return;
    }
    bool has_space = *at == ' ' || ((size_t)(end - at) >= SPACE_BYTES && memcmp(at, SP_SPACE, SPACE_BYTES) == 0);
    bool prefix = plan->scheme == PREPEND_ALWAYS || (plan->scheme == PREPEND_FIRST && starts_text);
    g_string_assign(words->spaced, prefix && !has_space ? SP_SPACE : "");
    for (const char *space; (space = memchr(at, ' ', (size_t)(end - at))); at = space + 1) {
        g_string_append_len(words->spaced, at, space - at);
        g_string_append_len(words->spaced, SP_SPACE, SPACE_BYTES);
    }
    g_string_append_len(words->spaced, at, end - at);
    each_spaced(words, words->spaced->str, words->spaced->str + words->spaced->len);
}

static void each_word(const Words *words, const char *text, size_t bytes, bool starts_text)
{
    const char *at = text, *end = text + bytes, *stop;
    if (!words->plan->splits_white_space) {
        if (bytes > 0)
            put_word(words, text, end, starts_text);
        return;
    }
    for (; at < end; at = stop) {
        for (stop = at; stop < end && !is_white_space(g_utf8_get_char(stop));)
            stop = g_utf8_next_char(stop);
        if (stop > at)
            put_word(words, at, stop, starts_text && at == text);
        else
            stop = g_utf8_next_char(at);
    }
}

bool unigram_text_each(const UnigramText *plan, const char *text, size_t bytes, bool starts_text,
                       void (*fn)(void *context, const char *word, size_t bytes), void *context, GError **error)
{
    GString *normal = g_string_new_len(text, (gssize)bytes);
    for (guint i = 0; normal && i < plan->steps->len; i++)
        normal = run_step(&g_array_index(plan->steps, Step, i), normal, &starts_text, error);
    if (normal == NULL)
        return false;
    Words words = { plan, g_string_new(NULL), fn, context };
    each_word(&words, normal->str, normal->len, starts_text);
    g_string_free(words.spaced, TRUE);
    g_string_free(normal, TRUE);
    return true;
}
