/* mask.h: the factors of dropout, by Philox4x32-10 (base/philox.h). */
#pragma once

#include "device/cuda/kernels/view.h"

struct Mask {
    PhiloxKey key;
    const int64_t *sample; /* NULL: nothing is dropped */
    const int32_t *position;
    int64_t first_channel;
    uint32_t threshold;
    float kept;
};

static inline Mask mask_of(const Dropout *drop)
{
    Mask mask = { drop->key, NULL, NULL, 0, 0, 1 };
    if (drop->rate > 0) {
        mask.sample = drop->sample;
        mask.position = drop->position;
        mask.first_channel = drop->first_channel;
        mask.threshold = philox_threshold(drop->rate);
        mask.kept = 1.0f / (1.0f - drop->rate);
    }
    return mask;
}

/* Factors of channels [col, col + LOT) of a token; col is a multiple of LOT. */
static __device__ inline void mask_hidden(float (&factors)[LOT], const Mask &mask, int64_t row, int64_t col)
{
    if (mask.sample == NULL) {
        UNROLL for (int i = 0; i < LOT; i++) factors[i] = 1;
        return;
    }
    uint64_t sample = (uint64_t)mask.sample[row];
    uint32_t position = (uint32_t)mask.position[row], channel = (uint32_t)((mask.first_channel + col) / 4);
    UNROLL for (uint32_t half = 0; half < LOT / 4; half++)
    {
        PhiloxWords words = philox4x32(mask.key, (uint32_t)sample, (uint32_t)(sample >> 32), position, channel + half);
        UNROLL for (int i = 0; i < 4; i++) factors[4 * half + i] = words.w[i] >= mask.threshold ? mask.kept : 0;
    }
}
