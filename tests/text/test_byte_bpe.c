#include "base/file.h"
#include "golden.h"
#include "text/tokenizer.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#define GPT2       SHARED "tokenizers/gpt2/"
#define GPT2_TEXTS GPT2 "golden_llamacpp_gpt-2"

/* A vocabulary of the bytes of "ab <|endoftext|>" as far as merges need them. */
#define VOCAB                                                                                                          \
    "{\"a\": 0, \"b\": 1, \"Ġ\": 2, \"ab\": 3, \"Ġab\": 4, \"<|endoftext|>\": 5, \"Ã\": 6, \"©\": 7, \"abab\": 8}"
#define MERGES "#version: 0.2\na b\nĠ ab\nab ab\n"

static char *folder;

static char *put(const char *name, const char *text)
{
    char *path = g_build_filename(folder, name, NULL);
    g_assert_true(io_write_file(path, text, strlen(text), NULL));
    return path;
}

/* merges.txt, which is found beside vocab.json. */
static void put_merges(const char *text)
{
    g_free(put("merges.txt", text));
}

static char *encode(const Tokenizer *tok, const char *text, bool specials)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GError) error = NULL;
    tokenizer_encode(tok, text, strlen(text), specials, ids, &error);
    g_assert_no_error(error);
    GString *shown = g_string_new(NULL);
    for (guint i = 0; i < ids->len; i++)
        g_string_append_printf(shown, "%s%d", i > 0 ? " " : "", g_array_index(ids, int32_t, i));
    return g_string_free(shown, FALSE);
}

static void expect_ids(const Tokenizer *tok, const char *text, bool specials, const char *expected)
{
    g_autofree char *ids = encode(tok, text, specials);
    g_assert_cmpstr(ids, ==, expected);
}

static Tokenizer *open_or_fail(const char *path)
{
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    return tok;
}

static void expect_toy(Tokenizer *tok)
{
    g_assert_cmpstr(tokenizer_kind(tok), ==, "byte-bpe");
    g_assert_cmpint(tokenizer_size(tok), ==, 9);
    g_assert_cmpint(tokenizer_eos(tok), ==, 5);
    g_assert_cmpint(tokenizer_pad(tok), ==, -1);
    g_assert_cmpint(tokenizer_sentinel(tok, 0), ==, -1);
    expect_ids(tok, "ab ab", false, "3 4");
    expect_ids(tok, "abab", false, "8");
    expect_ids(tok, "aab  ab", false, "0 3 2 4");
    expect_ids(tok, "ab<|endoftext|>é", true, "3 5 6 7");
    expect_ids(tok, "", true, "");
    tokenizer_close(tok);
}

static void merges_go_by_rank(void)
{
    g_autofree char *vocab = put("vocab.json", VOCAB);
    g_autofree char *merges = put("merges.txt", MERGES);
    expect_toy(open_or_fail(vocab));
    expect_toy(open_or_fail(merges));
    expect_toy(open_or_fail(folder));
}

static void tokenizer_json_is_the_same(void)
{
    static const char *const forms[] = { "[\"a b\", \"Ġ ab\", \"ab ab\"]",
                                         "[[\"a\", \"b\"], [\"Ġ\", \"ab\"], [\"ab\", \"ab\"]]" };
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        g_autofree char *text = g_strdup_printf(
            "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, \"added_tokens\": "
            "[{\"id\": 5, \"content\": \"<|endoftext|>\", \"special\": true}], \"model\": {\"vocab\": %s, \"merges\": "
            "%s}}",
            VOCAB, forms[i]);
        g_autofree char *path = put("tokenizer.json", text);
        expect_toy(open_or_fail(path));
        g_unlink(path);
    }
}

static void merges_that_are_dropped_at_random_are_refused(void)
{
    static const char *const dropouts[] = { "null", "0.0", "0", "0.1", "\"0\"" };
    for (size_t i = 0; i < G_N_ELEMENTS(dropouts); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = g_strdup_printf("{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": "
                                                "{\"dropout\": %s, \"vocab\": " VOCAB ", \"merges\": []}}",
                                                dropouts[i]);
        g_autofree char *path = put("tokenizer.json", text);
        Tokenizer *tok = tokenizer_open(path, &error);
        g_assert_true((tok != NULL) == (i < 3));
        g_assert_true(tok || strstr(error->message, "its model has a dropout"));
        tokenizer_close(tok);
        g_unlink(path);
    }
}

