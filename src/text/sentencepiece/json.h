/* sentencepiece/json.h: writes a SentencePiece model as a tokenizer.json. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

G_BEGIN_DECLS

/* `data` is a .model file. NULL, with a user's error, if tokenizer.json cannot express the model: types other than
 * unigram and BPE, and some flags. json_decref. */
json_t *sentencepiece_json(const char *data, size_t bytes, GError **error);

G_END_DECLS
