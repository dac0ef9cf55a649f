/* long_words.h: words that are too long to train a tokenizer on, such as base64 or a file without a space. */
#pragma once

#include "base/error.h"

#include <stdint.h>

G_BEGIN_DECLS

#define LONG_WORD_BYTES 4096 /* longest word that is trained on, near SentencePiece's longest sentence (4192) */
#define LONG_WORD_TEXT  "4,096 bytes"

/* Logs how many words were left out for their length. any: whether other text is left to train on; otherwise it fails.
 * longest: the length that is allowed, such as LONG_WORD_TEXT. */
bool long_words_report(int64_t left_out, const char *longest, bool any, GError **error);

G_END_DECLS
