/* fill_mask.h: what an encoder puts in the place of hidden tokens. */
#pragma once

#include "base/error.h"
#include "model/model.h"

#define MASK_GUESSES 5

typedef struct MaskGuesses {
    int64_t place; /* of the mask in ids */
    int32_t n;     /* guesses: fewer only where the vocabulary is smaller */
    int32_t ids[MASK_GUESSES];
    double probability[MASK_GUESSES]; /* the likeliest first */
} MaskGuesses;

/* Appends a MaskGuesses for every mask in ids (n), from left to right, of the ids below n_pieces: rows of the embedding
 * beyond the tokenizer's are no pieces. The model is of family bert. */
bool fill_mask(Model *model, const int32_t *ids, int64_t n, int32_t mask, int64_t n_pieces, GArray *out,
               GError **error);
