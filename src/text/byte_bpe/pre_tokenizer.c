#include "text/byte_bpe/model.h"

#include "text/unicode.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define TABLED 0x30000 /* characters below this have a table entry; higher ones are rare */

#define PAGE_BITS 8

enum { OTHER, LETTER, NUMBER, SPACE };

struct PreTokenizer {
    bool gpt2;
    int n_patterns;
    uint32_t matches_only;
    pcre2_code *patterns[PRE_TOKENIZER_PATTERNS];
};

struct PreTokenizerScratch {
    pcre2_match_data *matches[PRE_TOKENIZER_PATTERNS];
    GString *known; /* the text with characters replaced that PCRE2 does not know */
};

static uint8_t class_table[TABLED];
static bool newer_pages[0x110000 >> PAGE_BITS]; /* whether a page holds a character that PCRE2 may not know */

/* \p{L}, \p{N} and \s as Hugging Face's tokenizers define them; \s is Unicode's White_Space. */
static uint8_t find_class(gunichar c)
{
    if (is_white_space(c))
        return SPACE;
    switch (unicode_type(c)) {
    case G_UNICODE_UPPERCASE_LETTER:
    case G_UNICODE_LOWERCASE_LETTER:
    case G_UNICODE_TITLECASE_LETTER:
    case G_UNICODE_MODIFIER_LETTER:
    case G_UNICODE_OTHER_LETTER:
        return LETTER;
    case G_UNICODE_DECIMAL_NUMBER:
    case G_UNICODE_LETTER_NUMBER:
    case G_UNICODE_OTHER_NUMBER:
        return NUMBER;
    default:
        return OTHER;
    }
}

static void fill_classes(void)
{
    static gsize filled;
    if (!g_once_init_enter(&filled))
        return;
    for (gunichar c = 0; c < TABLED; c++)
        class_table[c] = find_class(c);
    for (gunichar c = 0; c < 0x110000; c++)
        newer_pages[c >> PAGE_BITS] |= unicode_known(c) != c;
    g_once_init_leave(&filled, 1);
}

/* The class of the character at `at`, and its length in bytes. */
static inline uint8_t class_at(const char *at, int *bytes)
{
    const uint8_t *p = (const uint8_t *)at;
    gunichar c = p[0];
    *bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (*bytes == 2)
        c = (c & 31) << 6 | (p[1] & 63);
    else if (*bytes == 3)
        c = (c & 15) << 12 | (p[1] & 63u) << 6 | (p[2] & 63);
    else if (*bytes == 4)
        c = (c & 7) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 | (p[3] & 63);
    return c < TABLED ? class_table[c] : find_class(c);
}

static inline const char *skip_class(const char *at, const char *end, uint8_t class)
{
    int bytes;
    while (at < end && class_at(at, &bytes) == class)
        at += bytes;
    return at;
}

/* Length in bytes of the English suffix ("'s", "'re", …) at `at`, which is an apostrophe; 0 means none. */
static int ending_bytes(const char *at, const char *end)
{
    if (end - at >= 2 && strchr("stmd", at[1]) && at[1])
        return 2;
    if (end - at >= 3 && (memcmp(at, "'re", 3) == 0 || memcmp(at, "'ve", 3) == 0 || memcmp(at, "'ll", 3) == 0))
        return 3;
    return 0;
}

/* The end of the word of white space at `at`: all of it at the end of the text, otherwise all but its last character,
 * which goes with the next word; a single character of white space other than a space is a word by itself. */
static const char *end_of_space(const char *at, const char *end)
{
    const char *last = at, *p = at;
    int bytes;
    while (p < end && class_at(p, &bytes) == SPACE) {
        last = p;
        p += bytes;
    }
    return p == end || last == at ? p : last;
}

static const char *end_of_word(const char *at, const char *end)
{
    int bytes;
    if (*at == '\'' && (bytes = ending_bytes(at, end)) > 0)
        return at + bytes;
    const char *start = at + (*at == ' ' && at + 1 < end);
    uint8_t class = class_at(start, &bytes);
    if (class == SPACE)
        return end_of_space(at, end);
    return skip_class(start + bytes, end, class);
}

