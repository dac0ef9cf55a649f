#include "text/pattern.h"

#include "text/unicode.h"

#include <string.h>

/* \w as Oniguruma defines it: Alphabetic (the symbols among them are letters in circles and squares), M, Nd and Pc;
 * outside of [ ] also the other numbers of Latin-1. In PCRE2 it lacks marks and has all numbers. */
#define WORD_SYMBOLS    "\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"
#define WORD_CHARACTERS "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}" WORD_SYMBOLS
#define WORD_NUMBERS    "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"
#define WORD            "[" WORD_CHARACTERS WORD_NUMBERS "]"

/* Escapes and POSIX brackets that PCRE2 spells otherwise; those that it reads alike are in the lists below. */
static const struct {
    const char *name, *outside, *inside; /* outside of [ ], inside; NULL means that it is refused there */
} spellings[] = {
    { "\\w", WORD, WORD_CHARACTERS },
    { "\\W", "[^" WORD_CHARACTERS WORD_NUMBERS "]", NULL },
    { "\\h", "[0-9a-fA-F]", "0-9a-fA-F" },
    { "\\H", "[^0-9a-fA-F]", NULL },
    { "\\v", "\\x0b", "\\x0b" },
    { "\\b", "(?:(?<=" WORD ")(?!" WORD ")|(?<!" WORD ")(?=" WORD "))", "\\b" },
    { "\\B", "(?:(?<=" WORD ")(?=" WORD ")|(?<!" WORD ")(?!" WORD "))", NULL },
    { "[:word:]", NULL, WORD_CHARACTERS },
    { "[:alpha:]", NULL, "\\p{Alphabetic}" },
    { "[:alnum:]", NULL, "\\p{Alphabetic}\\p{Nd}" },
    { "[:upper:]", NULL, "\\p{Uppercase}" },
    { "[:lower:]", NULL, "\\p{Lowercase}" },
    { "[:punct:]", NULL, "\\p{P}\\p{S}" },
};
static const char same_outside[] = "dDsSpPAzZRNtnrfeax", same_inside[] = "dDsSpPtnrfeax";
static const char hex_digits[] = "0123456789abcdefABCDEF";
static const char *const same_brackets[] = { "[:digit:]", "[:space:]", "[:xdigit:]", "[:blank:]", "[:cntrl:]", NULL };
/* What may follow "(?" besides options. */
static const char *const same_groups[] = { ":", "=", "!", ">", "<=", "<!", NULL };
/* Two letters that without regard to case match one character in Oniguruma, as "ss" does "ß". */
static const char *const folded_pairs[] = { "ss", "ff", "fi", "fl", "st", NULL };

typedef struct Group {
    gsize start; /* where it starts in the spelling */
    bool caseless;
} Group;

typedef struct Speller {
    const char *pattern, *at;
    GString *out;
    GArray *groups; /* Group: the whole pattern, and those that are open */
    gsize atom;     /* where the last atom starts in the spelling, which a quantifier repeats */
} Speller;

static bool *caseless(const Speller *to)
{
    return &g_array_index(to->groups, Group, to->groups->len - 1).caseless;
}

static bool refuse(const Speller *to, gsize bytes, GError **error)
{
    return fail_user(error, "its pattern %s has %.*s, which loam cannot read", to->pattern,
                     (int)MIN(bytes, strlen(to->at)), to->at);
}

static void copy(Speller *to, gsize bytes)
{
    g_string_append_len(to->out, to->at, (gssize)bytes);
    to->at += bytes;
}

/* Bytes of the \p{NAME} or \P{NAME} at `at` if NAME is a script, such as Han; 0 for other properties, and in versions
 * of PCRE2 that do not distinguish scripts from script extensions. */
static gsize script_bytes(const char *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const gsize name = strspn(at + 3, letters);
    if (name == 0 || at[3 + name] != '}')
        return 0;
    g_autofree char *script = g_strdup_printf("\\p{sc:%.*s}", (int)name, at + 3);
    int number;
    size_t offset;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)script, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &number, &offset, NULL);
    pcre2_code_free(code);
    return code ? name + 4 : 0;
}

/* Spells \p{…}: a script, \p{Han}, has only the characters of this script, to which PCRE2 adds those that it shares
 * with other scripts. */
static bool spell_property(Speller *to, bool inside, GError **error)
{
    const char *end = strchr(to->at, '}');
    if (to->at[2] != '{' || end == NULL || (inside && *caseless(to)))
        return refuse(to, end ? (gsize)(end + 1 - to->at) : 3, error);
    const gsize script = script_bytes(to->at);
    if (script > 0)
        g_string_append_printf(to->out, "\\%c{sc:%.*s}", to->at[1], (int)script - 4, to->at + 3);
    else
        g_string_append_len(to->out, to->at, end + 1 - to->at);
    to->at = end + 1;
    return true;
}

