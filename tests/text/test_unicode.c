#include "text/byte_bpe/model.h"
#include "text/unicode.h"

#include <string.h>

static void stand_ins_are_known_and_of_the_same_length_and_category(void)
{
    for (gunichar c = 0; c < 0x110000; c++) {
        gunichar known = unicode_known(c);
        g_assert_cmpint(g_unichar_to_utf8(known, NULL), ==, g_unichar_to_utf8(c, NULL));
        g_assert_cmpint(g_unichar_type(known), ==, unicode_type(c));
        g_assert_cmpuint(unicode_known(known), ==, known);
    }
}

static bool append_word(void *context, const char *word, size_t bytes)
{
    g_string_append_len(g_string_append_c(context, '|'), word, (gssize)bytes);
    return true;
}

static void expect_words(const PreTokenizer *words, const char *text, const char *want)
{
    PreTokenizerScratch *scratch = pre_tokenizer_scratch_open(words);
    g_autoptr(GString) got = g_string_new(NULL);
    g_assert_true(pre_tokenizer_each(words, scratch, text, strlen(text), append_word, got));
    g_assert_cmpstr(got->str, ==, want);
    pre_tokenizer_scratch_close(scratch);
}

/* What tokenizers 0.23.3 gives: a letter of Garay (Unicode 16), a digit of Kawi (15), an ideograph of extension I
 * (15.1), U+180E, and one that no version has. */
static void words_of_newer_characters_are_those_of_the_reference(void)
{
    static const char text[] = "a\U00010d50b c\U00011f51d\U0002ebf0 e\u180ef g\U000e01f0h";
    g_autoptr(GPtrArray) patterns = g_ptr_array_new();
    g_ptr_array_add(patterns, (char *)"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+|\\s+");
    PreTokenizer *gpt2 = pre_tokenizer_open_gpt2(), *other = pre_tokenizer_open(patterns, 0, NULL);
    expect_words(gpt2, text, "|a\U00010d50b| c|\U00011f51|d\U0002ebf0| e|\u180e|f| g|\U000e01f0|h");
    expect_words(other, text, "|a\U00010d50b| c|\U00011f51|d\U0002ebf0| e|\u180ef| g|\U000e01f0h");
    pre_tokenizer_close(gpt2);
    pre_tokenizer_close(other);
}

static void capitals_of_newer_scripts_have_small_letters(void)
{
    g_assert_cmpuint(unicode_lower(0x10d50), ==, 0x10d70);
    g_assert_cmpuint(unicode_lower(0xa7cb), ==, 0x264);
    g_assert_cmpuint(unicode_lower(0x2160), ==, 0x2170);
    g_assert_cmpuint(unicode_lower('A'), ==, 'a');
    g_assert_cmpuint(unicode_lower(0x10d70), ==, 0x10d70);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/unicode/stand_ins_are_known_and_of_the_same_length_and_category",
                    stand_ins_are_known_and_of_the_same_length_and_category);
    g_test_add_func("/unicode/words_of_newer_characters_are_those_of_the_reference",
                    words_of_newer_characters_are_those_of_the_reference);
    g_test_add_func("/unicode/capitals_of_newer_scripts_have_small_letters",
                    capitals_of_newer_scripts_have_small_letters);
    return g_test_run();
}
