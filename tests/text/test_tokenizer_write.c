#include "base/file.h"
#include "golden.h"
#include "text/byte_bpe/byte_bpe.h"
#include "text/tokenizer.h"
#include "text/tokenizer_train.h"

#include <glib/gstdio.h>
#include <jansson.h>
#include <string.h>

static char *folder;

static const char *const lines[] = { "the cat sat on the mat", "a cat and a dog sat", "the dog ate the cake on the mat",
                                     "thé café was naïve",     "so the cat ate",      "mats, cats; dogs & cakes!" };

static bool next_line(void *context, const char **line, size_t *bytes, GError **error)
{
    int *at = context;
    (void)error;
    if (*at == 60)
        return false;
    *line = lines[(*at)++ % (int)G_N_ELEMENTS(lines)];
    *bytes = strlen(*line);
    return true;
}

static Tokenizer *open_or_fail(const char *path)
{
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    return tok;
}

static Tokenizer *train(const char *type, bool byte_fallback)
{
    g_autofree char *path = g_build_filename(folder, "spiece.model", NULL);
    g_autoptr(GError) error = NULL;
    TokenizerTraining training = { .type = type,
                                   .vocab_size = (byte_fallback ? 291 : 35) + (strcmp(type, "bpe") == 0 ? 15 : 0),
                                   .out = path,
                                   .character_coverage = 1,
                                   .byte_fallback = byte_fallback };
    tokenizer_train(&training, next_line, &(int){ 0 }, &error);
    g_assert_no_error(error);
    return open_or_fail(path);
}

static char *write_json(const Tokenizer *tok)
{
    g_autoptr(GError) error = NULL;
    char *path = g_build_filename(folder, "tokenizer.json", NULL);
    tokenizer_write_json(tok, path, NULL, &error);
    g_assert_no_error(error);
    return path;
}

static void expect_same_ids(const Tokenizer *a, const Tokenizer *b)
{
    static const char *const more[] = { "", "  two  spaces ", "unknown: 漢字 and ẞ", "ｆｕｌｌ　ｗｉｄｔｈ",
                                        "tttttttttt" };
    for (size_t i = 0; i < G_N_ELEMENTS(lines) + G_N_ELEMENTS(more); i++) {
        const char *text = i < G_N_ELEMENTS(lines) ? lines[i] : more[i - G_N_ELEMENTS(lines)];
        g_autoptr(GArray) x = g_array_new(FALSE, FALSE, sizeof(int32_t)),
                          y = g_array_new(FALSE, FALSE, sizeof(int32_t));
        g_assert_true(tokenizer_encode(a, text, strlen(text), false, x, NULL));
        g_assert_true(tokenizer_encode(b, text, strlen(text), false, y, NULL));
        g_assert_cmpuint(x->len, ==, y->len);
        g_assert_true(x->len == 0 || memcmp(x->data, y->data, x->len * sizeof(int32_t)) == 0);
    }
}

static void a_unigram_model_reads_back_with_its_sentinels(void)
{
    for (int bytes = 0; bytes < 2; bytes++) {
        Tokenizer *tok = train("unigram", bytes);
        g_autofree char *path = write_json(tok);
        Tokenizer *back = open_or_fail(path);
        expect_same_ids(tok, back);
        g_assert_cmpint(tokenizer_size(back), ==, tokenizer_size(tok));
        g_assert_cmpint(tokenizer_pad(back), ==, 0);
        g_assert_cmpint(tokenizer_eos(back), ==, 1);
        g_assert_cmpint(tokenizer_unk(back), ==, 2);
        for (int i = 0; i < TOKENIZER_SENTINELS; i++)
            g_assert_cmpint(tokenizer_sentinel(back, i), ==, tokenizer_sentinel(tok, i));
        tokenizer_close(back);
        tokenizer_close(tok);
    }
}

/* SentencePiece learnt its pieces in this order, each from two that it had. */
static void a_bpe_model_s_merges_make_its_pieces_in_order(void)
{
    Tokenizer *tok = train("bpe", false);
    g_autofree char *path = write_json(tok);
    json_t *root = json_load_file(path, 0, NULL), *model = json_object_get(root, "model");
    json_t *vocab = json_object_get(model, "vocab"), *merges = json_object_get(model, "merges"), *merge;
    json_int_t last = 0;
    size_t i, n_made = 0;
    g_assert_cmpstr(json_string_value(json_object_get(model, "type")), ==, "BPE");
    json_array_foreach(merges, i, merge)
    {
        const char *left = json_string_value(json_array_get(merge, 0)),
                   *right = json_string_value(json_array_get(merge, 1));
        g_autofree char *made = g_strconcat(left, right, NULL);
        json_int_t id = json_integer_value(json_object_get(vocab, made));
        g_assert_true(json_object_get(vocab, left) && json_object_get(vocab, right));
        g_assert_cmpint(id, >=, last);
        n_made += id > last;
        last = id;
    }
    const char *piece;
    json_t *id;
    size_t n_long = 0;
    json_object_foreach(vocab, piece, id) n_long += json_integer_value(id) > 2 && g_utf8_strlen(piece, -1) > 1;
    g_assert_cmpuint(n_long, >, 10);
    g_assert_cmpuint(n_made, ==, n_long);
    json_decref(root);
    tokenizer_close(tok);
}

