/* mask.h: dropout masks on GPUs: the factor of each element, 0 or philox_kept, by Philox4x32-10 (base/philox.h). */
#pragma once

#include "device/cuda/kernels/view.h"

/* A Dropout (ops.h) as kernels need it. */
struct Mask {
    PhiloxKey key;
    const int64_t *sample; /* NULL means no dropout */
    const int32_t *position;
    int64_t first_channel;
    uint16_t threshold; /* philox_threshold: an element is kept if its 16 bits are at least this */
    float kept;         /* factor of elements that are kept */
};

/* The Mask of a Dropout. */
static inline Mask mask_of(const Dropout *drop)
{
    Mask mask = { drop->key, NULL, NULL, 0, 0, 1 };
    if (drop->rate > 0) {
        mask.sample = drop->sample;
        mask.position = drop->position;
        mask.first_channel = drop->first_channel;
        mask.threshold = philox_threshold(drop->rate);
        mask.kept = philox_kept(drop->rate);
    }
    return mask;
}

/* Sets the factors of elements first … first + 3 of a row from their Philox words; first is a multiple of 4. */
static __device__ inline void mask_four(float *factors, const Mask &mask, PhiloxWords words, uint32_t first)
{
    bool last = first % PHILOX_ELEMENTS !=
                0; /* the four elements are the last of the eight elements that the words decide on */
    const uint32_t pairs[2] = { last ? words.w[2] : words.w[0], last ? words.w[3] : words.w[1] };
    UNROLL for (int i = 0; i < 4; i++) factors[i] =
        (pairs[i / 2] >> 16 * (i % 2) & 0xFFFF) >= mask.threshold ? mask.kept : 0;
}

/* Sets the factors of channels [col, col + VEC) of the token in row `row`; col is a multiple of VEC. */
static __device__ inline void mask_hidden(float (&factors)[VEC], const Mask &mask, int64_t row, int64_t col)
{
    if (mask.sample == NULL) {
        UNROLL for (int i = 0; i < VEC; i++) factors[i] = 1;
        return;
    }
    uint64_t sample = (uint64_t)mask.sample[row];
    uint32_t position = (uint32_t)mask.position[row], channel = (uint32_t)(mask.first_channel + col);
    PhiloxWords words;
    UNROLL for (uint32_t i = 0; i < VEC; i += 4)
    {
        if (i == 0 || (channel + i) % PHILOX_ELEMENTS == 0)
            words = philox4x32(mask.key, (uint32_t)sample, (uint32_t)(sample >> 32), position,
                               (channel + i) / PHILOX_ELEMENTS);
        mask_four(factors + i, mask, words, channel + i);
    }
}

/* x · factor + more, rounded once: in every kernel that adds dropped-out numbers, so that their results have the same
 * bits. */
static __device__ inline float masked_sum(float x, float factor, float more)
{
    return fmaf(x, factor, more);
}
