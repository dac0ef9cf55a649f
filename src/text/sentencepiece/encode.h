/* sentencepiece/encode.h: text to ids with a SentencePiece model of any type: the ids of SentencePiece 0.2.3, but in
 * time proportional to the length of the text (the library's grows with the square of runs of unknown characters). */
#pragma once

#include "text/sentencepiece/model.h"

G_BEGIN_DECLS

typedef struct SpEncoder SpEncoder; /* read-only once open */

/* Takes ownership of the model, on failure too. */
SpEncoder *sp_encoder_open(SpModel *model, GError **error);
void sp_encoder_close(SpEncoder *encoder);
/* Appends the ids (int32_t) of UTF-8 text. */
bool sp_encoder_encode(const SpEncoder *encoder, const char *text, size_t bytes, GArray *ids, GError **error);
/* TokenizerKind.ends. */
bool sp_encoder_ends(const SpEncoder *encoder, const char *text, size_t bytes, const int32_t *ids, int64_t n,
                     uint32_t *ends);

G_END_DECLS
