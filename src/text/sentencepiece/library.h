/* sentencepiece/library.h: the SentencePiece library behind a C interface. Its exceptions and error statuses become
 * GErrors. */
#pragma once

#include "text/tokenizer_train.h"

G_BEGIN_DECLS

/* Trains a model of type "unigram" or "bpe" on those lines (UTF-8) of the texts of `next` that have at least one
 * visible character; words longer than LONG_WORD_BYTES are left out and counted in *left_out. *model becomes the
 * content of the .model file, *bytes its length; free with g_free. */
bool sp_library_train(const char *type, const TokenizerTraining *training, TokenizerText next, void *context,
                      char **model, size_t *bytes, int64_t *left_out, GError **error);

G_END_DECLS
