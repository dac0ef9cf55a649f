/* With what characters pieces start. */
#include "text/tokenizer.h"

#include "golden.h"

static void check(const char *model, const char *piece, PieceStart start)
{
    GError *error = NULL;
    g_autoptr(Tokenizer) tok = tokenizer_open(model, &error);
    g_assert_no_error(error);
    g_autofree uint8_t *starts = piece_starts(tok);
    int id = tokenizer_id(tok, piece);
    if (id < 0)
        g_error("%s has no piece %s", model, piece);
    g_assert_cmpint(starts[id], ==, start);
}

static void pieces_start_with_characters_or_within_them(void)
{
    check(GOLDEN "byte-bpe/tokenizer.json", "a", PIECE_CHAR);
    check(GOLDEN "byte-bpe/tokenizer.json", "\xc3\xa3", PIECE_UNSPACED); /* byte 0xe3, of U+3000 to U+3FFF */
    check(GOLDEN "byte-bpe/tokenizer.json", "\xc4\xa3", PIECE_INSIDE);   /* byte 0x81 */
    check(GOLDEN "byte-bpe/tokenizer.json", "\xc3\xa0", PIECE_CHAR);     /* byte 0xe0, of Thai and of Hindi */
    check(GOLDEN "llama/tokenizer.json", "<0xE3>", PIECE_UNSPACED);
    check(GOLDEN "llama/tokenizer.json", "<0x81>", PIECE_INSIDE);
    check(GOLDEN "llama/tokenizer.json", "<0x41>", PIECE_CHAR);
    check(GOLDEN "unigram/tokenizer.json", "\xe2\x96\x81know", PIECE_CHAR);
    check(GOLDEN "wordpiece/vocab.txt", "##ing", PIECE_CHAR);
}

static void check_bytes(const char *model, const char *piece, int32_t bytes)
{
    g_autoptr(Tokenizer) tok = tokenizer_open(model, NULL);
    g_autofree int32_t *counts = piece_bytes(tok);
    g_assert_cmpint(counts[tokenizer_id(tok, piece)], ==, bytes);
}

static void pieces_of_bytes_have_so_many(void)
{
    check_bytes(GOLDEN "byte-bpe/tokenizer.json", "a", 1);
    check_bytes(GOLDEN "byte-bpe/tokenizer.json", "\xc3\xa3", 1); /* byte 0xe3, a part of a character */
    check_bytes(GOLDEN "llama/tokenizer.json", "<0xE3>", 1);
    check_bytes(GOLDEN "unigram/tokenizer.json", "\xe2\x96\x81know", -1);
    check_bytes(GOLDEN "wordpiece/vocab.txt", "##ing", -1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/piece_start/pieces_start_with_characters_or_within_them",
                    pieces_start_with_characters_or_within_them);
    g_test_add_func("/piece_start/pieces_of_bytes_have_so_many", pieces_of_bytes_have_so_many);
    return g_test_run();
}
