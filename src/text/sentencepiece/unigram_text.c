#include "text/sentencepiece/unigram_text.h"

#include "text/offset_map.h"
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
        return fail_user(
            error,
            "Unigram with the pre-tokenizer %s%s; loam reads Metaspace, with or without WhitespaceSplit before it",
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

/* A text and its offset map, which is NULL if it is not wanted. */
typedef struct Mapped {
    GString *text;
    GArray *map;
} Mapped;

static Mapped mapped_new(size_t bytes, bool with_map)
{
    return (Mapped){ g_string_sized_new(bytes + bytes / 4 + 16), with_map ? offset_map_new() : NULL };
}

static void mapped_clear(Mapped *mapped)
{
    if (mapped->text)
        g_string_free(mapped->text, TRUE);
    g_clear_pointer(&mapped->map, g_array_unref);
    mapped->text = NULL;
}

/* Appends n bytes that stand for bytes [begin, end) of `from`. */
static void put(Mapped *out, const Mapped *from, const char *bytes, size_t n, size_t begin, size_t end)
{
    g_string_append_len(out->text, bytes, (gssize)n);
    for (size_t i = 1; out->map && i <= n; i++) {
        const uint32_t at = offset_map_at(from->map, n == end - begin ? begin + i : end);
        g_array_append_val(out->map, at);
    }
}

static void put_same(Mapped *out, const Mapped *from, size_t begin, size_t end)
{
    put(out, from, from->text->str + begin, end - begin, begin, end);
}

/* charsmap_apply, with a map. */
static void apply_map(const Step *step, const Mapped *from, Mapped *out)
{
    const GString *text = from->text;
    if (!out->map) {
        charsmap_apply(&step->map, text->str, text->len, out->text);
        return;
    }
    for (size_t at = 0, n; at < text->len; at += n) {
        const char *normal = charsmap_find(&step->map, text->str + at, text->len - at, &n);
        if (normal) {
            put(out, from, normal, strlen(normal), at + n, at + n);
        } else {
            n = MIN((size_t)g_utf8_skip[(unsigned char)text->str[at]], text->len - at);
            put_same(out, from, at, at + n);
        }
    }
}

/* Sets *starts_text to false if the start of the text is stripped. */
static void strip(const Step *step, const Mapped *from, Mapped *out, bool *starts_text)
{
    const char *at = from->text->str, *end = at + from->text->len;
    while (step->right && end > at && is_white_space(g_utf8_get_char(g_utf8_prev_char(end))))
        end = g_utf8_prev_char(end);
    while (step->left && at < end && is_white_space(g_utf8_get_char(at)))
        at = g_utf8_next_char(at);
    *starts_text = *starts_text && at == from->text->str;
    put_same(out, from, (size_t)(at - from->text->str), (size_t)(end - from->text->str));
}

typedef struct Replacing {
    const Step *step;
    const Mapped *from;
    Mapped *out;
    size_t done; /* bytes of `from` */
} Replacing;

static gboolean replace_match(const GMatchInfo *match, G_GNUC_UNUSED GString *unused, gpointer opaque)
{
    Replacing *replacing = opaque;
    const char *content = replacing->step->content;
    int begin, end;
    g_match_info_fetch_pos(match, 0, &begin, &end);
    put_same(replacing->out, replacing->from, replacing->done, (size_t)begin);
    put(replacing->out, replacing->from, content, strlen(content), (size_t)end, (size_t)end);
    replacing->done = (size_t)end;
    return FALSE;
}

static bool replace(const Step *step, const Mapped *from, Mapped *out, GError **error)
{
    const GString *text = from->text;
    Replacing replacing = { step, from, out, 0 };
    g_autoptr(GError) wrong = NULL;
    if (step->regex) {
        g_free(
            g_regex_replace_eval(step->regex, text->str, (gssize)text->len, 0, 0, replace_match, &replacing, &wrong));
        if (wrong)
            return fail_user(error, "normalizing: %s", wrong->message);
    }
    size_t n = step->regex ? 0 : strlen(step->literal);
    const char *found = text->str;
    for (; !step->regex && (found = memmem(found, text->len - replacing.done, step->literal, n)); found += n) {
        size_t begin = (size_t)(found - text->str);
        put_same(out, from, replacing.done, begin);
        replacing.done = begin + n;
        put(out, from, step->content, strlen(step->content), replacing.done, replacing.done);
    }
    put_same(out, from, replacing.done, text->len);
    return true;
}

/* Applies a step. False, with an error, if a regular expression exceeds its limits. */
static bool run_step(const Step *step, Mapped *text, bool *starts_text, GError **error)
{
    if (step->type != STEP_MAP && text->text->len == 0)
        return true; /* no pattern matches empty text, not even "\z" */
    Mapped out = mapped_new(text->text->len, text->map);
    bool good = true;
    if (step->type == STEP_MAP) {
        apply_map(step, text, &out);
    } else if (step->type == STEP_REPLACE) {
        good = replace(step, text, &out, error);
    } else if (step->type == STEP_STRIP) {
        strip(step, text, &out, starts_text);
    } else {
        put(&out, text, step->content, strlen(step->content), 0, 0);
        put_same(&out, text, 0, text->text->len);
    }
    mapped_clear(text);
    *text = out;
    return good;
}

char *unigram_text_map(const UnigramText *plan, const char *text, size_t bytes)
{
    Mapped out = { g_string_new_len(text, (gssize)bytes), NULL };
    for (guint i = 0; i < plan->steps->len; i++)
        if (g_array_index(plan->steps, Step, i).type == STEP_MAP)
            run_step(&g_array_index(plan->steps, Step, i), &out, &(bool){ true }, NULL);
    return g_string_free(out.text, FALSE);
}

/* ---- the pre_tokenizer ---- */

typedef struct Words {
    const UnigramText *plan;
    Mapped normal, spaced; /* normalized text; the words as pieces spell them, `spaced.map` those of all words so far */
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
static void put_word(Words *words, size_t begin, size_t end, bool starts_text)
{
    const UnigramText *plan = words->plan;
    const char *text = words->normal.text->str;
    bool has_space =
        text[begin] == ' ' || (end - begin >= SPACE_BYTES && memcmp(text + begin, SP_SPACE, SPACE_BYTES) == 0);
    bool prefix = plan->scheme == PREPEND_ALWAYS || (plan->scheme == PREPEND_FIRST && starts_text);
    g_string_truncate(words->spaced.text, 0);
    if (plan->escapes && prefix && !has_space)
        put(&words->spaced, &words->normal, SP_SPACE, SPACE_BYTES, begin, begin);
    for (const char *space; plan->escapes && (space = memchr(text + begin, ' ', end - begin));) {
        size_t at = (size_t)(space - text);
        put_same(&words->spaced, &words->normal, begin, at);
        put(&words->spaced, &words->normal, SP_SPACE, SPACE_BYTES, at + 1, at + 1);
        begin = at + 1;
    }
    put_same(&words->spaced, &words->normal, begin, end);
    each_spaced(words, words->spaced.text->str, words->spaced.text->str + words->spaced.text->len);
}

static void each_word(Words *words, bool starts_text)
{
    const char *text = words->normal.text->str, *at = text, *end = text + words->normal.text->len, *stop;
    if (!words->plan->splits_white_space) {
        if (at < end)
            put_word(words, 0, words->normal.text->len, starts_text);
        return;
    }
    for (; at < end; at = stop) {
        for (stop = at; stop < end && !is_white_space(g_utf8_get_char(stop));)
            stop = g_utf8_next_char(stop);
        if (stop > at)
            put_word(words, (size_t)(at - text), (size_t)(stop - text), starts_text && at == text);
        else
            stop = g_utf8_next_char(at);
    }
}

bool unigram_text_each(const UnigramText *plan, const char *text, size_t bytes, bool starts_text,
                       void (*fn)(void *context, const char *word, size_t bytes), void *context, GArray **map,
                       GError **error)
{
    Words words = { plan, mapped_new(0, map), mapped_new(bytes, map), fn, context };
    g_string_append_len(words.normal.text, text, (gssize)bytes);
    if (map)
        offset_map_add(words.normal.map, bytes, 0, bytes);
    bool good = true;
    for (guint i = 0; good && i < plan->steps->len; i++)
        good = run_step(&g_array_index(plan->steps, Step, i), &words.normal, &starts_text, error);
    if (good)
        each_word(&words, starts_text);
    if (map)
        *map = g_steal_pointer(&words.spaced.map);
    mapped_clear(&words.normal);
    mapped_clear(&words.spaced);
    return good;
}
