#include "text/byte_bpe/model.h"

#include "text/pattern.h"
#include "text/unicode.h"

#include <string.h>

#define TABLED 0x30000 /* characters below this have a table entry; higher ones are rare */

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

/* Splits text by the patterns from `level` on. `known` is the text for PCRE2, of the same length (pattern_text). */
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
        int found = pattern_match(pre->patterns[level], known, bytes, from, match);
        if (found < 0 && found != PCRE2_ERROR_NOMATCH)
            return false;
        size_t first = found < 0 ? bytes : bounds[0], last = found < 0 ? bytes : bounds[1];
        if ((gaps && first > at &&
             !each_match(pre, scratch, level + 1, text + at, known + at, first - at, fn, context)) ||
            (last > first &&
             !each_match(pre, scratch, level + 1, text + first, known + first, last - first, fn, context)))
            return false;
        at = last;
        /* an empty match splits, too; the next one starts behind the character after it */
        from = first == last && last < bytes ? (size_t)(g_utf8_next_char(text + last) - text) : last;
    }
    return !gaps || at == bytes || each_match(pre, scratch, level + 1, text + at, known + at, bytes - at, fn, context);
}

bool pre_tokenizer_each(const PreTokenizer *pre, PreTokenizerScratch *scratch, const char *text, size_t bytes,
                        WordFn fn, void *context)
{
    if (pre->gpt2)
        return each_gpt2(text, text + bytes, fn, context);
    return each_match(pre, scratch, 0, text, pattern_text(scratch->known, text, bytes), bytes, fn, context);
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

PreTokenizer *pre_tokenizer_open(const GPtrArray *patterns, uint32_t matches_only, GError **error)
{
    if (patterns->len > PRE_TOKENIZER_PATTERNS)
        return fail_user(error, "%u patterns split the text, more than %d", patterns->len, PRE_TOKENIZER_PATTERNS);
    fill_classes();
    g_autoptr(PreTokenizer) pre = g_new0(PreTokenizer, 1);
    pre->matches_only = matches_only;
    for (; pre->n_patterns < (int)patterns->len; pre->n_patterns++)
        if (!(pre->patterns[pre->n_patterns] = pattern_open(patterns->pdata[pre->n_patterns], error)))
            return NULL;
    return g_steal_pointer(&pre);
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
