/* Any bytes as a SentencePiece model: an error that names the file, or ids within its size. */
#include "fuzz_ends.h"
#include "fuzz_folder.h"
#include "text/tokenizer.h"

#include <string.h>

#define TEXT " a bace  caf\xc3\xa9 \xe4\xb8\x96\xe7\x95\x8c\n12 <extra_id_0>"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "fuzz.model", NULL);
    fuzz_put("fuzz.model", data, bytes);
    Tokenizer *tok = tokenizer_open(path, &error);
    CHECK((tok == NULL) == (error != NULL), "an error or a tokenizer, not both");
    CHECK(tok || strstr(error->message, path), "%s", error->message);
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    bool encoded = tok && tokenizer_encode(tok, TEXT, strlen(TEXT), true, ids, NULL);
    if (encoded)
        fuzz_check_ends(tok, TEXT, true, ids);
    if (encoded)
        for (guint i = 0; i < ids->len; i++) {
            int32_t id = g_array_index(ids, int32_t, i);
            CHECK(id >= 0 && id < tokenizer_size(tok), "id %d of %d", id, tokenizer_size(tok));
        }
    tokenizer_close(tok);
    return 0;
}
