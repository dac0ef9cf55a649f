/* normalizer.c: reads and applies the normalizer of a tokenizer.json. */
#include "text/normalizer.h"

#include "text/charsmap.h"
#include "text/pattern.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

#include <string.h>

enum { STEP_MAP, STEP_FORM, STEP_LOWER, STEP_ACCENTS, STEP_REPLACE, STEP_STRIP, STEP_PREPEND }; /* types of steps */

typedef struct Step {
    int type;
    CharsMap map;
    GNormalizeMode form; /* STEP_FORM */
    char *literal;       /* STEP_REPLACE: the text to replace; NULL means matches of `regex` */
    pcre2_code *regex;
    char *content;    /* STEP_REPLACE: the replacement; STEP_PREPEND: the prefix */
    bool left, right; /* STEP_STRIP: the ends to strip */
} Step;

struct Normalizer {
    GArray *steps; /* Step */
};

static void clear_step(void *opaque)
{
    Step *step = opaque;
    charsmap_clear(&step->map);
    g_free(step->literal);
    g_free(step->content);
    pcre2_code_free(step->regex);
}

void normalizer_close(Normalizer *plan)
{
    if (plan == NULL)
        return;
    g_array_unref(plan->steps);
    g_free(plan);
}

/* ---- reading ---- */

/* Types that have no settings. */
static const struct {
    const char *type;
    Step step;
} plain[] = {
    { "NFC", { .type = STEP_FORM, .form = G_NORMALIZE_NFC } },
    { "NFD", { .type = STEP_FORM, .form = G_NORMALIZE_NFD } },
    { "NFKC", { .type = STEP_FORM, .form = G_NORMALIZE_NFKC } },
    { "NFKD", { .type = STEP_FORM, .form = G_NORMALIZE_NFKD } },
    { "Lowercase", { .type = STEP_LOWER } },
    { "StripAccents", { .type = STEP_ACCENTS } },
};

static bool read_char_map(const json_t *part, Step *step, GError **error)
{
    gsize bytes = 0;
    const char *base64 = json_text(part, "precompiled_charsmap");
    g_autofree guchar *map = *base64 ? g_base64_decode(base64, &bytes) : NULL;
    if (!charsmap_is_valid((const char *)map, bytes))
        return fail_user(error, "its character map is damaged");
    charsmap_init(&step->map, (const char *)map, bytes);
    return true;
}

static bool read_replace(const json_t *part, Step *step, GError **error)
{
    json_t *pattern = json_object_get(part, "pattern");
    const char *literal = json_text(pattern, "String"), *regex = json_text(pattern, "Regex");
    step->type = STEP_REPLACE;
    step->content = g_strdup(json_text(part, "content"));
    if (*literal)
        step->literal = g_strdup(literal);
    else if (*regex)
        return (step->regex = pattern_open(regex, error)) || fail_context(error, "its normalizer's Replace");
    return *literal || fail_user(error, "its normalizer replaces \"\", which is no pattern");
}

static bool read_plain(const char *type, Step *step, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(plain); i++)
        if (strcmp(plain[i].type, type) == 0) {
            *step = plain[i].step;
            return true;
        }
    return fail_user(error,
                     "its normalizer is %s: loam reads Precompiled, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, "
                     "Replace, Strip, Prepend",
                     *type ? type : "null");
}

static bool read_step(json_t *part, Normalizer *plan, GError **error)
{
    const char *type = json_text(part, "type");
    Step step = { .type = STEP_MAP };
    bool ok = true;
    if (strcmp(type, "Precompiled") == 0)
        ok = read_char_map(part, &step, error);
    else if (strcmp(type, "Replace") == 0)
        ok = read_replace(part, &step, error);
    else if (strcmp(type, "Strip") == 0)
        step = (Step){ .type = STEP_STRIP,
                       .left = json_is_true(json_object_get(part, "strip_left")),
                       .right = json_is_true(json_object_get(part, "strip_right")) };
    else if (strcmp(type, "Prepend") == 0)
        step = (Step){ .type = STEP_PREPEND, .content = g_strdup(json_text(part, "prepend")) };
    else if (!read_plain(type, &step, error))
        return false;
    g_array_append_val(plan->steps, step);
    return ok;
}

