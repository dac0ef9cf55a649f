#include "text/tokenizer.h"

#include <glib/gstdio.h>
#include <string.h>

static char *folder;

static Tokenizer *open_dictionary(const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "dict.txt", NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    return tokenizer_open(folder, error);
}

static void words_are_lines_of_the_dictionary(void)
{
    static const int32_t expected[] = { 4, 5, 3, 2, 4 };
    Tokenizer *tok = open_dictionary("the 7\nnaïve 2\na b 1\n", NULL);
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    static const char text[] = " the\tnaïve  zebra </s>\u3000the"; /* U+3000 is white space */
    g_assert_nonnull(tok);
    g_assert_cmpstr(tokenizer_kind(tok), ==, "fairseq-words");
    g_assert_cmpint(tokenizer_size(tok), ==, 7);
    g_assert_cmpint(tokenizer_eos(tok), ==, 2);
    g_assert_true(tokenizer_encode(tok, text, strlen(text), false, ids, NULL));
    g_assert_cmpuint(ids->len, ==, G_N_ELEMENTS(expected));
    g_assert_true(memcmp(ids->data, expected, sizeof expected) == 0);
    g_autofree char *back = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, NULL);
    g_assert_cmpstr(back, ==, "the naïve <unk> the"); /* the end is no text */
    g_assert_cmpstr(tokenizer_piece(tok, 6), ==, "a b");
    g_assert_cmpint(tokenizer_id(tok, "zebra"), ==, -1);
    tokenizer_close(tok);
}

static void a_line_without_a_count_is_named(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(open_dictionary("the 7\nnaïve\n", &error));
    g_assert_nonnull(strstr(error->message, "dict.txt:2: want a symbol, a space and a count"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("fairseq-words-XXXXXX", NULL);
    g_test_add_func("/fairseq_words/words_are_lines_of_the_dictionary", words_are_lines_of_the_dictionary);
    g_test_add_func("/fairseq_words/a_line_without_a_count_is_named", a_line_without_a_count_is_named);
    int status = g_test_run();
    g_autofree char *path = g_build_filename(folder, "dict.txt", NULL);
    g_unlink(path);
    g_rmdir(folder);
    g_free(folder);
    return status;
}
