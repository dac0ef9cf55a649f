#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

#include <string.h>

static GArray *encode(const Tokenizer *tok, const char *text, bool specials)
{
    GArray *ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_assert_true(tokenizer_encode(tok, text, strlen(text), specials, ids, NULL));
    return ids;
}

static void bytes_are_ids_of_byt5(void)
{
    static const int32_t expected[] = { 107, 198, 172, 35, 259, 3 + '!' };
    Tokenizer *tok = tokenizer_open("bytes", NULL);
    g_assert_nonnull(tok);
    g_assert_cmpint(tokenizer_size(tok), ==, 384);
    g_assert_cmpint(tokenizer_pad(tok), ==, 0);
    g_assert_cmpint(tokenizer_eos(tok), ==, 1);
    g_assert_cmpint(tokenizer_unk(tok), ==, 2);
    g_autoptr(GArray) ids = encode(tok, "hé <extra_id_0>!", true);
    g_assert_cmpuint(ids->len, ==, G_N_ELEMENTS(expected));
    g_assert_true(memcmp(ids->data, expected, sizeof expected) == 0);
    tokenizer_close(tok);
}

static void bytes_come_back(void)
{
    Tokenizer *tok = tokenizer_open("bytes", NULL);
    const char *text = "naïve 日本\t<extra_id_0> \x01";
    g_autoptr(GArray) ids = encode(tok, text, false);
    g_assert_cmpuint(ids->len, ==, strlen(text));
    g_autofree char *back = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, NULL);
    g_assert_cmpstr(back, ==, text);
    tokenizer_close(tok);
}

/* A NUL is decoded as U+FFFD: at the start, twice, at the end, and before an added token. */
static void a_nul_does_not_end_a_decoded_text(void)
{
    static const int32_t ids[] = { 3, 100, 3, 3, 101, 3, 259, 102, 3 };
    Tokenizer *tok = tokenizer_open("bytes", NULL);
    g_autofree char *text = tokenizer_decode(tok, ids, G_N_ELEMENTS(ids), NULL);
    g_assert_cmpstr(text, ==, "\uFFFDa\uFFFD\uFFFDb\uFFFD<extra_id_0>c\uFFFD");
    tokenizer_close(tok);
}

static TokenizerJson *read_json(const char *text, GError **error)
{
    return tokenizer_json_open(text, strlen(text), &(TokenizerClass){ .text = CLASS_AS_FILE }, error);
}

static void json_reads_merges_old_and_new(void)
{
    static const char *const forms[] = { "[\"a b\", \"ab c\"]", "[[\"a\", \"b\"], [\"ab\", \"c\"]]" };
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        g_autofree char *text =
            g_strdup_printf("{\"model\": {\"vocab\": {\"a\": 0, \"c\": 2, \"<s>\": 4}, \"merges\": %s},"
                            "\"added_tokens\": [{\"id\": 4, \"content\": \"<s>\", \"special\": true}]}",
                            forms[i]);
        g_autoptr(TokenizerJson) json = read_json(text, NULL);
        g_autofree char *left = NULL, *right = NULL;
        g_assert_nonnull(json);
        g_assert_cmpstr(json->type, ==, TOKENIZER_JSON_CHARS);
        g_assert_cmpuint(tokenizer_json_merges(json), ==, 2);
        g_assert_true(tokenizer_json_merge(json, 1, &left, &right, NULL));
        g_assert_cmpstr(left, ==, "ab");
        g_assert_cmpstr(right, ==, "c");
        g_assert_cmpuint(json->pieces->len, ==, 5);
        g_assert_null(json->pieces->pdata[1]);
        g_assert_cmpstr(json->pieces->pdata[4], ==, "<s>");
    }
}

static void json_refuses_what_is_no_tokenizer(void)
{
    static const char *const texts[] = { "[]",
                                         "{",
                                         "{\"model\": {}}",
                                         "{\"model\": {\"vocab\": {\"a\": -1}}}",
                                         "{\"model\": {\"vocab\": {\"a\": 99999999}}}",
                                         "{\"model\": {\"vocab\": [[1]]}}" };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(read_json(texts[i], &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    }
}

static void json_reads_pieces_with_nul(void)
{
    g_autoptr(TokenizerJson) json =
        read_json("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"\\u0000\": 0, \"A\": 1}, \"merges\": []}}", NULL);
    g_assert_nonnull(json);
    g_assert_cmpstr(json->pieces->pdata[0], ==, "\xef\xbf\xbf");
    g_assert_cmpstr(json->pieces->pdata[1], ==, "A");
}

/* tokenizers 0.23.3 gives each <x> the id 1, whatever the file says. */
static void ids_that_the_reference_does_not_give_added_tokens_are_refused(void)
{
    static const char *const added[] = { "{\"id\": 2, \"content\": \"<x>\"}",
                                         "{\"id\": 2, \"content\": \"<y>\"}, {\"id\": 1, \"content\": \"<x>\"}",
                                         "{\"id\": 1, \"content\": \"<x>\"}, {\"id\": 2, \"content\": \"<x>\"}" };
    for (size_t i = 0; i < G_N_ELEMENTS(added); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text =
            g_strdup_printf("{\"model\": {\"vocab\": {\"a\": 0}}, \"added_tokens\": [%s]}", added[i]);
        g_assert_null(read_json(text, &error));
        g_assert_nonnull(strstr(error->message, "has the id 2, but Hugging Face's tokenizers give it 1"));
    }
}

/* As ByT5Tokenizer, which leaves out bytes that are not UTF-8. */
static void bytes_that_are_no_text_are_left_out(void)
{
    static const int32_t ids[] = { 'a' + 3, 0xe2 + 3, 0x96 + 3, 'b' + 3, 0xc3 + 3, 0xa9 + 3, 0xff + 3 };
    g_autoptr(Tokenizer) tok = tokenizer_open("bytes", NULL);
    g_autofree char *text = tokenizer_decode(tok, ids, G_N_ELEMENTS(ids), NULL);
    g_assert_cmpstr(text, ==, "ab\u00e9");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bytes/are_the_ids_of_byt5", bytes_are_ids_of_byt5);
    g_test_add_func("/bytes/come_back", bytes_come_back);
    g_test_add_func("/bytes/a_nul_does_not_end_a_decoded_text", a_nul_does_not_end_a_decoded_text);
    g_test_add_func("/bytes/ids_that_the_reference_does_not_give_added_tokens_are_refused",
                    ids_that_the_reference_does_not_give_added_tokens_are_refused);
    g_test_add_func("/bytes/bytes_that_are_no_text_are_left_out", bytes_that_are_no_text_are_left_out);
    g_test_add_func("/tokenizer_json/reads_merges_old_and_new", json_reads_merges_old_and_new);
    g_test_add_func("/tokenizer_json/refuses_what_is_no_tokenizer", json_refuses_what_is_no_tokenizer);
    g_test_add_func("/tokenizer_json/reads_pieces_with_nul", json_reads_pieces_with_nul);
    return g_test_run();
}
