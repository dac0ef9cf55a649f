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

/* Appends a MaskGuesses for every mask in ids (n), from left to right. The model is of family bert. */
bool fill_mask(Model *model, const int32_t *ids, int64_t n, int32_t mask, GArray *out, GError **error);
