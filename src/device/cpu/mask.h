/* mask.h: computes dropout masks on the CPU: the factor of each element, 0 or philox_kept, by Philox4x32-10
 * (base/philox.h) for several counters at once. */
#pragma once

#include "device/ops.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* A Lanes vector holds one 32-bit word of each of LANES counters, in the low half of a 64-bit lane; the high halves are
 * arbitrary. MULTIPLY_LOW multiplies the low halves to 64-bit products, which is one instruction with AVX2. */
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
typedef float Factors __attribute__((vector_size(8 * LANES)));

enum { MASK_STEP = PHILOX_ELEMENTS * LANES }; /* number of elements whose factors LANES counters give */

/* One row of a mask. Element `index` has the counter (c0, c1, c2, index / 8); its factor is `kept` if its 16 bits of
 * the result are at least `threshold`, otherwise 0. */
typedef struct MaskRow {
    PhiloxKey key;
    uint32_t c0, c1, c2;
    uint16_t threshold;
    float kept;
} MaskRow;

/* The MaskRow of a row (token) of the Dropout; head: index of the attention head, or 0 for hidden states. */
static inline MaskRow mask_row(const Dropout *drop, int64_t row, uint32_t head)
{
    uint64_t sample = (uint64_t)drop->sample[row];
    return (MaskRow){ .key = drop->key,
                      .c0 = (uint32_t)sample,
                      .c1 = (uint32_t)(sample >> 32) | head << 16,
                      .c2 = (uint32_t)drop->position[row],
                      .threshold = philox_threshold(drop->rate),
                      .kept = philox_kept(drop->rate) };
}

/* The part of Philox that all counters of a row share: of the first four rounds, what does not depend on the counter's
 * last word, combined with the keys; and the keys of the other six rounds. */
typedef struct MaskRounds {
    uint32_t x2, y0, z0, z2, w0, w2, keys[6][2];
} MaskRounds;

#define MASK_KEY_0    0x9E3779B9u
#define MASK_KEY_1    0xBB67AE85u
#define MASK_FACTOR_0 0xD2511F53u
#define MASK_FACTOR_1 0xCD9E8D57u

/* Computes the MaskRounds of a row. */
static inline MaskRounds mask_rounds(const MaskRow *row)
{
    MaskRounds r;
    uint32_t k0 = row->key.k[0], k1 = row->key.k[1];
    uint64_t p0 = (uint64_t)MASK_FACTOR_0 * row->c0, p1 = (uint64_t)MASK_FACTOR_1 * row->c2;
    uint32_t x0 = (uint32_t)(p1 >> 32) ^ row->c1 ^ k0;
    r.x2 = (uint32_t)(p0 >> 32) ^ k1;
    k0 += MASK_KEY_0, k1 += MASK_KEY_1;
    uint64_t q0 = (uint64_t)MASK_FACTOR_0 * x0;
    uint32_t y2 = (uint32_t)(q0 >> 32) ^ (uint32_t)p0 ^ k1;
    r.y0 = (uint32_t)p1 ^ k0;
    k0 += MASK_KEY_0, k1 += MASK_KEY_1;
    uint64_t r1 = (uint64_t)MASK_FACTOR_1 * y2;
    r.z0 = (uint32_t)(r1 >> 32) ^ k0;
    r.z2 = (uint32_t)q0 ^ k1;
    k0 += MASK_KEY_0, k1 += MASK_KEY_1;
    r.w0 = (uint32_t)r1 ^ k0;
    r.w2 = k1;
    for (int i = 0; i < 6; i++) {
        r.keys[i][0] = k0 += MASK_KEY_0;
        r.keys[i][1] = k1 += MASK_KEY_1;
    }
    return r;
}

