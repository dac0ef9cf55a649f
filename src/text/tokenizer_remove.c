#include "base/file.h"
#include "text/tokenizer.h"

/* The names that tokenizer_copy gives to the files of every kind. */
static const char *const names[] = { "spiece.model",   "vocab.txt",      "vocab.json",           "merges.txt",
                                     "ranks.tiktoken", "tokenizer.json", "tokenizer_config.json" };

bool tokenizer_remove(const char *folder, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        if (!io_remove_file(path, error))
            return false;
    }
    return true;
}
