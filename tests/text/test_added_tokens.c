#include "base/file.h"
#include "text/added_tokens.h"
#include "text/tokenizer.h"

#include <string.h>

/* ---- the search alone: what lies between is shown in brackets, from the text's beginning in parentheses ---- */

static GString *shown;

static bool show_plain(const void *model, const char *text, size_t bytes, TextEdges edges, GArray *ids, GError **error)
{
    (void)model, (void)error;
    for (guint i = 0; i < ids->len; i++)
        g_string_append_printf(shown, "%d", g_array_index(ids, int32_t, i));
    g_array_set_size(ids, 0);
    g_string_append_printf(shown, edges.starts_text ? "(%.*s)" : "[%.*s]", (int)bytes, text);
    return true;
}

static char *lower(const void *model, const char *text, size_t bytes, TextEdges *edges, GArray **map, GError **error)
{
    (void)model, (void)edges, (void)map, (void)error;
    return g_ascii_strdown(text, (gssize)bytes);
}

static char *find(const AddedToken *tokens, guint n, bool lowers, const char *text, bool specials)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof *tokens);
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_array_append_vals(list, tokens, n);
    AddedTokens *added =
        added_tokens_open(list, &(BaseTokenizer){ .encode = show_plain, .normalize = lowers ? lower : NULL });
    shown = g_string_new(NULL);
    g_assert_true(added_tokens_encode(added, text, strlen(text), specials, ids, NULL, NULL));
    for (guint i = 0; i < ids->len; i++)
        g_string_append_printf(shown, "%d", g_array_index(ids, int32_t, i));
    added_tokens_close(added);
    return g_string_free(shown, FALSE);
}

static void expect(AddedToken token, const char *text, const char *expected)
{
    g_autofree char *got = find(&token, 1, true, text, true);
    g_assert_cmpstr(got, ==, expected);
}

static void flags_mean_what_they_mean_to_hugging_face(void)
{
    expect((AddedToken){ .content = "<m>", .id = 7 }, "a <m> b<m>", "(a )7[ b]7");
    expect((AddedToken){ .content = "<m>", .id = 7, .lstrip = true }, " \t<m> b", "7[ b]");
    expect((AddedToken){ .content = "<m>", .id = 7, .rstrip = true }, "a <m> \xe3\x80\x80 <m>b", "(a )77[b]");
    expect((AddedToken){ .content = "<m>", .id = 7, .lstrip = true, .rstrip = true }, "a <m>  <m> b", "(a)77[b]");
    expect((AddedToken){ .content = "mo", .id = 7, .single_word = true }, "mo moo om-mo é mo_ émo",
           "7[ moo om-]7[ é mo_ émo]");
    expect((AddedToken){ .content = "MO", .id = 7 }, "mo MO", "(mo )7");
    expect((AddedToken){ .content = "MO", .id = 7, .normalized = true }, "mo MO B", "7[ ]7[ b]");
}

/* Characters at the ends of \w, and whether tokenizers 0.23 finds an added token before them. */
static void single_words_end_where_those_of_hugging_face_do(void)
{
    static const struct {
        gunichar c;
        bool found;
    } cases[] = {
        { 0xb2, true },     { 0xbd, true },     { 0x2460, true },   { 0x24ea, true },   { 0x1d2c0, true },
        { 0x24b5, true },   { 0x24b6, false },  { 0x24e9, false },  { 0x1f12f, true },  { 0x1f130, false },
        { 0x1f149, false }, { 0x1f14a, true },  { 0x1f150, false }, { 0x1f169, false }, { 0x1f16a, true },
        { 0x1f170, false }, { 0x1f189, false }, { 0x1f18a, true },  { 0x2167, false },  { 0x1c5, false },
        { 0x301, false },   { 0x903, false },   { 0x20dd, false },  { 0x96b, false },   { 0x203f, false },
        { '_', false },     { '-', true },      { 0x200b, true },   { 0x200c, false },  { 0x200d, false },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char after[7] = "";
        g_unichar_to_utf8(cases[i].c, after);
        g_autofree char *text = g_strconcat("mo", after, NULL);
        g_autofree char *want = g_strdup_printf(cases[i].found ? "7[%s]" : "(mo%s)", after);
        expect((AddedToken){ .content = "mo", .id = 7, .single_word = true }, text, want);
    }
}

static void the_longest_of_the_leftmost_is_taken(void)
{
    static const AddedToken tokens[] = { { .content = "ab", .id = 1 },
                                         { .content = "abc", .id = 2, .special = true },
                                         { .content = "bcd", .id = 3 },
                                         { .content = "ab", .id = 4 } };
    static const struct {
        const char *text, *all, *plain;
    } cases[] = { { "xabcd", "(x)2[d]", "(xabcd)" }, /* the special one hides those within it */
                  { "ab", "4", "4" },
                  { "abd bcd", "4[d ]3", "4[d ]3" },
                  { "", "", "" } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *all = find(tokens, G_N_ELEMENTS(tokens), false, cases[i].text, true);
        g_autofree char *plain = find(tokens, G_N_ELEMENTS(tokens), false, cases[i].text, false);
        g_assert_cmpstr(all, ==, cases[i].all);
        g_assert_cmpstr(plain, ==, cases[i].plain);
    }
}