Normalizer *normalizer_open(json_t *part, GError **error)
{
    json_auto_t *steps = tokenizer_json_steps(part, "normalizers");
    Normalizer *plan = g_new0(Normalizer, 1);
    plan->steps = g_array_new(FALSE, FALSE, sizeof(Step));
    g_array_set_clear_func(plan->steps, clear_step);
    for (size_t i = 0; plan && i < json_array_size(steps); i++)
        if (!read_step(json_array_get(steps, i), plan, error))
            g_clear_pointer(&plan, normalizer_close);
    return plan;
}

bool normalizer_is_empty(const Normalizer *plan)
{
    return plan == NULL || plan->steps->len == 0;
}

bool normalizer_prefixes(const Normalizer *plan)
{
    bool prefixes = false;
    for (guint i = 0; i < plan->steps->len; i++)
        prefixes |= g_array_index(plan->steps, Step, i).type == STEP_PREPEND;
    return prefixes;
}

/* ---- applying ---- */

/* Whether text can be normalized separately before and after the start of this character, because it neither composes
 * with the character before it nor is reordered. */
static bool starts_anew(gunichar c)
{
    return g_unichar_combining_class(c) == 0 && !g_unichar_ismark(c) && !(c >= 0x1160 && c <= 0x11ff);
}

/* Puts the text in one of Unicode's normal forms (NFC, …). */
static void apply_form(const Step *step, const MappedText *from, MappedText *out)
{
    const char *start = from->text->str, *at = start, *end = start + from->text->len;
    if (!out->map) {
        g_autofree char *whole = g_utf8_normalize(start, end - start, step->form);
        g_string_append(out->text, whole);
        return;
    }
    for (const char *stop; at < end; at = stop) {
        for (stop = g_utf8_next_char(at); stop < end && !starts_anew(g_utf8_get_char(stop));)
            stop = g_utf8_next_char(stop);
        g_autofree char *part = g_utf8_normalize(at, stop - at, step->form);
        const size_t n = strlen(part);
        const bool same = n == (size_t)(stop - at) && memcmp(part, at, n) == 0;
        mapped_text_put(out, from, part, n, (size_t)((same ? at : stop) - start), (size_t)(stop - start));
    }
}

/* Changes each character by itself: to lower case, or away if it is a combining mark. */
static void apply_chars(const Step *step, const MappedText *from, MappedText *out)
{
    const char *start = from->text->str, *at = start, *end = start + from->text->len;
    for (const char *next; at < end; at = next) {
        gunichar c = g_utf8_get_char(at);
        char small[12];
        next = g_utf8_next_char(at);
        int n = (int)(next - at);
        memcpy(small, at, (size_t)n);
        if (step->type == STEP_ACCENTS && g_unichar_ismark(unicode_known(c)))
            n = 0;
        else if (step->type == STEP_LOWER)
            n = g_unichar_to_utf8(unicode_lower(c), small);
        if (step->type == STEP_LOWER && c == 0x130) /* capital I with a dot becomes i and a combining dot */
            n = (int)(g_stpcpy(small, "i\xcc\x87") - small);
        mapped_text_put(out, from, small, (size_t)n, (size_t)(at - start), (size_t)(next - start));
    }
}

/* charsmap_apply, with a map. */
static void apply_map(const Step *step, const MappedText *from, MappedText *out)
{
    const GString *text = from->text;
    if (!out->map) {
        charsmap_apply(&step->map, text->str, text->len, out->text);
        return;
    }
    for (size_t at = 0, n; at < text->len; at += n) {
        const char *normal = charsmap_find(&step->map, text->str + at, text->len - at, &n);
        if (normal) {
            mapped_text_put(out, from, normal, strlen(normal), at + n, at + n);
        } else {
            n = MIN((size_t)g_utf8_skip[(unsigned char)text->str[at]], text->len - at);
            mapped_text_keep(out, from, at, at + n);
        }
    }
}

