/* Any bytes as tokenizer_config.json beside a vocab.txt: an error that names it, or a tokenizer that encodes. */
#include "fuzz_folder.h"
#include "text/tokenizer.h"

#include <string.h>

#define VOCAB "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nA\n"
#define TEXT  "ab A \xc3\xa9 \xe4\xb8\x96"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "vocab.txt", NULL);
    fuzz_put("vocab.txt", VOCAB, strlen(VOCAB));
    fuzz_put("tokenizer_config.json", data, bytes);
    Tokenizer *tok = tokenizer_open(path, &error);
    CHECK((tok == NULL) == (error != NULL), "an error or a tokenizer, not both");
    CHECK(tok || strstr(error->message, "tokenizer_config.json"), "%s", error->message);
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    CHECK(!tok || tokenizer_encode(tok, TEXT, strlen(TEXT), false, ids, NULL), "no ids");
    tokenizer_close(tok);
    return 0;
}