/* ---- folders ---- */

static char *folder;

static void put(const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_true(io_write_file(path, text, strlen(text), NULL));
}

static Tokenizer *open_or_fail(const char *path)
{
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    return tok;
}

static void expect_ids(const Tokenizer *tok, const char *text, bool specials, const char *expected)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GString) got = g_string_new(NULL);
    g_assert_true(tokenizer_encode(tok, text, strlen(text), specials, ids, NULL));
    for (guint i = 0; i < ids->len; i++)
        g_string_append_printf(got, "%s%d", i ? " " : "", g_array_index(ids, int32_t, i));
    g_assert_cmpstr(got->str, ==, expected);
}

static void put_byte_bpe(void)
{
    io_remove_tree(folder, NULL);
    g_assert_true(io_make_directories(folder, NULL));
    put("vocab.json", "{\"a\": 0, \"b\": 1, \"Ġ\": 2, \"ab\": 3, \"<|endoftext|>\": 4}");
    put("merges.txt", "a b\n");
}

/* As transformers 4 writes them; a length of 10^30 says that there is no limit. */
static void settings_beside_a_file_add_tokens(void)
{
    put_byte_bpe();
    Tokenizer *bare = open_or_fail(folder);
    put("tokenizer_config.json",
        "{\"added_tokens_decoder\": {\"5\": {\"content\": \"<pad>\", \"special\": true}, \"6\": {\"content\": \"b b\","
        "\"lstrip\": true}}, \"pad_token\": \"<pad>\", \"model_max_length\": 1000000000000000019884624838656}");
    Tokenizer *tok = open_or_fail(folder);
    g_assert_cmpint(tokenizer_size(tok), ==, 7);
    g_assert_cmpint(tokenizer_pad(tok), ==, 5);
    g_assert_cmpint(tokenizer_id(tok, "b b"), ==, 6);
    g_assert_cmpstr(tokenizer_piece(tok, 6), ==, "b b");
    expect_ids(tok, "a b b<pad>", true, "0 6 5");
    expect_ids(tok, "a b b", false, "0 6"); /* not special: a corpus has it too, so the hash tells */
    g_assert_cmpstr(tokenizer_hash(tok), !=, tokenizer_hash(bare));
    g_autofree char *text = tokenizer_decode(tok, (const int32_t[]){ 0, 6, 5, 3 }, 4, NULL);
    g_assert_cmpstr(text, ==, "a b b ab");
    tokenizer_close(tok);
    tokenizer_close(bare);
}

/* As transformers 3 wrote them. */
static void older_folders_add_tokens_too(void)
{
    put_byte_bpe();
    put("added_tokens.json", "{\"<mask>\": 5, \"AB\": 6}");
    put("special_tokens_map.json",
        "{\"mask_token\": {\"content\": \"<mask>\", \"lstrip\": true}, \"pad_token\": \"AB\"}");
    Tokenizer *tok = open_or_fail(folder);
    expect_ids(tok, "ab <mask> b", true, "3 5 2 1"); /* the space before the blank belongs to it */
    g_assert_cmpint(tokenizer_id(tok, "AB"), ==, 6);
    tokenizer_close(tok);
    g_autoptr(GError) error = NULL;
    put("added_tokens.json", "{\"<mask>\": -5}");
    g_assert_null(tokenizer_open(folder, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
}

/* Sentinels on top, copied and written, are there when it is opened again; the hash of plain text's ids is the same. */
static void added_sentinels_stay(void)
{
    g_autofree char *copies = g_strconcat(folder, "-copy", NULL),
                    *json = g_build_filename(copies, "t.tokenizer.json", NULL);
    for (int kind = 0; kind < 3; kind++) {
        put_byte_bpe();
        if (kind == 1)
            put("vocab.txt", "[UNK]\na\nb\n##b\n[MASK]\n");
        Tokenizer *made = open_or_fail(folder);
        g_autofree char *file = g_build_filename(folder, "tokenizer.json", NULL);
        if (kind == 2)
            g_assert_true(tokenizer_write_json(made, file, NULL, NULL));
        Tokenizer *tok = open_or_fail(folder);
        int size = tokenizer_size(tok);
        tokenizer_add_sentinels(tok, TOKENIZER_SENTINELS);
        tokenizer_add_sentinels(tok, TOKENIZER_SENTINELS);
        g_assert_cmpint(tokenizer_size(tok), ==, size + TOKENIZER_SENTINELS);
        g_assert_cmpint(tokenizer_sentinel(tok, 0), ==, size + 99);
        g_assert_cmpint(tokenizer_sentinel(tok, 99), ==, size);
        g_assert_true(io_make_directories(copies, NULL) && tokenizer_copy(tok, copies, NULL));
        Tokenizer *copy = open_or_fail(copies);
        g_assert_true(tokenizer_write_json(tok, json, NULL, NULL));
        Tokenizer *whole = open_or_fail(json);
        const Tokenizer *const all[] = { tok, copy, whole };
        g_autofree char *ids = g_strdup_printf("%d %d %d %d", kind == 1, size + 99, size,
                                               kind == 1 ? 3 : 1); /* "##b": it goes on with the word in the blank */
        for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
            g_assert_cmpint(tokenizer_size(all[i]), ==, size + TOKENIZER_SENTINELS);
            g_assert_cmpint(tokenizer_sentinel(all[i], 7), ==, size + 92);
            expect_ids(all[i], "a<extra_id_0><extra_id_99>b", true, ids);
        }
        g_assert_cmpstr(tokenizer_hash(copy), ==, tokenizer_hash(tok));
        tokenizer_close(whole);
        tokenizer_close(copy);
        tokenizer_close(tok);
        tokenizer_close(made);
        io_remove_tree(copies, NULL);
    }
}

static void a_piece_of_nul_stays_one(void)
{
    put_byte_bpe();
    put("tokenizer.json",
        "{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"added_tokens\": [], \"model\": {\"type\": \"BPE\","
        "\"vocab\": {\"\\u0000\": 0, \"a\": 1}, \"merges\": []}}");
    Tokenizer *tok = open_or_fail(folder);
    tokenizer_add_sentinels(tok, TOKENIZER_SENTINELS);
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL), *text = NULL;
    g_assert_true(tokenizer_write_json(tok, path, NULL, NULL) && g_file_get_contents(path, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "\"\\u0000\": 0"));
    g_assert_nonnull(strstr(text, "<extra_id_99>"));
    tokenizer_close(tok);
}

