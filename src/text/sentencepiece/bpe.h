/* sentencepiece/bpe.h: SentencePiece's byte-pair encoding: starting from characters, the two neighbours that join into
 * the piece with the best score are joined, of equal scores the leftmost, until no two neighbours make a piece. */
#pragma once

#include "text/sentencepiece/model.h"

G_BEGIN_DECLS

/* Called with each piece; id -1 means that the model has no such piece. */
typedef void (*SpPieceFn)(void *context, const char *piece, size_t bytes, int32_t id);

/* Calls fn with each piece of normalized text in order. `trie` maps the text of normal, user-defined and unused pieces
 * to ids. The text is cut where no piece crosses from one character to the next, and each part is encoded by itself, so
 * time and memory depend on the longest part. */
void sp_bpe_each(const SpModel *model, const Trie *trie, const char *text, size_t bytes, SpPieceFn fn, void *context);

G_END_DECLS
