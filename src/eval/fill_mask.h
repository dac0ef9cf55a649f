/* fill_mask.h: the most likely tokens at the masks of a text, from an encoder with a language-model head. */
#pragma once

#include "model/model.h"

#define MASK_GUESSES 5

typedef struct MaskGuesses {
    int64_t index; /* index of the mask in ids */
    int32_t n;     /* number of guesses: MASK_GUESSES, or fewer if the vocabulary is smaller */
    int32_t ids[MASK_GUESSES];
    double probability[MASK_GUESSES]; /* of each guess, in falling order */
} MaskGuesses;

/* Appends a MaskGuesses to `out` for every token `mask` in ids (n), from left to right. Only ids below n_pieces, the
 * size of the tokenizer, are guessed, since the embedding may have more rows. The model must be of family bert. */
bool fill_mask(Model *model, const int32_t *ids, int64_t n, int32_t mask, int64_t n_pieces, GArray *out,
               GError **error);