/* Writes the factors for MASK_STEP / 2 elements: `words` has 16 bits per element, in the order of the elements. */
static inline void mask_store(float *mask, Lanes words, uint16_t threshold, float kept)
{
#ifdef __AVX512BW__
    __mmask32 keep = _mm512_cmpge_epu16_mask((__m512i)words, _mm512_set1_epi16((short)threshold));
    __m512 factor = _mm512_set1_ps(kept);
    _mm512_storeu_ps(mask, _mm512_maskz_mov_ps((__mmask16)keep, factor));
    _mm512_storeu_ps(mask + 16, _mm512_maskz_mov_ps((__mmask16)(keep >> 16), factor));
#else
    typedef uint16_t Bits __attribute__((vector_size(4 * LANES)));
    typedef int16_t Kept __attribute__((vector_size(4 * LANES)));
    typedef int32_t Wide __attribute__((vector_size(8 * LANES)));
    for (int half = 0; half < 2; half++) {
        Bits bits;
        __builtin_memcpy(&bits, (const char *)&words + half * (int)sizeof bits, sizeof bits);
        Wide factors = __builtin_convertvector((Kept)(bits >= threshold), Wide) & (Wide)((Factors){ 0 } + kept);
        __builtin_memcpy(mask + half * (int)(sizeof factors / sizeof *mask), &factors, sizeof factors);
    }
#endif
}

/* Writes the factors of the elements of 2 · LANES counters, whose last words are index, index + 1, …. */
static inline void mask_counters(float *mask, const MaskRounds *r, uint64_t index, uint16_t threshold, float kept)
{
    const Lanes zero = { 0 }, low = zero + 0xFFFFFFFFu, m0 = zero + MASK_FACTOR_0, m1 = zero + MASK_FACTOR_1;
    Lanes c0[2], c1[2], c2[2],
        c3[2]; /* two vectors at a time, so that one is computed while the other waits for a multiplication */
    for (int v = 0; v < 2; v++) {
        Lanes counter = (Lanes){ LANE_NUMBERS } + (index + (uint64_t)(v * LANES));
        Lanes y1 = MULTIPLY_LOW(counter ^ (zero + r->x2), m1), z3 = MULTIPLY_LOW(y1 >> 32 ^ (zero + r->y0), m0);
        c3[v] = MULTIPLY_LOW(y1 ^ (zero + r->z0), m0);
        c1[v] = MULTIPLY_LOW(z3 >> 32 ^ (zero + r->z2), m1);
        c0[v] = c1[v] >> 32 ^ (zero + r->w0);
        c2[v] = c3[v] >> 32 ^ z3 ^ (zero + r->w2);
    }
#pragma GCC unroll 6
    for (int round = 0; round < 6; round++)
        for (int v = 0; v < 2; v++) {
            Lanes p0 = MULTIPLY_LOW(c0[v], m0), p1 = MULTIPLY_LOW(c2[v], m1);
            c0[v] = p1 >> 32 ^ c1[v] ^ (zero + r->keys[round][0]);
            c2[v] = p0 >> 32 ^ c3[v] ^ (zero + r->keys[round][1]);
            c1[v] = p1;
            c3[v] = p0;
        }
    for (int v = 0; v < 2; v++) {
        Lanes a = (c0[v] & low) | c1[v] << 32, b = (c2[v] & low) | c3[v] << 32;
        mask_store(mask + v * MASK_STEP, FIRST_PAIRS(a, b), threshold, kept);
        mask_store(mask + v * MASK_STEP + MASK_STEP / 2, SECOND_PAIRS(a, b), threshold, kept);
    }
}

/* Writes the factors of channels or keys [first, first + n) to mask (n): 0 or philox_kept(rate). `first` is a multiple
 * of 4. */
static inline void mask_fill(float *mask, const MaskRow *row, int64_t first, int64_t n)
{
    const MaskRounds r = mask_rounds(row);
    float last[2 * MASK_STEP];
    int64_t skipped = first % PHILOX_ELEMENTS; /* number of elements of the first counter that come before `first` */
    if (skipped > 0 && n > 0) {
        int64_t some = n < PHILOX_ELEMENTS - skipped ? n : PHILOX_ELEMENTS - skipped;
        mask_counters(last, &r, (uint64_t)(first / PHILOX_ELEMENTS), row->threshold, row->kept);
        __builtin_memcpy(mask, last + skipped, (size_t)some * sizeof *mask);
        mask += some;
        first += some;
        n -= some;
    }
    for (; n > 0; mask += 2 * MASK_STEP, first += 2 * MASK_STEP, n -= 2 * MASK_STEP) {
        mask_counters(n < 2 * MASK_STEP ? last : mask, &r, (uint64_t)(first / PHILOX_ELEMENTS), row->threshold,
                      row->kept);
        if (n < 2 * MASK_STEP)
            __builtin_memcpy(mask, last, (size_t)n * sizeof *mask);
    }
}
