#include "base/file.h"
#include "golden.h"
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define T5 SHARED "tokenizers/t5/"

#define VOCAB                                                                                                          \
    "[[\"<pad>\",0],[\"</"                                                                                             \
    "s>\",0],[\"<unk>\",0],[\"▁\",-3],[\"a\",-4],[\"b\",-4],[\"ab\",-5],[\"▁a\",-3.5],[\"c\",-6],[\"bc\",-6.5]"
#define ADDED                                                                                                          \
    "\"added_tokens\":[{\"id\":0,\"content\":\"<pad>\",\"special\":true},{\"id\":1,\"content\":\"</"                   \
    "s>\",\"special\":true}],"
#define SQUEEZE                                                                                                        \
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"}," METASPACE "]},"
#define METASPACE "{\"type\":\"Metaspace\",\"replacement\":\"▁\",\"add_prefix_space\":true}"

static char *folder;

static Tokenizer *open_text(const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    g_assert_true(io_write_file(path, text, strlen(text), error));
    return tokenizer_open(path, error);
}

static Tokenizer *open_or_fail(const char *text)
{
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = open_text(text, &error);
    g_assert_no_error(error);
    return tok;
}

static char *encode(const Tokenizer *tok, const char *text, size_t bytes)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GError) error = NULL;
    GString *line = g_string_new(NULL);
    tokenizer_encode(tok, text, bytes, false, found, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < found->len; i++)
        g_string_append_printf(line, "%s%d", i ? " " : "", g_array_index(found, int32_t, i));
    return g_string_free(line, FALSE);
}

static void expect_ids(const Tokenizer *tok, const char *text, const char *ids)
{
    g_autofree char *found = encode(tok, text, strlen(text));
    g_assert_cmpstr(found, ==, ids);
}

static void the_most_probable_pieces_are_found(void)
{
    Tokenizer *tok = open_or_fail("{" ADDED SQUEEZE "\"model\":{\"unk_id\":2,\"vocab\":" VOCAB "]}}");
    g_assert_cmpstr(tokenizer_kind(tok), ==, "unigram");
    g_assert_cmpint(tokenizer_eos(tok), ==, 1);
    expect_ids(tok, "ab", "7 5");         /* ▁a b: -7.5; ▁ ab: -8 */
    expect_ids(tok, "abc", "7 9");        /* ▁a bc: -10 */
    expect_ids(tok, "  b   a ", "3 5 7"); /* spaces are squeezed */
    expect_ids(tok, "", "");
    expect_ids(tok, "   ", "");
    expect_ids(tok, "</s>", "3 2"); /* a special token is never found in a corpus; unknown neighbours count once */
    expect_ids(tok, "axyb", "7 2 5");
    tokenizer_close(tok);
}

static void spaces_are_kept_without_a_word_splitter(void)
{
    Tokenizer *tok = open_or_fail("{" ADDED "\"pre_tokenizer\":" METASPACE
                                  ",\"model\":{\"type\":\"Unigram\",\"unk_id\":2,\"vocab\":" VOCAB "]}}");
    expect_ids(tok, " b  a", "3 5 3 7"); /* no space is put before one */
    expect_ids(tok, "b  a", "3 5 3 7");
    tokenizer_close(tok);
    tok = open_or_fail("{" ADDED
                       "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"▁\",\"prepend_scheme\":\"never\"}"
                       ",\"model\":{\"type\":\"Unigram\",\"unk_id\":2,\"vocab\":" VOCAB "]}}");
    expect_ids(tok, "b a", "5 7");
    tokenizer_close(tok);
}

static void unknown_characters_fall_back_to_bytes(void)
{
    g_autoptr(GString) text = g_string_new("{" ADDED SQUEEZE "\"model\":{\"type\":\"Unigram\",\"byte_fallback\":true,"
                                           "\"unk_id\":2,\"vocab\":" VOCAB);
    for (int i = 0; i < 256; i++)
        g_string_append_printf(text, ",[\"<0x%02X>\",0]", (unsigned)i);
    g_string_append(text, "]}}");
    Tokenizer *tok = open_or_fail(text->str);
    expect_ids(tok, "aéb", "7 205 179 5"); /* 0xc3 0xa9; the bytes begin at 10 */
    static const int32_t ids[] = { 7, 205, 179, 5, 3, 6 };
    g_autoptr(GError) error = NULL;
    g_autofree char *back = tokenizer_decode(tok, ids, G_N_ELEMENTS(ids), &error);
    g_assert_cmpstr(back, ==, "aéb ab");
    static const int32_t with_unknown[] = { 7, 2, 5, 2, 7 }; /* of tokenizers 0.23 with skip_special_tokens=False */
    g_autofree char *shown = tokenizer_decode(tok, with_unknown, G_N_ELEMENTS(with_unknown), &error);
    g_assert_cmpstr(shown, ==, "a<unk>b<unk> a");
    tokenizer_close(tok);
}

