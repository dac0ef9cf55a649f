#include "base/file.h"
#include "golden.h"
#include "text/tokenizer.h"

#include <glib/gstdio.h>
#include <string.h>

#define BERT SHARED "tokenizers/bert"

static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"       /* 0 to 4 */
                                 "un\n##aff\n##able\n##a\nhello\nworld\n"     /* 5 to 10 */
                                 ",\n世\n界\n##o\no\nstraße\nが\nか\nи\ni\n"; /* 11 to 20 */

static char *folder;

static Tokenizer *open_vocabulary(const char *text, const char *config)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *vocab = g_build_filename(folder, "vocab.txt", NULL);
    g_autofree char *settings = g_build_filename(folder, "tokenizer_config.json", NULL);
    g_assert_true(io_write_file(vocab, text, strlen(text), &error));
    g_remove(settings);
    if (config)
        g_assert_true(io_write_file(settings, config, strlen(config), &error));
    Tokenizer *tok = tokenizer_open(folder, &error);
    g_assert_no_error(error);
    return tok;
}

static void expect_ids(const Tokenizer *tok, const char *text, const char *ids)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GString) line = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    tokenizer_encode(tok, text, strlen(text), false, found, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < found->len; i++)
        g_string_append_printf(line, "%s%d", i ? " " : "", g_array_index(found, int32_t, i));
    g_assert_cmpstr(line->str, ==, ids);
}

static void words_are_split_into_the_longest_pieces(void)
{
    Tokenizer *tok = open_vocabulary(vocabulary, NULL);
    expect_ids(tok, "unaffable", "5 6 7");
    expect_ids(tok, "unaff unaffa", "5 6 5 6 8");
    expect_ids(tok, "hello world", "9 10");
    expect_ids(tok, "  hello,world\t\n", "9 11 10");
    expect_ids(tok, "", "");
    expect_ids(tok, " \n", "");
    tokenizer_close(tok);
}

static void a_word_that_no_pieces_make_is_unknown_as_a_whole(void)
{
    Tokenizer *tok = open_vocabulary(vocabulary, NULL);
    expect_ids(tok, "unaffx hello", "1 9");
    expect_ids(tok, "hellox", "1");
    g_autofree char *most = g_strnfill(100, 'o'), *more = g_strnfill(101, 'o');
    g_autoptr(GString) ids = g_string_new("15");
    for (int i = 1; i < 100; i++)
        g_string_append(ids, " 14");
    expect_ids(tok, most, ids->str);
    expect_ids(tok, more, "1");
    tokenizer_close(tok);
}

static void text_is_cleaned_lowered_and_stripped_of_accents(void)
{
    Tokenizer *tok = open_vocabulary(vocabulary, NULL);
    expect_ids(tok, "HÉLLO Wörld", "9 10");
    expect_ids(tok, "he\xcc\x81llo", "9");                 /* a combining accent */
    expect_ids(tok, "hel\x01lo he\xe2\x80\x8bllo", "9 9"); /* a control and a format character vanish */
    expect_ids(tok, "hello\xc2\xa0world\xe3\x80\x80hello", "9 10 9");
    expect_ids(tok, "hello世界world", "9 12 13 10");
    expect_ids(tok, "が", "18"); /* its mark is an accent */
    expect_ids(tok, "Й", "19");
    expect_ids(tok, "İ", "20");
    expect_ids(tok, "STRASSE Straße", "1 16");
    tokenizer_close(tok);
}

static void case_follows_the_folder_s_settings_or_else_the_vocabulary(void)
{
    Tokenizer *tok = open_vocabulary(vocabulary, "{\"do_lower_case\": false}");
    expect_ids(tok, "hello HELLO が", "9 1 17");
    tokenizer_close(tok);
    tok = open_vocabulary("[PAD]\n[UNK]\n[CLS]\n[SEP]\nHello\nhello\nhéllo\n", NULL);
    expect_ids(tok, "Hello hello héllo HELLO", "4 5 6 1");
    tokenizer_close(tok);
    tok = open_vocabulary("[PAD]\n[UNK]\nHello\nhello\nhéllo\n", "{\"do_lower_case\": true, \"strip_accents\": false}");
    expect_ids(tok, "Hello héllo", "3 4");
    tokenizer_close(tok);
}

