/* mask.h: the factors of dropout, by Philox4x32-10 (base/philox.h) on several counters at once. */
#pragma once

#include "device/ops.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* LANES counters side by side, one word of each in the low half of a 64-bit lane; high halves hold anything.
 * MULTIPLY_LOW gives the products of the low halves, for which one instruction is enough where AVX2 is. */
#ifdef __AVX512F__
enum { LANES = 8 };
#define MULTIPLY_LOW(a, b) (Lanes) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#define FIRST_PAIRS(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define SECOND_PAIRS(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LANE_NUMBERS       0, 1, 2, 3, 4, 5, 6, 7
#else
enum { LANES = 4 };
#ifdef __AVX2__
#define MULTIPLY_LOW(a, b) (Lanes) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#else
#define MULTIPLY_LOW(a, b) (((a)&0xFFFFFFFFu) * ((b)&0xFFFFFFFFu))
#endif
#define FIRST_PAIRS(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define SECOND_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LANE_NUMBERS       0, 1, 2, 3
#endif
typedef uint64_t Lanes __attribute__((vector_size(8 * LANES)));
typedef uint32_t Words __attribute__((vector_size(8 * LANES)));
typedef float Factors __attribute__((vector_size(8 * LANES)));

/* A mask is written MASK_STEP factors at a time: the memory for n factors needs room for n rounded up to MASK_STEP. */
enum { MASK_STEP = 4 * LANES };

/* One row of a mask: counters (c0, c1, c2, index / 4), `kept` where the word is at least `threshold`. */
typedef struct MaskRow {
    PhiloxKey key;
    uint32_t c0, c1, c2, threshold;
    float kept;
} MaskRow;

static inline MaskRow mask_row(const Dropout *drop, int64_t row, uint32_t head)
{
    uint64_t sample = (uint64_t)drop->sample[row];
    return (MaskRow){ .key = drop->key,
                      .c0 = (uint32_t)sample,
                      .c1 = (uint32_t)(sample >> 32) | head << 16,
                      .c2 = (uint32_t)drop->position[row],
                      .threshold = philox_threshold(drop->rate),
                      .kept = 1.0f / (1.0f - drop->rate) };
}

static inline void mask_store(float *mask, Words words, const MaskRow *row)
{
    Words kept = (Words)(words >= row->threshold) & (Words)((Factors){ 0 } + row->kept);
    __builtin_memcpy(mask, &kept, sizeof kept);
}

/* Factors of channels or keys [first, first + n): 0 or 1 / (1 - rate). `first` is a multiple of 4. */
static inline void mask_fill(float *mask, const MaskRow *row, int64_t first, int64_t n)
{
    const Lanes low = (Lanes){ 0 } + 0xFFFFFFFFu, m0 = (Lanes){ 0 } + 0xD2511F53u, m1 = (Lanes){ 0 } + 0xCD9E8D57u;
    Lanes index = (Lanes){ LANE_NUMBERS } + (uint64_t)(first / 4);
    for (int64_t i = 0; i < n; i += MASK_STEP, index += LANES) {
        Lanes c0 = (Lanes){ 0 } + row->c0, c1 = (Lanes){ 0 } + row->c1, c2 = (Lanes){ 0 } + row->c2, c3 = index;
        uint32_t k0 = row->key.k[0], k1 = row->key.k[1];
        for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
            Lanes p0 = MULTIPLY_LOW(c0, m0), p1 = MULTIPLY_LOW(c2, m1);
            c0 = (p1 >> 32) ^ c1 ^ k0;
            c2 = (p0 >> 32) ^ c3 ^ k1;
            c1 = p1;
            c3 = p0;
        }
        Lanes a = (c0 & low) | c1 << 32, b = (c2 & low) | c3 << 32;
        mask_store(mask + i, (Words)FIRST_PAIRS(a, b), row);
        mask_store(mask + i + 2 * LANES, (Words)SECOND_PAIRS(a, b), row);
    }
}