/* The ids of tokenizers 0.23 with encode_special_tokens. */
static void merges_of_characters_may_make_and_use_a_special_token(void)
{
    Tokenizer *tok =
        open_or_fail("{\"added_tokens\":[{\"id\":1,\"content\":\"</s>\",\"special\":true}],"
                     "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"vocab\":{\"<unk>\":0,\"</s>\":1,"
                     "\"<\":2,\"/\":3,\"s\":4,\">\":5,\"/s\":6,\"/s>\":7,\"a\":8,\"</s>a\":9},"
                     "\"merges\":[\"/ s\",\"/s >\",\"< /s>\",\"</s> a\"]}}");
    expect_ids(tok, "a</s>s", "8 1 4");
    expect_ids(tok, "</s>a/s", "9 6");
    tokenizer_close(tok);
}

static void what_cannot_be_read_is_refused(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]]}}", "none of its pieces is the unknown one" },
        { "{\"model\":{\"type\":\"Unigram\",\"unk_id\":7,\"vocab\":[[\"a\",-1]]}}",
          "none of its pieces is the unknown one" },
        { "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"a\",-1]]}}",
          "no piece <0x00>" },
        { "{\"normalizer\":{\"type\":\"Nmt\"},\"model\":{\"unk_id\":0,\"vocab\":[[\"a\",-1]]}}",
          "its normalizer is Nmt" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[\"a b\"]}}",
          "merge 0, of \"a\" and \"b\", has a piece that is not in the vocabulary" },
        { "{\"pre_tokenizer\":{\"type\":\"Digits\"},\"model\":{\"unk_id\":0,\"vocab\":[[\"a\",-1]]}}",
          "the pre-tokenizer Digits" },
        { "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAQAAAAA\"},\"model\":{\"unk_id\":0,"
          "\"vocab\":[[\"a\",-1]]}}",
          "its character map is damaged" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(open_text(bad[i].text, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        if (strstr(error->message, bad[i].words) == NULL)
            g_error("\"%s\" does not say \"%s\"", error->message, bad[i].words);
    }
}

/* Ties included: long runs of one character are nothing but ties. */
static void t5_s_tokenizer_json_gives_sentencepiece_s_ids(void)
{
    static const char *const files[] = { T5 "golden-inputs.txt", SHARED "text/wagahai-ja.txt",
                                         SHARED "text/tinyshakespeare.txt" };
    g_autoptr(GError) error = NULL;
    Tokenizer *library = tokenizer_open(T5 "spiece.model", &error), *own = tokenizer_open(T5 "tokenizer.json", &error);
    g_assert_no_error(error);
    g_assert_cmpint(tokenizer_sentinel(own, 0), ==, 32099);
    g_assert_cmpint(tokenizer_size(own), ==, 32100);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *text = io_read_file(files[i], 1 << 24, NULL, &error);
        g_assert_no_error(error);
        g_auto(GStrv) lines = g_strsplit(text, "\n", 1500);
        for (int j = 0; lines[j] && j < 1499; j++) {
            g_autofree char *want = encode(library, lines[j], strlen(lines[j]));
            expect_ids(own, lines[j], want);
        }
    }
    tokenizer_close(library);
    tokenizer_close(own);
}

static void runs_of_one_character_are_split_as_sentencepiece_does(void)
{
    g_autoptr(GError) error = NULL;
    Tokenizer *library = tokenizer_open(T5 "spiece.model", &error), *own = tokenizer_open(T5 "tokenizer.json", &error);
    g_assert_no_error(error);
    for (char c = 33; c < 127; c++) {
        for (size_t n = 1; n < 40; n++) {
            g_autofree char *run = g_strnfill(n, c);
            g_autofree char *text = g_strconcat("the run ", run, NULL);
            g_autofree char *want = encode(library, text, strlen(text));
            expect_ids(own, text, want);
        }
    }
    tokenizer_close(library);
    tokenizer_close(own);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autoptr(GError) error = NULL;
    folder = g_dir_make_tmp("loam-unigram-XXXXXX", &error);
    g_assert_no_error(error);
    g_test_add_func("/unigram/the_most_probable_pieces_are_found", the_most_probable_pieces_are_found);
    g_test_add_func("/unigram/spaces_are_kept_without_a_word_splitter", spaces_are_kept_without_a_word_splitter);
    g_test_add_func("/unigram/unknown_characters_fall_back_to_bytes", unknown_characters_fall_back_to_bytes);
    g_test_add_func("/unigram/merges_of_characters_may_make_and_use_a_special_token",
                    merges_of_characters_may_make_and_use_a_special_token);
    g_test_add_func("/unigram/what_cannot_be_read_is_refused", what_cannot_be_read_is_refused);
    add_where_present(T5 "spiece.model", "/unigram/t5_s_tokenizer_json_gives_sentencepiece_s_ids",
                      t5_s_tokenizer_json_gives_sentencepiece_s_ids);
    add_where_present(T5 "spiece.model", "/unigram/runs_of_one_character_are_split_as_sentencepiece_does",
                      runs_of_one_character_are_split_as_sentencepiece_does);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