static void two_pieces_have_two_ids(void)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        { "vocab.json", "{\"a\": 0, \"b\": 1, \"c\": 1}" },
        { "tokenizer.json",
          "{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"added_tokens\": [{\"id\": 1, \"content\": \"c\"}],"
          "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []}}" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autoptr(GError) error = NULL;
        put_byte_bpe();
        put(files[i].name, files[i].text);
        g_assert_null(tokenizer_open(folder, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, "\"b\" and \"c\" both have the id 1"));
    }
}

static void control_symbols_are_text_in_corpora(void)
{
    put_byte_bpe();
    put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n[\n]\nmask\n");
    Tokenizer *tok = open_or_fail(folder);
    expect_ids(tok, "a [MASK]a", true, "5 4 5");
    expect_ids(tok, "a [MASK]a", false, "5 6 8 7 5");
    expect_ids(tok, "a [mask]a", true, "5 6 8 7 5");
    tokenizer_close(tok);
}

/* What tokenizers 0.23.3 does with a token in the white space that the token before takes: white space behind it is
 * text again, and with lstrip nothing is left of it. */
static void white_space_of_two_tokens_belongs_to_the_second(void)
{
    const AddedToken plain[] = { { .content = "lo", .id = 7, .rstrip = true }, { .content = "\n\n", .id = 8 } },
                     strips[] = { plain[0], { .content = "\n\n", .id = 8, .lstrip = true } };
    g_autofree char *again = find(plain, 2, false, "lo \n\n  x", true),
                    *gone = find(strips, 2, false, "lo \n\nx", true);
    g_assert_cmpstr(again, ==, "78[  x]");
    g_assert_cmpstr(gone, ==, "7[x]");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-added-XXXXXX", NULL);
    g_test_add_func("/added_tokens/flags_mean_what_they_mean_to_hugging_face",
                    flags_mean_what_they_mean_to_hugging_face);
    g_test_add_func("/added_tokens/single_words_end_where_those_of_hugging_face_do",
                    single_words_end_where_those_of_hugging_face_do);
    g_test_add_func("/added_tokens/the_longest_of_the_leftmost_is_taken", the_longest_of_the_leftmost_is_taken);
    g_test_add_func("/added_tokens/settings_beside_a_file_add_tokens", settings_beside_a_file_add_tokens);
    g_test_add_func("/added_tokens/older_folders_add_tokens_too", older_folders_add_tokens_too);
    g_test_add_func("/added_tokens/added_sentinels_stay", added_sentinels_stay);
    g_test_add_func("/added_tokens/a_piece_of_nul_stays_one", a_piece_of_nul_stays_one);
    g_test_add_func("/added_tokens/control_symbols_are_text_in_corpora", control_symbols_are_text_in_corpora);
    g_test_add_func("/added_tokens/white_space_of_two_tokens_belongs_to_the_second",
                    white_space_of_two_tokens_belongs_to_the_second);
    g_test_add_func("/added_tokens/two_pieces_have_two_ids", two_pieces_have_two_ids);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
