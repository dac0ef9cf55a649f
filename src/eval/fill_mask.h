/* fill_mask.h: an encoder's most probable tokens at each mask token (masked language model). */
#pragma once

#include "base/error.h"
#include "model/model.h"

#define MASK_GUESSES 5

typedef struct MaskGuesses {
    int64_t place; /* index of the mask token in ids */
    int32_t n;     /* guesses; < MASK_GUESSES only in a smaller vocabulary */
    int32_t ids[MASK_GUESSES];
    double probability[MASK_GUESSES]; /* of each id, the largest first */
} MaskGuesses;

/* Appends a MaskGuesses for every mask in ids (n), from left to right, with guesses below n_pieces, the tokenizer's
 * size: the embedding may have more rows. The model's family must be bert. */
bool fill_mask(Model *model, const int32_t *ids, int64_t n, int32_t mask, int64_t n_pieces, GArray *out,
               GError **error);