/* Spells the escape or POSIX bracket at to->at, `bytes` long, by the tables. */
static bool spell_name(Speller *to, gsize bytes, bool inside, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(spellings); i++) {
        const char *text = inside ? spellings[i].inside : spellings[i].outside;
        if (strlen(spellings[i].name) != bytes || strncmp(spellings[i].name, to->at, bytes) != 0)
            continue;
        if (text == NULL || (*caseless(to) && strstr(text, "case}"))) /* Oniguruma's have the other case, too */
            break;
        g_string_append(to->out, text);
        to->at += bytes;
        return true;
    }
    return refuse(to, bytes, error);
}

/* Bytes of the number of \x41 or \x{41} behind its "\x". */
static gsize hex_bytes(const char *at)
{
    const gsize braced = *at == '{' ? strspn(at + 1, hex_digits) : 0;
    return braced > 0 && at[1 + braced] == '}' ? braced + 2 : MIN(strspn(at, hex_digits), 2);
}

static bool spell_escape(Speller *to, bool inside, GError **error)
{
    const char c = to->at[1];
    if (c == 'p' || c == 'P')
        return spell_property(to, inside, error);
    if (c == 'u' && strspn(to->at + 2, hex_digits) >= 4) {
        g_string_append_printf(to->out, "\\x{%.4s}", to->at + 2);
        to->at += 6;
        return true;
    }
    if (g_ascii_isalpha(c) && strchr(inside ? same_inside : same_outside, c) == NULL)
        return spell_name(to, 2, inside, error);
    copy(to, c ? 1U + (gsize)g_utf8_skip[(unsigned char)c] : 1); /* PCRE2 says what a last "\" lacks */
    copy(to, c == 'x' ? hex_bytes(to->at) : 0);
    return true;
}

/* Bytes of a class [ ] up to its end. */
static gsize class_bytes(const char *at)
{
    const char *p = at + 1;
    p += *p == '^';
    p += *p == ']';
    for (; *p && *p != ']'; p++) {
        const char *posix = g_str_has_prefix(p, "[:") ? strstr(p, ":]") : NULL;
        p = posix ? posix + 1 : p + (*p == '\\' && p[1]);
    }
    return (gsize)(p - at) + (*p == ']');
}

/* Spells what is in a class, up to `end`. Sets *not_word if it has \W, which is left out. */
static bool spell_members(Speller *to, const char *end, bool *not_word, GError **error)
{
    while (to->at < end) {
        const char *posix = g_str_has_prefix(to->at, "[:") ? strstr(to->at, ":]") : NULL;
        const gsize bytes = posix ? (gsize)(posix + 2 - to->at) : 1;
        g_autofree char *bracket = g_strndup(to->at, bytes);
        if (g_str_has_prefix(to->at, "\\W")) {
            *not_word = true;
            to->at += 2;
        } else if (*to->at == '\\') {
            if (!spell_escape(to, true, error))
                return false;
        } else if (g_str_has_prefix(to->at, "&&") || (*to->at == '[' && posix == NULL)) {
            return refuse(to, 2, error);
        } else if (posix && !g_strv_contains(same_brackets, bracket)) {
            if (!spell_name(to, bytes, true, error))
                return false;
        } else {
            copy(to, bytes);
        }
    }
    return true;
}

/* Spells a class. PCRE2's \W is another, and has no spelling inside of [ ]: it becomes a class of its own. */
static bool spell_class(Speller *to, GError **error)
{
    const char *end = to->at + class_bytes(to->at);
    if (end[-1] != ']')
        return refuse(to, 1, error);
    const bool negated = to->at[1] == '^';
    const gsize start = to->out->len;
    bool not_word = false;
    copy(to, 1U + negated);
    const gsize members = to->out->len;
    if (*to->at == ']')
        copy(to, 1);
    if (!spell_members(to, end - 1, &not_word, error))
        return false;
    copy(to, 1);
    if (!not_word)
        return true;
    if (to->out->len == members + 1) { /* nothing but \W */
        g_string_truncate(to->out, start);
        g_string_append(to->out, negated ? "[" WORD_CHARACTERS "]" : "[^" WORD_CHARACTERS "]");
        return true;
    }
    g_string_insert(to->out, (gssize)start, negated ? "(?:(?=[" WORD_CHARACTERS "])" : "(?:[^" WORD_CHARACTERS "]|");
    g_string_append_c(to->out, ')');
    return true;
}

/* Options, (?i) at the start of the pattern or (?i:…) anywhere; Ruby's m is PCRE2's s. */
static bool spell_options(Speller *to, GError **error)
{
    const char *from = to->at + 2;
    const gsize n = strspn(from, "im-");
    const char after = from[n];
    const bool whole = after == ')' && to->out->len == 0;
    if (n == 0 || (after != ':' && !whole))
        return refuse(to, 3, error);
    bool on = true;
    Group group = { to->out->len, *caseless(to) };
    g_string_append(to->out, "(?");
    for (gsize i = 0; i < n; i++) {
        on = on && from[i] != '-';
        group.caseless = from[i] == 'i' ? on : group.caseless;
        g_string_append_c(to->out, from[i] == 'm' ? 's' : from[i]);
    }
    to->at = from + n;
    copy(to, 1);
    if (whole)
        *caseless(to) = group.caseless;
    else
        g_array_append_val(to->groups, group);
    return true;
}