static void special_tokens_are_found_by_name(void)
{
    Tokenizer *tok = open_vocabulary(vocabulary, NULL);
    g_assert_cmpstr(tokenizer_kind(tok), ==, "wordpiece");
    g_assert_cmpint(tokenizer_size(tok), ==, 21);
    g_assert_cmpint(tokenizer_pad(tok), ==, 0);
    g_assert_cmpint(tokenizer_unk(tok), ==, 1);
    g_assert_cmpint(tokenizer_bos(tok), ==, 2);
    g_assert_cmpint(tokenizer_eos(tok), ==, 3);
    g_assert_cmpint(tokenizer_id(tok, "[MASK]"), ==, 4);
    g_assert_cmpint(tokenizer_id(tok, "[EOD]"), ==, -1);
    g_assert_cmpint(tokenizer_sentinel(tok, 0), ==, -1);
    expect_ids(tok, "[MASK]", "1 1 1"); /* in a corpus it is text like any other */
    tokenizer_close(tok);
}

static void ids_become_words_parted_by_spaces(void)
{
    Tokenizer *tok = open_vocabulary(vocabulary, NULL);
    static const int32_t ids[] = { 9, 11, 10, 5, 6, 7, 0, 3 };
    g_autoptr(GError) error = NULL;
    g_autofree char *text = tokenizer_decode(tok, ids, G_N_ELEMENTS(ids), &error);
    g_assert_cmpstr(text, ==, "hello, world unaffable");
    tokenizer_close(tok);
}

static void a_file_without_the_unknown_piece_is_refused(void)
{
    g_autofree char *path = g_build_filename(folder, "vocab.txt", NULL);
    static const char *const bad[] = { "", "[PAD]\nhello\n", "[UNK]\n\xff\n" };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_true(io_write_file(path, bad[i], strlen(bad[i]), &error));
        g_assert_null(tokenizer_open(path, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, *bad[i] ? "not a WordPiece vocabulary" : "is an empty file"));
    }
}

static void bert_s_own_vocabulary_gives_its_ids(void)
{
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open(BERT "/vocab.txt", &error);
    g_assert_no_error(error);
    expect_ids(tok, "Hello world, it's 2026", "7592 2088 1010 2009 1005 1055 16798 2575");
    g_assert_cmpint(tokenizer_id(tok, "[CLS]"), ==, 101);
    g_assert_cmpint(tokenizer_id(tok, "[SEP]"), ==, 102);
    g_assert_cmpint(tokenizer_id(tok, "[MASK]"), ==, 103);
    g_assert_cmpint(tokenizer_pad(tok), ==, 0);
    g_assert_cmpint(tokenizer_unk(tok), ==, 100);
    tokenizer_close(tok);
    tok = tokenizer_open(BERT "/tokenizer.json", &error); /* of the old form, without a model.type */
    g_assert_no_error(error);
    g_assert_cmpstr(tokenizer_kind(tok), ==, "wordpiece");
    expect_ids(tok, "Hello world, it's 2026", "7592 2088 1010 2009 1005 1055 16798 2575");
    tokenizer_close(tok);
}

static void tokenizer_json_says_how_text_is_treated(void)
{
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    static const char text[] =
        "{\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":false,\"strip_accents\":null,"
        "\"handle_chinese_chars\":false},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
        "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"<u>\",\"continuing_subword_prefix\":\"@\","
        "\"max_input_chars_per_word\":3,\"vocab\":{\"<u>\":0,\"Aé\":1,\"@b\":2,\"世界\":3}}}";
    g_autoptr(GError) error = NULL;
    g_assert_true(io_write_file(path, text, strlen(text), &error));
    Tokenizer *tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    expect_ids(tok, "Aéb aéb Aébb 世界", "1 2 0 0 3");
    tokenizer_close(tok);
}