#define BYTE_LEVEL(spaced, regex)                                                                                      \
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": " spaced ", \"use_regex\": " regex "}"
#define SPLIT(behavior, regex)                                                                                         \
    "{\"type\": \"Split\", \"behavior\": \"" behavior "\", \"invert\": true, \"pattern\": {\"Regex\": \"" regex "\"}}"

/* A number that \w does not have, a symbol that it has, and a number that it has outside of [ ]. */
#define WORDS "a\u2460b\u24b6a\u00b2"

static const struct {
    const char *steps, *model, *text, *ids, *error; /* ids or an error */
} plans[] = {
    { SPLIT("Removed", "a+") ", " BYTE_LEVEL("false", "false"), "", "aba a", "0 0 0", NULL },
    { SPLIT("Isolated", "a+") ", " BYTE_LEVEL("false", "false"), "", "aba a", "0 1 0 2 0", NULL },
    { SPLIT("Removed", "\\\\w+") ", " BYTE_LEVEL("false", "false"), "\"unk_token\": \"<unk>\",", "a\u0301 ", "0 3 3",
      NULL },
    { SPLIT("Removed", "[\\\\w]+|\\\\W") ", " BYTE_LEVEL("false", "false"), "", "a\u0301 b", "0 2 1", NULL },
    { SPLIT("Removed", "\\\\w") ", " BYTE_LEVEL("false", "false"), "\"unk_token\": \"<unk>\",", WORDS,
      "0 1 3 3 3 0 3 3", NULL },
    { SPLIT("Removed", "[\\\\w]") ", " BYTE_LEVEL("false", "false"), "\"unk_token\": \"<unk>\",", WORDS, "0 1 3 3 3 0",
      NULL },
    { SPLIT("Removed", "\\\\W") ", " BYTE_LEVEL("false", "false"), "\"unk_token\": \"<unk>\",", WORDS, "3 3 3", NULL },
    { SPLIT("Removed", "[^\\\\w]") ", " BYTE_LEVEL("false", "false"), "\"unk_token\": \"<unk>\",", WORDS, "3 3 3 3 3",
      NULL },
    { SPLIT("Removed", "\\\\p{Han}+|a") ", " BYTE_LEVEL("false", "false"), "\"unk_token\": \"<unk>\",", "a\u3001a",
      "0 0", NULL }, /* U+3001 is no character of Han alone */
    { BYTE_LEVEL("true", "true"), "", "a a", "2 0 2 0", NULL },
    { SPLIT("Isolated", "a+") ", " BYTE_LEVEL("true", "false"), "", NULL, NULL, "want add_prefix_space false" },
    { BYTE_LEVEL("false", "true") ", {\"type\": \"Digits\"}", "", NULL, NULL, "Digits after ByteLevel" },
    { BYTE_LEVEL("false", "true") ", " BYTE_LEVEL("false", "true"), "", NULL, NULL, "ByteLevel after ByteLevel" },
    { BYTE_LEVEL("false", "true"), "\"unk_token\": \"<unk>\",", "axé", "0 3 3 3", NULL },
    { BYTE_LEVEL("false", "true"), "", "axé", "0", NULL },
    { BYTE_LEVEL("false", "true"), "\"fuse_unk\": true,", "axé", "0", NULL },
    { BYTE_LEVEL("false", "true"), "\"unk_token\": \"<unk>\", \"fuse_unk\": true,", NULL, NULL,
      "no piece for byte 0x00" },
};

static void steps_before_the_merges_are_as_tokenizers_takes_them(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = g_strdup_printf(
            "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [%s]}, \"model\": {\"type\": "
            "\"BPE\", %s \"vocab\": {\"a\": 0, \"b\": 1, \"Ġ\": 2, \"<unk>\": 3}, \"merges\": []}}",
            plans[i].steps, plans[i].model);
        g_autofree char *path = put("tokenizer.json", text);
        Tokenizer *tok = tokenizer_open(path, &error);
        if (plans[i].error) {
            g_assert_null(tok);
            g_assert_nonnull(strstr(error->message, plans[i].error));
        } else {
            g_assert_no_error(error);
            expect_ids(tok, plans[i].text, false, plans[i].ids);
            tokenizer_close(tok);
        }
        g_unlink(path);
    }
}