static void a_vocabulary_reads_back_with_its_treatment_of_text(void)
{
    static const char *const vocabularies[] = { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n##s\nsat\n&\ncafe\n",
                                                "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\ncat\nCat\n##s\ncafé\n" };
    for (size_t i = 0; i < G_N_ELEMENTS(vocabularies); i++) {
        g_autofree char *path = g_build_filename(folder, "vocab.txt", NULL);
        g_assert_true(io_write_file(path, vocabularies[i], strlen(vocabularies[i]), NULL));
        Tokenizer *tok = open_or_fail(path);
        g_autofree char *json = write_json(tok);
        Tokenizer *back = open_or_fail(json);
        expect_same_ids(tok, back);
        g_assert_cmpint(tokenizer_size(back), ==, tokenizer_size(tok));
        g_assert_cmpint(tokenizer_id(back, "[SEP]"), ==, 3);
        g_autofree char *first = NULL, *second = NULL;
        g_assert_true(g_file_get_contents(json, &first, NULL, NULL));
        g_autofree char *again = write_json(back); /* a tokenizer.json is written as it was read */
        g_assert_true(g_file_get_contents(again, &second, NULL, NULL));
        g_assert_cmpstr(first, ==, second);
        tokenizer_close(back);
        tokenizer_close(tok);
    }
}

/* A folder of vocab.json and merges.txt; the words of `lines` meet its merges, and bytes that it has not. */
static Tokenizer *open_byte_bpe(void)
{
    static const char vocab[] = "{\"t\": 0, \"h\": 1, \"e\": 2, \"Ġ\": 3, \"th\": 4, \"the\": 5, \"Ġthe\": 6,"
                                "\"a\": 7, \"at\": 8, \"c\": 9, \"Ã\": 10, \"©\": 11, \"Ã©\": 12,"
                                "\"<|endoftext|>\": 14}",
                      merges[] = "#version: 0.2\nt h\na t\nth e\nĠ the\nÃ ©\n";
    g_autofree char *path = g_build_filename(folder, "vocab.json", NULL);
    g_autofree char *beside = g_build_filename(folder, "merges.txt", NULL);
    g_assert_true(io_write_file(path, vocab, strlen(vocab), NULL));
    g_assert_true(io_write_file(beside, merges, strlen(merges), NULL));
    return open_or_fail(path);
}

static void byte_level_merges_read_back(void)
{
    Tokenizer *tok = open_byte_bpe();
    g_autofree char *path = write_json(tok);
    Tokenizer *back = open_or_fail(path);
    expect_same_ids(tok, back);
    g_assert_cmpint(tokenizer_size(back), ==, tokenizer_size(tok));
    g_assert_cmpint(tokenizer_eos(back), ==, 14);
    tokenizer_close(back);
    tokenizer_close(tok);
}

/* The pieces of `tok` below `n` as lines of tiktoken. */
static char *write_ranks(const Tokenizer *tok, int n)
{
    char *path = g_build_filename(folder, "ranks.tiktoken", NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    for (int id = 0; id < n; id++) {
        size_t bytes;
        g_autofree char *piece = byte_bpe_bytes(tokenizer_piece(tok, id), &bytes);
        g_autofree char *base64 = g_base64_encode((const guchar *)piece, bytes);
        g_string_append_printf(text, "%s %d\n", base64, id);
    }
    g_assert_true(io_write_file(path, text->str, text->len, NULL));
    return path;
}

static void ranks_become_merges(void)
{
    static const char *const pieces[] = {
        "YQ==", "Yg==", "IA==", "YWI=", "YWJi", "YmI=", "YWFiYg==", "Y2RlZg==", "ZQ=="
    };
    g_autoptr(GString) text = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++)
        g_string_append_printf(text, "%s %zu\n", pieces[i], i);
    g_autofree char *ranks = g_build_filename(folder, "toy.tiktoken", NULL);
    g_assert_true(io_write_file(ranks, text->str, text->len, NULL));
    Tokenizer *tok = open_or_fail(ranks);
    g_autofree char *path = write_json(tok);
    json_t *root = json_load_file(path, 0, NULL), *merges = json_object_get(json_object_get(root, "model"), "merges");
    static const char *const expected[] = { "a b", "ab b", "b b", "a abb" };
    g_assert_cmpuint(json_array_size(merges), ==, G_N_ELEMENTS(expected));
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
        g_assert_cmpstr(json_string_value(json_array_get(merges, i)), ==, expected[i]);
    json_decref(root);
    tokenizer_close(tok);
}

