/* sentencepiece_bpe.h: SentencePiece's way of byte-pair encoding: of all neighbours that together are a piece, the pair
 * of the best score is joined first, and of equal ones the leftmost. */
#pragma once

#include "text/sentencepiece/model.h"

G_BEGIN_DECLS

/* id: -1 where the model has no such piece. */
typedef void (*SpPieceFn)(void *context, const char *piece, size_t bytes, int32_t id);

/* `trie` leads to the ids of the model's normal, user's and unused pieces. Calls fn with each piece of normalized text
 * in turn. Places that no piece reaches over part the text into stretches, each of which is encoded by itself. */
void sp_bpe_each(const SpModel *model, const Trie *trie, const char *text, size_t bytes, SpPieceFn fn, void *context);

G_END_DECLS
