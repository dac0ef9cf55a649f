/* sentencepiece_json.h: a SentencePiece model as a tokenizer.json. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

G_BEGIN_DECLS

/* `data` is a unigram or BPE .model; NULL and a user's error for other types. json_decref. */
json_t *sentencepiece_json(const char *data, size_t bytes, GError **error);

G_END_DECLS
