#include "text/kinds.h"

#include "base/file.h"
#include "text/byte_bpe.h"
#include "text/bytes.h"
#include "text/sentencepiece.h"
#include "text/tokenizer.h"
#include "text/unigram.h"
#include "text/wordpiece.h"

const TokenizerKind *const tokenizer_kinds[N_TOKENIZER_KINDS] = { &kind_sentencepiece, &kind_wordpiece, &kind_byte_bpe,
                                                                  &kind_tiktoken,      &kind_bytes,     &kind_unigram };

static bool remove_named(const char *folder, const char *name, GError **error)
{
    g_autofree char *path = name ? g_build_filename(folder, name, NULL) : NULL;
    return path == NULL || io_remove_file(path, error);
}

bool tokenizer_remove(const char *folder, GError **error)
{
    for (size_t i = 0; i < N_TOKENIZER_KINDS; i++)
        if (!remove_named(folder, tokenizer_kinds[i]->file_name, error) ||
            !remove_named(folder, tokenizer_kinds[i]->beside, error))
            return false;
    return remove_named(folder, JSON_FILE, error) && remove_named(folder, CONFIG_FILE, error);
}