static bool each_gpt2(const char *at, const char *end, WordFn fn, void *context)
{
    while (at < end) {
        const char *next = end_of_word(at, end);
        if (!fn(context, at, (size_t)(next - at)))
            return false;
        at = next;
    }
    return true;
}

/* Splits text by the patterns from `level` on. `known` is the text for PCRE2, of the same length (known_text). */
static bool each_match(const PreTokenizer *pre, PreTokenizerScratch *scratch, int level, const char *text,
                       const char *known, size_t bytes, WordFn fn, void *context)
{
    if (level == pre->n_patterns)
        return bytes == 0 || fn(context, text, bytes);
    pcre2_match_data *match = scratch->matches[level];
    bool gaps = !(pre->matches_only >> level & 1);
    const size_t *bounds = pcre2_get_ovector_pointer(match);
    size_t at = 0, from = 0;
    while (from < bytes) {
        int found = pcre2_match(pre->patterns[level], (PCRE2_SPTR)known, bytes, from, PCRE2_NO_UTF_CHECK, match, NULL);
        if (found < 0 && found != PCRE2_ERROR_NOMATCH)
            return false;
        size_t first = found < 0 ? bytes : bounds[0], last = found < 0 ? bytes : bounds[1];
        if (found >= 0 && first == last) { /* an empty match does not split */
            from = (size_t)(g_utf8_next_char(text + MAX(last, from)) - text);
            continue;
        }
        if ((gaps && first > at &&
             !each_match(pre, scratch, level + 1, text + at, known + at, first - at, fn, context)) ||
            (last > first &&
             !each_match(pre, scratch, level + 1, text + first, known + first, last - first, fn, context)))
            return false;
        at = from = last;
    }
    return !gaps || at == bytes || each_match(pre, scratch, level + 1, text + at, known + at, bytes - at, fn, context);
}

/* The text with characters of the same category and length for those that PCRE2 may not know; `text` if none. */
static const char *known_text(PreTokenizerScratch *scratch, const char *text, size_t bytes)
{
    bool copied = false;
    for (const char *at = text, *end = text + bytes; at < end; at = g_utf8_next_char(at)) {
        gunichar c = (uint8_t)*at < 0xe0 ? 0 : g_utf8_get_char(at);
        if (!newer_pages[c >> PAGE_BITS] || unicode_known(c) == c)
            continue;
        if (!copied)
            g_string_append_len(g_string_truncate(scratch->known, 0), text, (gssize)bytes);
        g_unichar_to_utf8(unicode_known(c), scratch->known->str + (at - text));
        copied = true;
    }
    return copied ? scratch->known->str : text;
}

bool pre_tokenizer_each(const PreTokenizer *pre, PreTokenizerScratch *scratch, const char *text, size_t bytes,
                        WordFn fn, void *context)
{
    if (pre->gpt2)
        return each_gpt2(text, text + bytes, fn, context);
    return each_match(pre, scratch, 0, text, known_text(scratch, text, bytes), bytes, fn, context);
}

PreTokenizer *pre_tokenizer_open_gpt2(void)
{
    fill_classes();
    PreTokenizer *pre = g_new0(PreTokenizer, 1);
    pre->gpt2 = true;
    return pre;
}

void pre_tokenizer_close(PreTokenizer *pre)
{
    if (pre == NULL)
        return;
    for (int i = 0; i < pre->n_patterns; i++)
        pcre2_code_free(pre->patterns[i]);
    g_free(pre);
}

/* \w as Oniguruma defines it, the library of Hugging Face's tokenizers: Alphabetic (the symbols among them are letters
 * in circles and squares), M, Nd and Pc; outside of [ ] also the other numbers of Latin-1. In PCRE2 it lacks marks and
 * has all numbers. */
#define WORD_SYMBOLS    "\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"
#define WORD_CHARACTERS "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}" WORD_SYMBOLS
#define WORD_NUMBERS    "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"

