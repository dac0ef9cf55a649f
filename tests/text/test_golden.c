/* The ids that the libraries of other tokenizers give, from each form in which their models are kept. */
#include "base/file.h"
#include "golden.h"
#include "text/tokenizer.h"

#include <jansson.h>
#include <string.h>

static const struct {
    const char *path, *model, *ids;
    bool specials; /* the library read special tokens in the text */
} models[] = {
    { "/golden/byte_bpe_from_vocab_and_merges", "byte-bpe/vocab.json", "byte-bpe/ids.jsonl", false },
    { "/golden/byte_bpe_from_tokenizer_json", "byte-bpe/tokenizer.json", "byte-bpe/ids.jsonl", false },
    { "/golden/wordpiece_from_its_vocabulary", "wordpiece/vocab.txt", "wordpiece/ids.jsonl", true },
    { "/golden/wordpiece_from_an_old_tokenizer_json", "wordpiece/tokenizer.json", "wordpiece/ids.jsonl", true },
    { "/golden/unigram_from_its_model", "unigram/spiece.model", "unigram/ids.jsonl", false },
    { "/golden/unigram_from_tokenizer_json", "unigram/tokenizer.json", "unigram/ids.jsonl", false },
};

static void expect_line(const Tokenizer *tok, size_t m, const char *text, const json_t *wanted)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GError) error = NULL;
    tokenizer_encode(tok, text, strlen(text), models[m].specials, found, &error);
    g_assert_no_error(error);
    bool same = found->len == json_array_size(wanted);
    for (guint i = 0; same && i < found->len; i++)
        same = g_array_index(found, int32_t, i) == json_integer_value(json_array_get(wanted, i));
    if (!same) {
        g_autoptr(GString) got = g_string_new(NULL);
        for (guint i = 0; i < found->len; i++)
            g_string_append_printf(got, " %d", g_array_index(found, int32_t, i));
        char *want = json_dumps(wanted, JSON_COMPACT);
        g_error("%s: \"%s\" is%s, not %s", models[m].model, text, got->str, want);
    }
}

static void gives_the_library_s_ids(gconstpointer data)
{
    size_t m = GPOINTER_TO_SIZE(data);
    g_autofree char *model = g_strconcat(GOLDEN, models[m].model, NULL),
                    *ids = g_strconcat(GOLDEN, models[m].ids, NULL);
    g_autofree char *content = NULL;
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open(model, &error);
    g_assert_no_error(error);
    g_assert_true(g_file_get_contents(ids, &content, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(g_strchomp(content), "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), >, 50);
    for (char **line = lines; *line; line++) {
        json_t *record = json_loads(*line, 0, NULL);
        const char *text = json_string_value(json_object_get(record, "text"));
        expect_line(tok, m, text, json_object_get(record, "ids"));
        json_decref(record);
    }
    tokenizer_close(tok);
}

static void sentinels_count_down_from_the_top(void)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open(GOLDEN "unigram/tokenizer.json", &error);
    g_assert_no_error(error);
    int32_t size = tokenizer_size(tok);
    g_assert_cmpint(tokenizer_sentinel(tok, 0), ==, size - 1);
    g_assert_true(tokenizer_encode(tok, "<extra_id_0><extra_id_99>", 25, true, found, NULL));
    g_assert_cmpint(g_array_index(found, int32_t, 0), ==, size - 1);
    g_assert_cmpint(g_array_index(found, int32_t, found->len - 1), ==, size - 100);
    tokenizer_close(tok);
}

/* What the decoders ByteFallback and ByteLevel of tokenizers make of bytes that are no character. */
static void parts_of_characters_are_decoded_as_in_the_reference(void)
{
    static const struct {
        const char *file, *pieces[4], *want;
    } cases[] = {
        { GOLDEN "llama/tokenizer.json", { "<0xE3>", "<0x81>", "<0x41>" }, "\uFFFD\uFFFD\uFFFD" },
        { GOLDEN "llama/tokenizer.json", { "<0xC3>", "<0xA9>", "a", "<0xE3>" }, "\u00e9a\uFFFD" },
        { GOLDEN "llama/tokenizer.json", { "<0x00>", "<0xC3>", "<0xA9>" }, "\uFFFD\u00e9" }, /* U+FFFD is its NUL */
        { GOLDEN "byte-bpe/tokenizer.json", { "\u00e3", "\u0123", "A" }, "\uFFFDA" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Tokenizer) tok = tokenizer_open(cases[i].file, NULL);
        int32_t ids[4];
        int n = 0;
        for (; n < 4 && cases[i].pieces[n]; n++)
            ids[n] = tokenizer_id(tok, cases[i].pieces[n]);
        g_autofree char *text = tokenizer_decode(tok, ids, n, NULL);
        g_assert_cmpstr(text, ==, cases[i].want);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++)
        g_test_add_data_func(models[i].path, GSIZE_TO_POINTER(i), gives_the_library_s_ids);
    g_test_add_func("/golden/sentinels_count_down_from_the_top", sentinels_count_down_from_the_top);
    g_test_add_func("/golden/parts_of_characters_are_decoded_as_in_the_reference",
                    parts_of_characters_are_decoded_as_in_the_reference);
    return g_test_run();
}
