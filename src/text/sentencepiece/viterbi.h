/* sentencepiece/viterbi.h: unigram segmentation (Kudo 2018): the split of a text into pieces with the largest sum of
 * scores (log probabilities). Time is proportional to the length of the text. */
#pragma once

#include "text/sentencepiece/model.h"

typedef struct Viterbi {
    Trie trie;          /* maps the text of a piece to its id */
    float *scores;      /* log probabilities, indexed by id */
    float unk_score;    /* score of an unknown character, which no piece matches */
    int32_t unk;        /* id of the unknown piece; -1 means there is none */
    bool byte_fallback; /* true: an unknown character becomes the ids of its bytes; false: a run of unknown characters
                           becomes one `unk` */
    int32_t bytes[256]; /* with byte_fallback: ids of the pieces <0x00> to <0xFF> */
} Viterbi;

/* Initialises *viterbi with the pieces of a model (SpPiece, indexed by id). `found` and `scored` are sets of types of
 * pieces, such as 1 << SP_NORMAL. Only pieces of the types in `found` match text; unk_score becomes the lowest score of
 * a piece of the types in `scored`, minus 10. */
void viterbi_init(Viterbi *viterbi, const GArray *pieces, bool byte_fallback, unsigned found, unsigned scored);
/* It is a user's error if a byte has no piece (bytes[b] is -1), which byte_fallback would need. */
bool viterbi_check_bytes(const Viterbi *viterbi, GError **error);
/* Appends the ids (int32_t) of a text, or of the next part of a text. *score is the sum of scores so far; the caller
 * sets it to 0 before the first part, and each call updates it. As in SentencePiece, sums are floats, and of two splits
 * with equal sums the one whose last piece starts first is taken. */
void viterbi_encode(const Viterbi *viterbi, const char *text, size_t bytes, float *score, GArray *ids);
void viterbi_clear(Viterbi *viterbi);