/* Bytes of the \p{NAME} or \P{NAME} at `at` if NAME is a script, such as Han; 0 for other properties, and in versions
 * of PCRE2 that do not distinguish scripts from script extensions. */
static int script_bytes(const char *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const int name = (at[1] == 'p' || at[1] == 'P') && at[2] == '{' ? (int)strspn(at + 3, letters) : 0;
    if (name == 0 || at[3 + name] != '}')
        return 0;
    g_autofree char *script = g_strdup_printf("\\p{sc:%.*s}", name, at + 3);
    int number;
    size_t offset;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)script, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &number, &offset, NULL);
    pcre2_code_free(code);
    return code ? name + 4 : 0;
}

/* The pattern with \w, \W and scripts replaced by PCRE2 syntax with the meaning that they have in Hugging Face's
 * tokenizers: a script, \p{Han}, has only the characters of this script, while PCRE2 adds those that it shares with
 * other scripts. g_free. */
static char *spell_classes(const char *pattern)
{
    GString *spelled = g_string_new(NULL);
    int depth = 0, script = 0; /* depth of nested [ ]; bytes of a script's property */
    for (const char *at = pattern; *at; at++) {
        bool escape = *at == '\\' && at[1];
        if (escape && at[1] == 'w')
            g_string_append(spelled, depth > 0 ? WORD_CHARACTERS : "[" WORD_CHARACTERS WORD_NUMBERS "]");
        else if (escape && at[1] == 'W' && depth == 0)
            g_string_append(spelled, "[^" WORD_CHARACTERS WORD_NUMBERS "]");
        else if (escape && (script = script_bytes(at)) > 0)
            g_string_append_printf(spelled, "\\%c{sc:%.*s}", at[1], script - 4, at + 3);
        else
            g_string_append_len(spelled, at, escape ? 2 : 1);
        depth += escape ? 0 : (*at == '[') - (*at == ']' && depth > 0);
        at += MAX(script - 1, (int)escape);
        script = 0;
    }
    return g_string_free(spelled, FALSE);
}

PreTokenizer *pre_tokenizer_open(const GPtrArray *patterns, uint32_t matches_only, GError **error)
{
    if (patterns->len > PRE_TOKENIZER_PATTERNS)
        return fail_user(error, "%u patterns split the text, more than %d", patterns->len, PRE_TOKENIZER_PATTERNS);
    fill_classes();
    PreTokenizer *pre = g_new0(PreTokenizer, 1);
    pre->matches_only = matches_only;
    for (; pre->n_patterns < (int)patterns->len; pre->n_patterns++) {
        const char *pattern = patterns->pdata[pre->n_patterns];
        g_autofree char *spelled = spell_classes(pattern);
        int number;
        size_t offset;
        pcre2_code *code =
            pcre2_compile((PCRE2_SPTR)spelled, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &number, &offset, NULL);
        if (code == NULL) {
            char text[128];
            pcre2_get_error_message(number, (PCRE2_UCHAR *)text, sizeof text);
            fail_user(error, "its pattern %s is wrong at %zu: %s", spelled, offset, text);
            pre_tokenizer_close(pre);
            return NULL;
        }
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* optional: without it matching is slower */
        pre->patterns[pre->n_patterns] = code;
    }
    return pre;
}

PreTokenizerScratch *pre_tokenizer_scratch_open(const PreTokenizer *pre)
{
    PreTokenizerScratch *scratch = g_new0(PreTokenizerScratch, 1);
    scratch->known = g_string_new(NULL);
    for (int i = 0; i < pre->n_patterns; i++)
        scratch->matches[i] = pcre2_match_data_create_from_pattern(pre->patterns[i], NULL);
    return scratch;
}

void pre_tokenizer_scratch_close(PreTokenizerScratch *scratch)
{
    if (scratch == NULL)
        return;
    for (int i = 0; i < PRE_TOKENIZER_PATTERNS; i++)
        pcre2_match_data_free(scratch->matches[i]);
    g_string_free(scratch->known, TRUE);
    g_free(scratch);
}
