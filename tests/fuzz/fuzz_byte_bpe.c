/* Any bytes as vocab.json, merges.txt, tokenizer.json or a rank file: an error, or ids within the vocabulary. The first
 * byte chooses the file. */
#include "fuzz_ends.h"
#include "fuzz_folder.h"
#include "text/tokenizer.h"

#include <string.h>

#define VOCAB "{\"a\": 0, \"b\": 1, \"ab\": 2, \"Ġ\": 3}"
#define TEXT  "ab abab  ba'll 12é\n"

static void encode(const Tokenizer *tok, bool specials)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    if (!tokenizer_encode(tok, TEXT, strlen(TEXT), specials, ids, NULL))
        return;
    for (guint i = 0; i < ids->len; i++) {
        int32_t id = g_array_index(ids, int32_t, i);
        CHECK(id >= 0 && id < tokenizer_size(tok), "id %d of %d", id, tokenizer_size(tok));
    }
    fuzz_check_ends(tok, TEXT, specials, ids);
    g_autofree char *text = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, NULL);
    CHECK(text && g_utf8_validate(text, -1, NULL), "no text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const names[] = { "vocab.json", "merges.txt", "tokenizer.json", "fuzz.tiktoken" };
    if (bytes == 0)
        return 0;
    size_t chosen = data[0] % G_N_ELEMENTS(names);
    static const char *const others[] = { VOCAB, "a b\n", "", "" };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (i == chosen || *others[i])
            fuzz_keep(names[i], i == chosen ? (const char *)data + 1 : others[i],
                      i == chosen ? bytes - 1 : strlen(others[i]));
    g_autofree char *path = g_build_filename(fuzz_folder(), names[chosen], NULL);
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open(path, &error);
    CHECK((tok == NULL) == (error != NULL), "an error is told");
    bool lays = chosen == 3 && bytes % 256 == 3; /* 1,024 more tokens take a hundred times as long */
    Tokenizer *laid = lays ? tokenizer_open_ranks(path, NULL, "ast-t5", NULL) : NULL;
    CHECK(!lays || (laid == NULL) == (tok == NULL), "a layout is no matter of the file");
    if (laid)
        encode(laid, true);
    tokenizer_close(laid);
    if (tok) {
        encode(tok, false);
        encode(tok, true);
        tokenizer_close(tok);
    }
    return 0;
}
