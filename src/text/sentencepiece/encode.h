/* sentencepiece_encode.h: text to ids by a SentencePiece model, as SentencePiece 0.2.3 encodes it, in time that grows
 * with the length of the text. */
#pragma once

#include "text/sentencepiece/model.h"

G_BEGIN_DECLS

typedef struct SpEncoder SpEncoder; /* read-only once open */

/* The bytes of a .model file; the model need not outlive the call. */
SpEncoder *sp_encoder_open(const char *data, size_t bytes, GError **error);
void sp_encoder_close(SpEncoder *encoder);
/* Appends to ids (int32_t); text is UTF-8. */
bool sp_encoder_encode(const SpEncoder *encoder, const char *text, size_t bytes, GArray *ids, GError **error);

G_END_DECLS
