/* AST-T5's layout of tiktoken's pieces: ids that tiktoken itself gave (tools/make-tiktoken.py), moved; the sizes that
 * cl100k's published counts lead to; the tokenizer.json that holds it. */
#include "base/file.h"
#include "golden.h"
#include "text/tokenizer.h"

#include <jansson.h>
#include <string.h>

enum { RANKS = 420, MOVED = 4, SENTINELS = 1023 };

static char *folder;

static Tokenizer *open_small(const char *layout)
{
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open_ranks(GOLDEN "tiktoken/small.tiktoken", NULL, layout, &error);
    g_assert_no_error(error);
    return tok;
}

/* Every text of ids.jsonl has tiktoken's ids, each `moved` further, and comes back. */
static void expect_ids_moved(const Tokenizer *tok, int moved)
{
    g_autofree char *content = NULL;
    g_assert_true(g_file_get_contents(GOLDEN "tiktoken/ids.jsonl", &content, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(g_strchomp(content), "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), >, 15);
    for (char **line = lines; *line; line++) {
        json_t *record = json_loads(*line, 0, NULL), *wanted = json_object_get(record, "ids");
        const char *text = json_string_value(json_object_get(record, "text"));
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
        g_assert_true(tokenizer_encode(tok, text, strlen(text), false, ids, NULL));
        g_assert_cmpuint(ids->len, ==, json_array_size(wanted));
        for (guint i = 0; i < ids->len; i++)
            g_assert_cmpint(g_array_index(ids, int32_t, i), ==, json_integer_value(json_array_get(wanted, i)) + moved);
        g_autofree char *back = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, NULL);
        g_assert_cmpstr(back, ==, text);
        json_decref(record);
    }
}

static void ids_are_those_of_tiktoken(void)
{
    Tokenizer *tok = open_small(NULL);
    g_assert_cmpint(tokenizer_size(tok), ==, RANKS + 1);
    g_assert_cmpint(tokenizer_target_end(tok), ==, -1);
    expect_ids_moved(tok, 0);
    tokenizer_close(tok);
}

static void expect_layout(const Tokenizer *tok, int pieces)
{
    int first = MOVED + pieces; /* id of <sen000> */
    g_assert_cmpint(tokenizer_size(tok), ==, first + 1024);
    g_assert_cmpint(tokenizer_bos(tok), ==, 0);
    g_assert_cmpint(tokenizer_pad(tok), ==, 1);
    g_assert_cmpint(tokenizer_eos(tok), ==, 2);
    g_assert_cmpint(tokenizer_unk(tok), ==, 3);
    g_assert_cmpint(tokenizer_target_end(tok), ==, first);
    g_assert_cmpint(tokenizer_sentinels(tok), ==, SENTINELS);
    g_assert_cmpint(tokenizer_sentinel(tok, 0), ==, first + 1);
    g_assert_cmpint(tokenizer_sentinel(tok, SENTINELS - 1), ==, first + 1023);
    g_assert_cmpstr(tokenizer_piece(tok, first + 1023), ==, "<sen1023>");
}

static void ast_t5_has_four_ids_before_and_1024_after(void)
{
    Tokenizer *tok = open_small("ast-t5");
    expect_layout(tok, RANKS + 1);
    g_assert_cmpint(tokenizer_id(tok, "<|endoftext|>"), ==, RANKS + MOVED);
    expect_ids_moved(tok, MOVED);
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_assert_true(tokenizer_encode(tok, "<sen002>", 8, true, ids, NULL));
    g_assert_cmpuint(ids->len, ==, 1);
    g_assert_cmpint(g_array_index(ids, int32_t, 0), ==, tokenizer_sentinel(tok, 1));
    tokenizer_close(tok);
}

static void it_goes_through_tokenizer_json(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    Tokenizer *tok = open_small("ast-t5");
    g_assert_true(tokenizer_write_json(tok, path, NULL, &error));
    g_assert_no_error(error);
    tokenizer_close(tok);
    tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    g_assert_cmpint(tokenizer_sentinels(tok), ==, SENTINELS);
    g_assert_cmpint(tokenizer_size(tok), ==, MOVED + RANKS + 1 + 1024);
    g_assert_cmpint(tokenizer_pad(tok), ==, 1);
    g_assert_cmpint(tokenizer_eos(tok), ==, 2);
    expect_ids_moved(tok, MOVED);
    tokenizer_close(tok);
}

/* A file with as many ranks as cl100k's: bytes, pairs, and triples of them. */
static void sizes_are_those_of_cl100k(void)
{
    enum { N = 100256 };
    GString *lines = g_string_new(NULL);
    for (int rank = 0; rank < N; rank++) {
        const int pair = rank - 256, triple = pair - 65536;
        const guchar bytes[] = { (guchar)(rank < 256   ? rank
                                          : triple < 0 ? pair / 256
                                                       : triple / 256),
                                 (guchar)(triple < 0 ? pair : triple), 0 };
        g_autofree char *base64 = g_base64_encode(bytes, rank < 256 ? 1 : triple < 0 ? 2 : 3);
        g_string_append_printf(lines, "%s %d\n", base64, rank);
    }
    g_autofree char *path = g_build_filename(folder, "cl100k_base.tiktoken", NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(g_file_set_contents(path, lines->str, (gssize)lines->len, NULL));
    g_string_free(lines, TRUE);
    Tokenizer *tok = tokenizer_open_ranks(path, NULL, "ast-t5", &error);
    g_assert_no_error(error);
    expect_layout(tok, 100261);
    g_assert_cmpint(tokenizer_size(tok), ==, 101289);
    g_assert_cmpint(tokenizer_id(tok, "<sen000>"), ==, 100265);
    g_assert_cmpint(tokenizer_id(tok, "<|endoftext|>"), ==, 100260); /* rank 100,256 is no piece's */
    g_assert_cmpint(tokenizer_id(tok, "<|endofprompt|>"), ==, 100264);
    tokenizer_close(tok);
}

static void other_files_have_no_layout(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(tokenizer_open_ranks(GOLDEN "tiktoken/small.tiktoken", NULL, "t5", &error));
    g_assert_nonnull(strstr(error->message, "there is no layout t5: ast-t5"));
    g_clear_error(&error);
    g_assert_null(tokenizer_open_ranks(GOLDEN "byte-bpe/vocab.json", NULL, "ast-t5", &error));
    g_assert_nonnull(strstr(error->message, "only a rank file of tiktoken takes a layout"));
    g_clear_error(&error);
    g_assert_null(tokenizer_open_ranks(GOLDEN "byte-bpe/tokenizer.json", NULL, "ast-t5", &error));
    g_assert_nonnull(strstr(error->message, "only a rank file of tiktoken takes a layout"));
    g_clear_error(&error);
    g_assert_null(tokenizer_open_ranks(GOLDEN "byte-bpe/tokenizer.json", "gpt2", NULL, &error));
    g_assert_nonnull(strstr(error->message, "only a rank file of tiktoken takes a pattern"));
}

/* A decoder that leaves out strange characters would give another piece. */
static void damaged_base64_is_told(void)
{
    static const char *const pieces[] = { "!YQ==", "Y#Q==", "YQ=", "YQ", "=", "YR==" };
    g_autofree char *path = g_build_filename(folder, "damaged.tiktoken", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = g_strdup_printf("YA== 0\n%s 1\n", pieces[i]);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        g_assert_null(tokenizer_open_ranks(path, NULL, NULL, &error));
        g_assert_nonnull(strstr(error->message, "line 2: the piece is no base64"));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-test-XXXXXX", NULL);
#define CASE(name) g_test_add_func("/tiktoken/" #name, name)
    CASE(ids_are_those_of_tiktoken);
    CASE(ast_t5_has_four_ids_before_and_1024_after);
    CASE(it_goes_through_tokenizer_json);
    CASE(sizes_are_those_of_cl100k);
    CASE(other_files_have_no_layout);
    CASE(damaged_base64_is_told);
    int failed = g_test_run();
    g_assert_true(io_remove_tree(folder, NULL));
    return failed;
}
