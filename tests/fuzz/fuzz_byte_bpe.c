/* Any bytes as vocab.json, merges.txt, tokenizer.json or a rank file: an error, or ids within the vocabulary. The first
 * byte chooses the file. */
#include "base/check.h"
#include "text/tokenizer.h"

#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

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
    g_autofree char *text = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, NULL);
    CHECK(text && g_utf8_validate(text, -1, NULL), "no text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const names[] = { "vocab.json", "merges.txt", "tokenizer.json", "fuzz.tiktoken" };
    if (bytes == 0)
        return 0;
    const char *name = names[data[0] % G_N_ELEMENTS(names)];
    g_autofree char *stem = g_strdup_printf("/dev/shm/loam-fuzz-%d-", (int)getpid());
    g_autofree char *path = g_strconcat(stem, name, NULL), *vocab = g_strconcat(stem, names[0], NULL),
                    *merges = g_strconcat(stem, names[1], NULL);
    g_autoptr(GError) error = NULL;
    g_file_set_contents(vocab, VOCAB, -1, NULL);
    g_file_set_contents(merges, "a b\n", -1, NULL);
    g_file_set_contents(path, (const char *)data + 1, (gssize)bytes - 1, NULL);
    Tokenizer *tok = tokenizer_open(path, &error);
    CHECK((tok == NULL) == (error != NULL), "an error is told");
    if (tok) {
        encode(tok, false);
        encode(tok, true);
        tokenizer_close(tok);
    }
    unlink(path);
    unlink(vocab);
    unlink(merges);
    return 0;
}