/* Sets *starts_text to false if the start of the text is stripped. */
static void strip(const Step *step, const MappedText *from, MappedText *out, bool *starts_text)
{
    const char *at = from->text->str, *end = at + from->text->len;
    while (step->right && end > at && is_white_space(g_utf8_get_char(g_utf8_prev_char(end))))
        end = g_utf8_prev_char(end);
    while (step->left && at < end && is_white_space(g_utf8_get_char(at)))
        at = g_utf8_next_char(at);
    *starts_text = *starts_text && at == from->text->str;
    mapped_text_keep(out, from, (size_t)(at - from->text->str), (size_t)(end - from->text->str));
}

/* Replaces bytes [at, end) of `from`; those before `done` are already in `out`. */
static void put_match(const Step *step, const MappedText *from, MappedText *out, size_t done, size_t at, size_t end)
{
    mapped_text_keep(out, from, done, at);
    mapped_text_put(out, from, step->content, strlen(step->content), end, end);
}

static bool replace_matches(const Step *step, const MappedText *from, MappedText *out, GError **error)
{
    const GString *text = from->text;
    g_autoptr(GString) room = g_string_new(NULL);
    const char *known = pattern_text(room, text->str, text->len);
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(step->regex, NULL);
    const size_t *bounds = pcre2_get_ovector_pointer(match);
    size_t done = 0;
    int found = 1;
    for (size_t at = 0; at <= text->len;) {
        if ((found = pattern_match(step->regex, known, text->len, at, match)) <= 0)
            break;
        const size_t begin = bounds[0], end = bounds[1];
        if (begin < end || end > done || at == 0) { /* no empty match right behind another */
            put_match(step, from, out, done, begin, end);
            done = end;
        }
        at = end > at ? end : (size_t)(g_utf8_next_char(text->str + at) - text->str);
    }
    pcre2_match_data_free(match);
    mapped_text_keep(out, from, done, text->len);
    return found > 0 || found == PCRE2_ERROR_NOMATCH ||
           fail_user(error, "the normalizer's pattern gave up on this text");
}

static bool replace(const Step *step, const MappedText *from, MappedText *out, GError **error)
{
    const GString *text = from->text;
    const char *found = text->str;
    size_t done = 0;
    if (step->regex)
        return replace_matches(step, from, out, error);
    const size_t n = strlen(step->literal);
    for (; (found = memmem(found, text->len - done, step->literal, n)); found += n) {
        const size_t begin = (size_t)(found - text->str);
        put_match(step, from, out, done, begin, begin + n);
        done = begin + n;
    }
    mapped_text_keep(out, from, done, text->len);
    return true;
}

/* Applies a step. False, with an error, if a regular expression exceeds its limits, or a map makes what is no text. */
static bool normalize_step(const Step *step, MappedText *text, bool *starts_text, GError **error)
{
    if (step->type != STEP_MAP && text->text->len == 0)
        return true; /* no pattern matches empty text, not even "\z" */
    MappedText out = mapped_text_new(text->text->len, text->map != NULL);
    bool good = true;
    if (step->type == STEP_MAP) {
        apply_map(step, text, &out);
        good = g_utf8_validate_len(out.text->str, out.text->len, NULL) ||
               fail_user(error, "the normalizer's precompiled_charsmap cuts characters of this text");
    } else if (step->type == STEP_FORM) {
        apply_form(step, text, &out);
    } else if (step->type == STEP_LOWER || step->type == STEP_ACCENTS) {
        apply_chars(step, text, &out);
    } else if (step->type == STEP_REPLACE) {
        good = replace(step, text, &out, error);
    } else if (step->type == STEP_STRIP) {
        strip(step, text, &out, starts_text);
    } else {
        mapped_text_put(&out, text, step->content, strlen(step->content), 0, 0);
        mapped_text_keep(&out, text, 0, text->text->len);
    }
    mapped_text_clear(text);
    *text = out;
    return good;
}

bool normalizer_apply(const Normalizer *plan, MappedText *text, bool *starts_text, GError **error)
{
    bool good = true;
    for (guint i = 0; plan && good && i < plan->steps->len; i++)
        good = normalize_step(&g_array_index(plan->steps, Step, i), text, starts_text, error);
    return good;
}