static void an_added_token_is_no_piece_of_words(void)
{
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    static const char text[] =
        "{\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
        "\"added_tokens\":[{\"id\":3,\"content\":\"ab\",\"normalized\":false},{\"id\":1,\"content\":\"a\"}],"
        "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"<u>\",\"vocab\":{\"<u>\":0,\"a\":1,\"##b\":2}}}";
    g_autoptr(GError) error = NULL;
    g_assert_true(io_write_file(path, text, strlen(text), &error));
    Tokenizer *tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    expect_ids(tok, "ab AB A", "3 1 2 1"); /* the vocabulary alone makes the word of "AB" */
    g_assert_cmpint(tokenizer_id(tok, "ab"), ==, 3);
    tokenizer_close(tok);
}

/* What tokenizers 0.23.3 gives. */
static void an_empty_prefix_lets_any_piece_stand_inside_of_a_word(void)
{
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    static const char json[] =
        "{\"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"},"
        " \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"\","
        " \"vocab\": {\"[UNK]\": 0, \"un\": 1, \"aff\": 2, \"able\": 3}}}";
    g_autoptr(GError) error = NULL;
    g_assert_true(io_write_file(path, json, strlen(json), &error));
    Tokenizer *tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    expect_ids(tok, "unaffable affx", "1 2 3 0");
    tokenizer_close(tok);
}

static void a_decoder_without_cleanup_keeps_spaces_before_marks(void)
{
    static const int32_t ids[] = { 1, 2 };
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    static const char json[] =
        "{\"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"},"
        " \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": false},"
        " \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\","
        " \"vocab\": {\"[UNK]\": 0, \"a\": 1, \".\": 2}}}";
    g_assert_true(io_write_file(path, json, strlen(json), NULL));
    g_autoptr(Tokenizer) tok = tokenizer_open(path, NULL);
    g_autofree char *text = tokenizer_decode(tok, ids, 2, NULL);
    g_assert_cmpstr(text, ==, "a .");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autoptr(GError) error = NULL;
    folder = g_dir_make_tmp("loam-wordpiece-XXXXXX", &error);
    g_assert_no_error(error);
    g_test_add_func("/wordpiece/words_are_split_into_the_longest_pieces", words_are_split_into_the_longest_pieces);
    g_test_add_func("/wordpiece/a_word_that_no_pieces_make_is_unknown_as_a_whole",
                    a_word_that_no_pieces_make_is_unknown_as_a_whole);
    g_test_add_func("/wordpiece/text_is_cleaned_lowered_and_stripped_of_accents",
                    text_is_cleaned_lowered_and_stripped_of_accents);
    g_test_add_func("/wordpiece/case_follows_the_folder_s_settings_or_else_the_vocabulary",
                    case_follows_the_folder_s_settings_or_else_the_vocabulary);
    g_test_add_func("/wordpiece/special_tokens_are_found_by_name", special_tokens_are_found_by_name);
    g_test_add_func("/wordpiece/ids_become_words_parted_by_spaces", ids_become_words_parted_by_spaces);
    g_test_add_func("/wordpiece/a_file_without_the_unknown_piece_is_refused",
                    a_file_without_the_unknown_piece_is_refused);
    add_where_present(BERT, "/wordpiece/bert_s_own_vocabulary_gives_its_ids", bert_s_own_vocabulary_gives_its_ids);
    g_test_add_func("/wordpiece/tokenizer_json_says_how_text_is_treated", tokenizer_json_says_how_text_is_treated);
    g_test_add_func("/wordpiece/an_added_token_is_no_piece_of_words", an_added_token_is_no_piece_of_words);
    g_test_add_func("/wordpiece/an_empty_prefix_lets_any_piece_stand_inside_of_a_word",
                    an_empty_prefix_lets_any_piece_stand_inside_of_a_word);
    g_test_add_func("/wordpiece/a_decoder_without_cleanup_keeps_spaces_before_marks",
                    a_decoder_without_cleanup_keeps_spaces_before_marks);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