static bool spell_group(Speller *to, GError **error)
{
    const Group group = { to->out->len, *caseless(to) };
    gsize bytes = to->at[1] == '?' ? 0 : 1;
    for (const char *const *kind = same_groups; bytes == 0 && *kind; kind++)
        if (g_str_has_prefix(to->at + 2, *kind))
            bytes = 2 + strlen(*kind);
    if (bytes == 0)
        return spell_options(to, error);
    if (to->at[1] == '*')
        return refuse(to, 2, error);
    copy(to, bytes);
    g_array_append_val(to->groups, group);
    return true;
}

/* {n,m}: what follows it is another quantifier in Ruby, so that "{1,3}+" repeats; {,m} is {0,m}. */
static bool spell_interval(Speller *to)
{
    const gsize low = strspn(to->at + 1, "0123456789"), comma = to->at[1 + low] == ',';
    const gsize high = comma ? strspn(to->at + 2 + low, "0123456789") : 0, bytes = low + comma + high + 2;
    if (low + high == 0 || to->at[bytes - 1] != '}')
        return false;
    g_string_append(to->out, low > 0 ? "{" : "{0");
    to->at++;
    copy(to, bytes - 1);
    if (*to->at == '+' || (*to->at == '?' && !comma)) {
        g_string_insert(to->out, (gssize)to->atom, "(?:");
        g_string_append_c(to->out, ')');
    }
    return true;
}

/* One character that stands for itself, or a sign such as "|". */
static bool spell_char(Speller *to, GError **error)
{
    for (const char *const *pair = folded_pairs; *caseless(to) && *pair; pair++)
        if (g_ascii_strncasecmp(to->at, *pair, 2) == 0)
            return refuse(to, 2, error);
    if (strchr("*+?", *to->at) == NULL)
        to->atom = to->out->len;
    copy(to, (gsize)g_utf8_skip[(unsigned char)*to->at]);
    return true;
}

static bool spell_next(Speller *to, GError **error)
{
    const gsize start = to->out->len;
    if (*to->at == '{' && spell_interval(to))
        return true;
    if (*to->at == '(')
        return spell_group(to, error);
    if (*to->at == ')' && to->groups->len > 1) {
        to->atom = g_array_index(to->groups, Group, to->groups->len - 1).start;
        g_array_set_size(to->groups, to->groups->len - 1);
        copy(to, 1);
        return true;
    }
    if (*to->at != '\\' && *to->at != '[')
        return spell_char(to, error);
    to->atom = start;
    return *to->at == '[' ? spell_class(to, error) : spell_escape(to, false, error);
}

/* The pattern spelled for PCRE2, with the meaning that it has in Hugging Face's tokenizers; NULL with an error. */
static char *spell(const char *pattern, GError **error)
{
    g_autoptr(GArray) groups = g_array_new(FALSE, TRUE, sizeof(Group));
    g_array_set_size(groups, 1);
    Speller to = { pattern, pattern, g_string_new(NULL), groups, 0 };
    bool good = true;
    while (good && *to.at)
        good = spell_next(&to, error);
    return g_string_free(to.out, !good);
}

pcre2_code *pattern_open(const char *pattern, GError **error)
{
    g_autofree char *spelled = spell(pattern, error);
    int number;
    size_t offset;
    char text[128];
    if (spelled == NULL)
        return NULL;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)spelled, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &number, &offset, NULL);
    if (code == NULL) {
        pcre2_get_error_message(number, (PCRE2_UCHAR *)text, sizeof text);
        return fail_user(error, "its pattern %s is wrong at %zu: %s", spelled, offset, text);
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* optional: without it matching is slower */
    return code;
}

/* ---- matching ---- */

#define PAGE_BITS 8

/* By page: whether it holds a character that PCRE2 may not know. */
static const bool *newer_pages(void)
{
    static bool pages[0x110000 >> PAGE_BITS];
    static gsize filled;
    if (g_once_init_enter(&filled)) {
        for (gunichar c = 0; c < 0x110000; c++)
            pages[c >> PAGE_BITS] |= unicode_known(c) != c;
        g_once_init_leave(&filled, 1);
    }
    return pages;
}

const char *pattern_text(GString *room, const char *text, size_t bytes)
{
    const bool *pages = newer_pages();
    bool copied = false;
    for (const char *at = text, *end = text + bytes; at < end; at = g_utf8_next_char(at)) {
        gunichar c = (uint8_t)*at < 0xe0 ? 0 : g_utf8_get_char(at);
        if (!pages[c >> PAGE_BITS] || unicode_known(c) == c)
            continue;
        if (!copied)
            g_string_append_len(g_string_truncate(room, 0), text, (gssize)bytes);
        g_unichar_to_utf8(unicode_known(c), room->str + (at - text));
        copied = true;
    }
    return copied ? room->str : text;
}

int pattern_match(const pcre2_code *code, const char *text, size_t bytes, size_t from, pcre2_match_data *match)
{
    return pcre2_match(code, (PCRE2_SPTR)text, bytes, from, PCRE2_NO_UTF_CHECK, match, NULL);
}
