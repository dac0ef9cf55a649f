/* sentencepiece/viterbi.h: unigram segmentation (Kudo 2018): the split of a text into pieces with the largest sum of
 * scores (log probabilities). Time is proportional to the length of the text. */
#pragma once

#include "text/sentencepiece/model.h"

G_BEGIN_DECLS

typedef struct Viterbi {
    Trie trie;          /* text of a piece -> its id */
    float *scores;      /* log probabilities, indexed by id */
    float unk_score;    /* score of a character that is no piece */
    int32_t unk;        /* id of the unknown piece; -1 means there is none */
    bool byte_fallback; /* unknown characters become the ids of their bytes; without it a run of them becomes one unk */
    int32_t bytes[256]; /* with byte_fallback: ids of the pieces <0x00> to <0xFF> */
} Viterbi;

/* Initialises from the pieces of a model (SpPiece by id). `found` and `scored` are sets of piece types, such as 1 <<
 * SP_NORMAL. Pieces of the types in `found` match text; unk_score is 10 below the lowest score of the types in
 * `scored`. */
void viterbi_init(Viterbi *viterbi, const GArray *pieces, bool byte_fallback, unsigned found, unsigned scored);
/* Whether every byte has a piece (id >= 0); otherwise fails with a user's error. */
bool viterbi_check_bytes(const Viterbi *viterbi, GError **error);
/* Appends the ids (int32_t) of text. *score is the sum of the scores so far: 0 before the first part of a text, then
 * updated by each call. To break ties as SentencePiece does, sums are floats, and of two equal sums the one whose last
 * piece starts first wins. */
void viterbi_encode(const Viterbi *viterbi, const char *text, size_t bytes, float *score, GArray *ids);
void viterbi_clear(Viterbi *viterbi);

G_END_DECLS
