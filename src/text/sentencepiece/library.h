/* sentencepiece/library.h: the SentencePiece library behind a C interface. Its exceptions and statuses are turned into
 * GErrors. */
#pragma once

#include "text/tokenizer_train.h"

G_BEGIN_DECLS

/* Trains a model of type "unigram" or "bpe" on the lines of `next` (UTF-8) that hold at least one visible character;
 * *model becomes the bytes of the .model file (free with g_free). */
bool sp_library_train(const char *type, const TokenizerTraining *training, TokenizerText next, void *context,
                      char **model, size_t *bytes, GError **error);

G_END_DECLS