/* Ranks made of a vocabulary give the merges that made it. The vocabulary's last piece is <|endoftext|>. */
static void expect_merges_from_ranks(const char *from)
{
    g_autofree char *text = NULL, *merges_txt = g_strconcat(from, "merges.txt", NULL),
                    *vocab = g_strconcat(from, "vocab.json", NULL);
    g_assert_true(g_file_get_contents(merges_txt, &text, NULL, NULL));
    Tokenizer *tok = open_or_fail(vocab);
    g_autofree char *ranks = write_ranks(tok, tokenizer_size(tok) - 1);
    Tokenizer *ranked = open_or_fail(ranks);
    g_autofree char *path = write_json(ranked);
    json_t *root = json_load_file(path, 0, NULL), *merges = json_object_get(json_object_get(root, "model"), "merges");
    g_auto(GStrv) rows = g_strsplit(g_strchomp(text), "\n", -1);
    g_assert_cmpuint(json_array_size(merges), ==, g_strv_length(rows) - 1);
    for (size_t i = 0; i < json_array_size(merges); i++)
        g_assert_cmpstr(json_string_value(json_array_get(merges, i)), ==, rows[i + 1]);
    json_decref(root);
    tokenizer_close(ranked);
    tokenizer_close(tok);
}

static void ranks_of_a_trained_vocabulary_give_its_merges(void)
{
    expect_merges_from_ranks(GOLDEN "byte-bpe/");
}

static void ranks_of_gpt2_give_its_merges(void)
{
    expect_merges_from_ranks(SHARED "tokenizers/gpt2/");
}

/* As a byte-level BPE without merges; a folder that names ByT5Tokenizer stays bytes. */
static void bytes_read_back(void)
{
    Tokenizer *tok = open_or_fail("bytes");
    g_autofree char *alone = g_build_filename(folder, "alone", NULL);
    g_autofree char *path = g_build_filename(alone, "tokenizer.json", NULL);
    g_assert_true(io_make_directories(alone, NULL) && tokenizer_write_json(tok, path, NULL, NULL));
    Tokenizer *back = open_or_fail(alone);
    expect_same_ids(tok, back);
    g_assert_cmpstr(tokenizer_kind(back), ==, "byte-bpe");
    g_assert_cmpint(tokenizer_size(back), ==, 384);
    g_assert_cmpint(tokenizer_pad(back), ==, 0);
    g_assert_cmpint(tokenizer_eos(back), ==, 1);
    g_assert_cmpint(tokenizer_sentinel(back, 99), ==, 358);
    g_assert_true(tokenizer_copy(tok, alone, NULL));
    Tokenizer *copy = open_or_fail(alone);
    g_assert_cmpstr(tokenizer_kind(copy), ==, "bytes");
    g_assert_cmpstr(tokenizer_hash(copy), ==, tokenizer_hash(tok));
    tokenizer_close(copy);
    tokenizer_close(back);
    tokenizer_close(tok);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autoptr(GError) error = NULL;
    folder = g_dir_make_tmp("loam-tokenizer-write-XXXXXX", &error);
    g_assert_no_error(error);
    g_test_add_func("/tokenizer_write/a_unigram_model_reads_back_with_its_sentinels",
                    a_unigram_model_reads_back_with_its_sentinels);
    g_test_add_func("/tokenizer_write/a_bpe_model_s_merges_make_its_pieces_in_order",
                    a_bpe_model_s_merges_make_its_pieces_in_order);
    g_test_add_func("/tokenizer_write/a_vocabulary_reads_back_with_its_treatment_of_text",
                    a_vocabulary_reads_back_with_its_treatment_of_text);
    g_test_add_func("/tokenizer_write/byte_level_merges_read_back", byte_level_merges_read_back);
    g_test_add_func("/tokenizer_write/ranks_become_merges", ranks_become_merges);
    g_test_add_func("/tokenizer_write/ranks_of_a_trained_vocabulary_give_its_merges",
                    ranks_of_a_trained_vocabulary_give_its_merges);
    add_where_present(SHARED "tokenizers/gpt2/merges.txt", "/tokenizer_write/ranks_of_gpt2_give_its_merges",
                      ranks_of_gpt2_give_its_merges);
    g_test_add_func("/tokenizer_write/bytes_read_back", bytes_read_back);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
