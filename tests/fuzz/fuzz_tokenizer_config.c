/* Any bytes as a file of settings beside a vocab.txt: an error that names it, or a tokenizer whose ids are within its
 * size. The first byte chooses the file. */
#include "fuzz_ends.h"
#include "fuzz_folder.h"
#include "text/frame.h"

#include <string.h>

#define VOCAB "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nA\n"
#define TEXT  "ab [MASK]A <x> \xc3\xa9 \xe4\xb8\x96 a  <x>b"

static const char *const names[] = { "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json" };

static void use(const Tokenizer *tok, bool specials)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    if (!tokenizer_encode(tok, TEXT, strlen(TEXT), specials, ids, NULL))
        return;
    for (guint i = 0; i < ids->len; i++) {
        int32_t id = g_array_index(ids, int32_t, i);
        CHECK(id >= 0 && id < tokenizer_size(tok), "id %d of %d", id, tokenizer_size(tok));
    }
    fuzz_check_ends(tok, TEXT, specials, ids);
    g_free(tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, NULL));
}

/* The bytes as the settings of a frame, in both places where transformers has them. */
static void read_frames(const Tokenizer *tok, const char *data, size_t bytes)
{
    json_auto_t *json = json_loadb(data, bytes, 0, NULL);
    g_autoptr(GError) error = NULL;
    TextFrame flags = frame_of_flags(json, tok), read;
    json_decref(frame_json(&flags, true, tok));
    CHECK(frame_read(&read, json, tok, &error) == (error == NULL), "an error or a frame, not both");
    if (error == NULL)
        json_decref(frame_json(&read, true, tok));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0)
        return 0;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "vocab.txt", NULL);
    size_t chosen = data[0] % G_N_ELEMENTS(names);
    fuzz_keep("vocab.txt", VOCAB, strlen(VOCAB));
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        fuzz_keep(names[i], i == chosen ? (const char *)data + 1 : "{}", i == chosen ? bytes - 1 : 2);
    Tokenizer *tok = tokenizer_open(path, &error);
    CHECK((tok == NULL) == (error != NULL), "an error or a tokenizer, not both");
    CHECK(tok || strstr(error->message, fuzz_folder()), "%s", error->message);
    if (tok) {
        use(tok, false);
        use(tok, true);
        read_frames(tok, (const char *)data + 1, bytes - 1);
    }
    tokenizer_close(tok);
    return 0;
}