static void ranks_of_no_published_file_may_have_a_pattern(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *ranks =
                        put("toy.tiktoken", "YQ== 0\nIA== 1\nMQ== 2\nMTE= 3\nMTExMQ== 4\n"), /* a, space, 1, 11, 1111 */
        *vocab = put("vocab.json", VOCAB);
    Tokenizer *cl100k = open_or_fail(ranks), *gpt2 = tokenizer_open_ranks(ranks, "gpt2", NULL, &error);
    g_assert_no_error(error);
    expect_ids(cl100k, "1111a", false, "3 2 2 0"); /* three digits are a word */
    expect_ids(gpt2, "1111a", false, "4 0");
    tokenizer_close(cl100k);
    tokenizer_close(gpt2);
    g_assert_null(tokenizer_open_ranks(ranks, "gpt3", NULL, &error));
    g_assert_nonnull(strstr(error->message, "there is no pattern gpt3: one of gpt2, cl100k, o200k"));
    g_clear_error(&error);
    put_merges(MERGES);
    g_assert_null(tokenizer_open_ranks(vocab, "gpt2", NULL, &error));
    g_assert_nonnull(strstr(error->message, "only a rank file of tiktoken takes a pattern"));
}

static void added_tokens_longest_first(void)
{
    g_autofree char *path =
        put("tokenizer.json",
            "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"behavior\": "
            "\"Isolated\","
            "\"pattern\": {\"Regex\": \"a|b+\"}}, {\"type\": \"ByteLevel\", \"use_regex\": false}]},"
            "\"added_tokens\": [{\"id\": 3, \"content\": \"<x\", \"special\": false}, {\"id\": 4, \"content\": \"<x>\","
            "\"special\": false}, {\"id\": 5, \"content\": \"bab\", \"special\": true}],"
            "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"bb\": 2}, \"merges\": [\"b b\"]}}");
    Tokenizer *tok = open_or_fail(path);
    expect_ids(tok, "a<x>bb<xa", false, "0 4 2 3 0");
    expect_ids(tok, "bab", false, "1 0 1");
    expect_ids(tok, "bab", true, "5");
    tokenizer_close(tok);
    g_unlink(path);
}

static void ranks_are_read(void)
{
    g_autofree char *path = put("toy.tiktoken", "YQ== 0\nYg== 1\nYWI= 2\nIA== 3\nIGFi 4\n");
    Tokenizer *tok = open_or_fail(path);
    expect_ids(tok, "ab abb", false, "2 4 1");
    tokenizer_close(tok);
}

static void parts_of_a_character_are_shown(void)
{
    static const int32_t whole[] = { 6, 7 };
    g_autofree char *vocab = put("vocab.json", VOCAB);
    put_merges(MERGES);
    Tokenizer *tok = open_or_fail(vocab);
    g_autofree char *both = tokenizer_decode(tok, whole, 2, NULL), *half = tokenizer_decode(tok, whole, 1, NULL);
    g_assert_cmpstr(both, ==, "é");
    g_assert_cmpstr(half, ==, "\xef\xbf\xbd");
    tokenizer_close(tok);
}

