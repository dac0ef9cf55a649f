/* Any bytes as a file of a tokenizer: an error, or ids within its size for text of every kind. The first byte chooses
 * how the file is read. */
#include "fuzz_ends.h"
#include "fuzz_folder.h"
#include "text/tokenizer.h"

#include <string.h>

static const char *const names[] = { "vocab.txt", "tokenizer.json" };
static const char *const texts[] = { "", " a b  ab ", "The cat's hat, 2026!",
                                     "caf\xc3\xa9 \xe4\xb8\x96\xe7\x95\x8c \xf0\x9f\x8c\xb3",
                                     "aaaaaaaaaaaaaaaaaaaaaaaa\t[MASK]</s>" };

static void use(const Tokenizer *tok)
{
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
        g_autoptr(GError) error = NULL;
        if (!tokenizer_encode(tok, texts[i], strlen(texts[i]), i & 1, ids, &error))
            continue;
        for (guint j = 0; j < ids->len; j++) {
            int32_t id = g_array_index(ids, int32_t, j);
            CHECK(id >= 0 && id < tokenizer_size(tok), "id %d of %d", id, tokenizer_size(tok));
        }
        fuzz_check_ends(tok, texts[i], i & 1, ids);
        g_autofree char *text = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, &error);
        CHECK(text || error, "neither text nor an error");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0)
        return 0;
    const char *name = names[data[0] % 2];
    g_autofree char *path = g_build_filename(fuzz_folder(), name, NULL);
    g_autoptr(GError) error = NULL;
    fuzz_put(name, data + 1, bytes - 1);
    Tokenizer *tok = tokenizer_open(path, &error);
    CHECK(tok || error, "neither a tokenizer nor an error");
    if (tok)
        use(tok);
    tokenizer_close(tok);
    return 0;
}
