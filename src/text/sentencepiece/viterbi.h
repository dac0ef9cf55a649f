/* viterbi.h: the most probable pieces of a text, where each piece has a log probability of its own (Kudo's unigram
 * model). Time grows with the length of the text; room is needed for the longest stretch within which pieces overlap.
 */
#pragma once

#include "text/trie.h"

#include <stdbool.h>

G_BEGIN_DECLS

typedef struct Viterbi {
    Trie trie;          /* pieces to ids; the values of others than -1 are below the number of scores */
    float *scores;      /* by id */
    float unk_score;    /* of a character that is no piece by itself */
    int32_t unk;        /* its id */
    bool byte_fallback; /* an unknown character becomes the ids of its bytes; otherwise neighbours count once */
    int32_t bytes[256]; /* ids, where byte_fallback */
} Viterbi;

/* Appends the ids (int32_t) of text. Of equally probable ways to a place the one whose last piece begins first counts;
 * sums are floats and *score goes on from what came before (0 at first), as in SentencePiece: that settles ties alike.
 */
void viterbi_encode(const Viterbi *viterbi, const char *text, size_t bytes, float *score, GArray *ids);
void viterbi_clear(Viterbi *viterbi);

G_END_DECLS