static void bad_files_are_refused(void)
{
    static const char *const merges[] = { "a b\nab\n", "a q\n", "a b c\n", "a  b\n" };
    g_autofree char *vocab = put("vocab.json", VOCAB);
    for (size_t i = 0; i < G_N_ELEMENTS(merges); i++) {
        put_merges(merges[i]);
        g_autoptr(GError) error = NULL;
        g_assert_null(tokenizer_open(vocab, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    }
    g_autofree char *ranks = put("bad.tiktoken", "YQ== 0\nYg== 0\n");
    g_assert_null(tokenizer_open(ranks, NULL));
}

/* A word with more symbols than are searched one by one has the merges of any other. */
static void long_words_merge_alike(void)
{
    g_autofree char *vocab = put("vocab.json", VOCAB);
    put_merges(MERGES);
    Tokenizer *tok = open_or_fail(vocab);
    GString *text = g_string_new(NULL), *ids = g_string_new("8");
    for (int i = 0; i < 1000; i++)
        g_string_append(text, "abab");
    for (int i = 1; i < 1000; i++)
        g_string_append(ids, " 8");
    g_string_append(text, "ab");
    g_string_append(ids, " 3");
    expect_ids(tok, text->str, false, ids->str);
    g_string_free(text, TRUE);
    g_string_free(ids, TRUE);
    tokenizer_close(tok);
}

static void gpt2_equals_golden(void)
{
    g_autofree char *inputs = NULL, *outputs = NULL;
    g_assert_true(g_file_get_contents(GPT2_TEXTS ".inp", &inputs, NULL, NULL));
    g_assert_true(g_file_get_contents(GPT2_TEXTS ".out", &outputs, NULL, NULL));
    static const char *const forms[] = { GPT2 "vocab.json", GPT2 "tokenizer.json" };
    g_auto(GStrv) texts = g_strsplit(inputs, "\n__ggml_vocab_test__\n", -1), ids = g_strsplit(outputs, "\n", -1);
    for (size_t form = 0; form < G_N_ELEMENTS(forms); form++) {
        Tokenizer *tok = open_or_fail(forms[form]);
        guint n = 0;
        for (; texts[n] && ids[n]; n++)
            expect_ids(tok, texts[n], false, g_strstrip(ids[n]));
        g_assert_cmpuint(n, ==, 47);
        tokenizer_close(tok);
    }
}

static void copies_are_found_and_the_same(void)
{
    g_autofree char *vocab = put("vocab.json", VOCAB);
    put_merges(MERGES);
    g_autofree char *copies = g_build_filename(folder, "copies", NULL);
    const char *const paths[] = { vocab, "bytes" };
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_assert_true(io_make_directories(copies, NULL));
        Tokenizer *tok = open_or_fail(paths[i]);
        g_assert_true(tokenizer_copy(tok, copies, NULL));
        g_autofree char *found = tokenizer_find(copies, NULL, NULL);
        Tokenizer *copy = open_or_fail(found);
        g_assert_cmpstr(tokenizer_hash(copy), ==, tokenizer_hash(tok));
        g_assert_cmpstr(tokenizer_kind(copy), ==, tokenizer_kind(tok));
        tokenizer_close(copy);
        tokenizer_close(tok);
        g_assert_true(io_remove_tree(copies, NULL));
    }
}

static void hash_covers_the_merges(void)
{
    g_autofree char *vocab = put("vocab.json", VOCAB);
    put_merges(MERGES);
    Tokenizer *tok = open_or_fail(vocab);
    put_merges("a b\n");
    Tokenizer *changed = open_or_fail(vocab);
    g_assert_cmpstr(tokenizer_hash(tok), !=, tokenizer_hash(changed));
    tokenizer_close(tok);
    tokenizer_close(changed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-bpe-XXXXXX", NULL);
    g_test_add_func("/byte_bpe/merges_that_are_dropped_at_random_are_refused",
                    merges_that_are_dropped_at_random_are_refused);
    g_test_add_func("/byte_bpe/ranks_of_no_published_file_may_have_a_pattern",
                    ranks_of_no_published_file_may_have_a_pattern);
    g_test_add_func("/byte_bpe/merges_go_by_rank", merges_go_by_rank);
    g_test_add_func("/byte_bpe/tokenizer_json_is_the_same", tokenizer_json_is_the_same);
    g_test_add_func("/byte_bpe/steps_before_the_merges_are_as_tokenizers_takes_them",
                    steps_before_the_merges_are_as_tokenizers_takes_them);
    g_test_add_func("/byte_bpe/added_tokens_are_found_longest_first", added_tokens_longest_first);
    g_test_add_func("/byte_bpe/ranks_of_tiktoken_are_read", ranks_are_read);
    g_test_add_func("/byte_bpe/parts_of_a_character_are_shown", parts_of_a_character_are_shown);
    g_test_add_func("/byte_bpe/bad_files_are_refused", bad_files_are_refused);
    g_test_add_func("/byte_bpe/long_words_merge_alike", long_words_merge_alike);
    g_test_add_func("/byte_bpe/copies_are_found_and_the_same", copies_are_found_and_the_same);
    g_test_add_func("/byte_bpe/hash_covers_the_merges", hash_covers_the_merges);
    add_where_present(GPT2_TEXTS ".inp", "/byte_bpe/gpt2_equals_golden", gpt2_equals_golden);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
