#include "scores/bleu_text.h"

#include "base/check.h"
#include "base/python_text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

const char *const bleu_tokenizers[] = { "13a", "intl", "char", "none", NULL };

/* A regular expression, and the text that replaces each of its matches. */
typedef struct TextRule {
    const char *pattern, *by;
} TextRule;

#define MOST_RULES 5

/* ASCII punctuation except ' , - . becomes a token; so does . or , unless it is between digits, and - after a digit. */
static const TextRule rules_13a[MOST_RULES] = {
    { "[ -&(-+/:-@\\[-`{-~]", " $0 " },
    { "([^0-9])([.,])", "$1 $2 " },
    { "([.,])([^0-9])", " $1 $2" },
    { "([0-9])(-)", "$1 $2 " },
};

/* Punctuation becomes a token unless it is between digits; every symbol becomes a token. */
static const TextRule rules_intl[MOST_RULES] = {
    { "([^\\p{N}])(\\p{P})", "$1 $2 " },
    { "(\\p{P})([^\\p{N}])", " $1 $2" },
    { "\\p{S}", " $0 " },
};

struct BleuText {
    BleuTokenizer tokenizer;
    bool lowercase;
    const TextRule *rules; /* NULL means no rules */
    pcre2_code *patterns[MOST_RULES];
    GString *text, *replaced;
};

BleuText *bleu_text_open(BleuTokenizer tokenizer, bool lowercase)
{
    BleuText *text = g_new0(BleuText, 1);
    text->tokenizer = tokenizer;
    text->lowercase = lowercase;
    text->rules = tokenizer == BLEU_13A ? rules_13a : tokenizer == BLEU_INTL ? rules_intl : NULL;
    text->text = g_string_new(NULL);
    text->replaced = g_string_new(NULL);
    for (int i = 0; text->rules && text->rules[i].pattern; i++) {
        int number;
        size_t offset;
        text->patterns[i] =
            pcre2_compile((PCRE2_SPTR)text->rules[i].pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &number, &offset, NULL);
        CHECK(text->patterns[i], "%s: error %d", text->rules[i].pattern, number);
        pcre2_jit_compile(text->patterns[i], PCRE2_JIT_COMPLETE); /* without a JIT, matching is only slower */
    }
    return text;
}

void bleu_text_close(BleuText *text)
{
    for (int i = 0; i < MOST_RULES; i++)
        pcre2_code_free(text->patterns[i]);
    g_string_free(text->text, TRUE);
    g_string_free(text->replaced, TRUE);
    g_free(text);
}

/* Replaces every match of rule i. If the buffer is too small, PCRE2 returns the size for a second attempt. */
static void replace_matches(BleuText *text, int i)
{
    const uint32_t options = PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH | PCRE2_NO_UTF_CHECK;
    int found = PCRE2_ERROR_NOMEMORY;
    g_string_set_size(text->replaced, 2 * text->text->len + 16);
    for (int attempt = 0; attempt < 2 && found == PCRE2_ERROR_NOMEMORY; attempt++) {
        size_t bytes = text->replaced->len;
        found = pcre2_substitute(text->patterns[i], (PCRE2_SPTR)text->text->str, text->text->len, 0, options, NULL,
                                 NULL, (PCRE2_SPTR)text->rules[i].by, PCRE2_ZERO_TERMINATED,
                                 (PCRE2_UCHAR *)text->replaced->str, &bytes);
        g_string_set_size(text->replaced, bytes);
    }
    CHECK(found >= 0, "PCRE2's error %d", found);
    GString *swap = text->text;
    text->text = text->replaced;
    text->replaced = swap;
}

/* Removes SGML markup, resolves entities and joins lines, as mteval does before it applies its rules. */
static void undo_markup(GString *text)
{
    g_string_replace(text, "<skipped>", "", 0);
    g_string_replace(text, "-\n", "", 0);
    g_string_replace(text, "\n", " ", 0);
    g_string_replace(text, "&quot;", "\"", 0);
    g_string_replace(text, "&amp;", "&", 0);
    g_string_replace(text, "&lt;", "<", 0);
    g_string_replace(text, "&gt;", ">", 0);
    g_string_prepend_c(text, ' ');
    g_string_append_c(text, ' ');
}

static void space_characters(BleuText *text)
{
    g_string_truncate(text->replaced, 0);
    for (const char *at = text->text->str; *at; at = g_utf8_next_char(at)) {
        g_string_append_len(text->replaced, at, g_utf8_next_char(at) - at);
        g_string_append_c(text->replaced, ' ');
    }
    g_string_assign(text->text, text->replaced->str);
}

static void strip_end(GString *text)
{
    while (text->len > 0) {
        const char *last = g_utf8_prev_char(text->str + text->len);
        if (!python_is_space(g_utf8_get_char(last)))
            return;
        g_string_truncate(text, (gsize)(last - text->str));
    }
}

const char *bleu_text(BleuText *text, const char *in)
{
    g_autofree char *lower = text->lowercase ? python_lower(in) : NULL;
    g_string_assign(text->text, lower ? lower : in);
    strip_end(text->text);
    if (text->tokenizer == BLEU_13A)
        undo_markup(text->text);
    for (int i = 0; text->rules && text->rules[i].pattern; i++)
        replace_matches(text, i);
    if (text->tokenizer == BLEU_CHAR)
        space_characters(text);
    return text->text->str;
}

char *bleu_text_references(const ScoreInput *in)
{
    guint n = g_strv_length((char **)in->references[0]);
    for (int64_t i = 1; i < in->n; i++)
        if (g_strv_length((char **)in->references[i]) != n)
            return g_strdup("var");
    return g_strdup_printf("%u", n);
}
