#include "text/byte_bpe/model.h"
#include "text/normalizer.h"

#include <string.h>

static bool append_word(void *context, const char *word, size_t bytes)
{
    g_string_append_len(g_string_append_c(context, '|'), word, (gssize)bytes);
    return true;
}

static PreTokenizer *open_one(const char *pattern, GError **error)
{
    g_autoptr(GPtrArray) patterns = g_ptr_array_new();
    g_ptr_array_add(patterns, (char *)pattern);
    return pre_tokenizer_open(patterns, 0, error);
}

/* What Split with the behavior Isolated of tokenizers 0.23.3 makes of a text. */
static void patterns_split_as_in_the_reference(void)
{
    static const struct {
        const char *pattern, *text, *want;
    } cases[] = {
        { "\\p{N}{1,3}+", "a12345", "|a|12345" },
        { "(ab){1,2}+", "ababababa", "|abababab|a" },
        { "a{,2}b", "aab", "|aab" },
        { "a{2}?b", "bab", "|b|a|b" },
        { "\\x41{1,2}+b", "AAAb", "|AAAb" },
        { "\\x{e9}{2}?b", "\u00e9b", "|\u00e9|b" },
        { "\\\u00e9{1,2}+b", "\u00e9\u00e9\u00e9b", "|\u00e9\u00e9\u00e9b" },
        { "(?=[A-Z])", "fooBarBaz", "|foo|Bar|Baz" },
        { "^a", "a\na", "|a|\n|a" },
        { "a$", "a\na", "|a|\n|a" },
        { "(?m:a.)b", "a\nb", "|a\nb" },
        { "(?i:'s)", "it'S", "|it|'S" },
        { "\\h+", "ab xyz", "|ab| xyz" },
        { "[\\h]", "gag", "|g|a|g" },
        { "\\v", "a\nb\vc", "|a\nb|\v|c" },
        { "\\u4e2d", "a\u4e2d", "|a|\u4e2d" },
        { "\\b", "a \u00e9", "|a| |\u00e9" },
        { "[\\W]+", "e\u0301 \u00b2,a", "|e\u0301| \u00b2,|a" },
        { "[\\W_]+", "e\u0301_, b", "|e\u0301|_, |b" },
        { "[^\\W_]+", "e\u0301_\u00b2b", "|e\u0301|_\u00b2|b" },
        { "[[:word:]]+", "e\u0301 \u00b2", "|e\u0301| \u00b2" },
        { "[[:punct:]]+", "a+\u2764.", "|a|+\u2764." },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        PreTokenizer *words = open_one(cases[i].pattern, NULL);
        g_assert_nonnull(words);
        PreTokenizerScratch *scratch = pre_tokenizer_scratch_open(words);
        g_autoptr(GString) got = g_string_new(NULL);
        g_assert_true(pre_tokenizer_each(words, scratch, cases[i].text, strlen(cases[i].text), append_word, got));
        g_assert_cmpstr(got->str, ==, cases[i].want);
        pre_tokenizer_scratch_close(scratch);
        pre_tokenizer_close(words);
    }
}

static void parts_of_patterns_without_a_spelling_are_refused_by_name(void)
{
    static const char *const cases[][2] = {
        { "a\\Gb", "has \\G" },      { "[a[bc]]", "has [b" },
        { "[a-z&&[^b]]", "has &&" }, { "\\pL", "has \\pL" },
        { "(?|a|b)", "has (?|" },    { "(?i)[\\p{Lu}]", "has \\p{Lu}" },
        { "(?i)ss", "has ss" },      { "[[:graph:]]", "has [:graph:]" },
        { "a(?i)b|c", "has (?i" },   { "(*UCP)a", "has (*" },
        { "[a", "has [" },           { "(?i:[[:upper:]])", "has [:upper:]" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(open_one(cases[i][0], &error));
        g_assert_nonnull(strstr(error->message, cases[i][1]));
        g_assert_nonnull(strstr(error->message, ", which loam cannot read"));
    }
}

/* What the normalizer Replace of tokenizers 0.23.3 makes of a text. */
static void replaced_patterns_are_those_of_the_reference(void)
{
    static const char *const cases[][3] = {
        { ".", "a\r\n", "XX\n" }, { "\\w", "e\u0301\u1c89", "XXX" }, { "\\s", "\u180e ", "\u180eX" },
        { "\\z", "ab", "abX" },   { "b*\\z", "ab", "aX" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        json_auto_t *part =
            json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "Regex", cases[i][0], "content", "X");
        Normalizer *plan = normalizer_open(part, NULL);
        MappedText text = mapped_text_of(cases[i][1], strlen(cases[i][1]), true);
        g_assert_true(normalizer_apply(plan, &text, &(bool){ true }, NULL));
        g_assert_cmpstr(text.text->str, ==, cases[i][2]);
        mapped_text_clear(&text);
        normalizer_close(plan);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pattern/patterns_split_as_in_the_reference", patterns_split_as_in_the_reference);
    g_test_add_func("/pattern/parts_of_patterns_without_a_spelling_are_refused_by_name",
                    parts_of_patterns_without_a_spelling_are_refused_by_name);
    g_test_add_func("/pattern/replaced_patterns_are_those_of_the_reference",
                    replaced_patterns_are_those_of_the_reference);
    return g_test_run();
}
