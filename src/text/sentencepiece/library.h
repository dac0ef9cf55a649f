/* sentencepiece/library.h: the SentencePiece library behind a C interface. Its exceptions and error statuses become
 * GErrors. */
#pragma once

#include "text/tokenizer_train.h"

G_BEGIN_DECLS

/* Trains a model of type "unigram" or "bpe" on those lines (UTF-8) of the texts of `next` that have at least one
 * visible character. *model becomes the content of the .model file, *bytes its length; free with g_free. */
bool sp_library_train(const char *type, const TokenizerTraining *training, TokenizerText next, void *context,
                      char **model, size_t *bytes, GError **error);

G_END_DECLS
