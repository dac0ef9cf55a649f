/* sentencepiece.h: the SentencePiece library behind a C interface. Its exceptions and statuses become GErrors here. */
#pragma once

#include "text/kind.h"
#include "text/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const TokenizerKind kind_sentencepiece;

/* Trains a model of type "unigram" or "bpe" on the lines of `next` (UTF-8) that hold at least one visible character;
 * *model is the file's bytes (g_free). */
bool sentencepiece_train(const char *type, const TokenizerTraining *training, TokenizerText next, void *context,
                         char **model, size_t *bytes, GError **error);

#ifdef __cplusplus
}
#endif
