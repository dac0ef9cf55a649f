/* philox.h: Philox4x32-10 (Salmon et al., SC 2011), the source of the random numbers of training, evaluation and
 * generation, except those that reproduce the order of data and the masks of other programs (mt19937.h). It is a pure
 * function of (key, counter), so no state of a generator is ever saved. No GLib here: device kernels include this file.
 *
 * Key = (seed, purpose, layer). Counter for the dropout of a hidden state = (sample index, token position in the
 * sample, channel / 8); of an attention weight = (sample index, head, query, key / 8): the four words of a result
 * decide on the dropout of eight channels or keys (PHILOX_ELEMENTS). */
#pragma once

#include "base/host_device.h"

#include <stdint.h>

typedef struct PhiloxKey {
    uint32_t k[2];
} PhiloxKey;
typedef struct PhiloxWords {
    uint32_t w[4];
} PhiloxWords;

/* What random numbers are used for: a part of the key. Values never change, so resumed runs draw the same masks. */
typedef enum PhiloxPurpose {
    PHILOX_INIT = 1,           /* initial weights */
    PHILOX_DOCUMENT_ORDER = 2, /* order of documents and of chunks */
    PHILOX_SAMPLE_ORDER = 3,   /* order of packed sequences */
    PHILOX_OBJECTIVE = 4,      /* masks and other decisions of the objective */
    PHILOX_SAMPLING = 5,       /* generated tokens */
    PHILOX_CHOICE = 6,         /* decisions about a sample before its tokens are read: its lengths, its denoiser */
    PHILOX_MIXTURE = 7,        /* a seed for each dataset of a mixture */
    PHILOX_SPARSITY = 8,       /* random blocks of sparse attention */
    PHILOX_OTHER = 9,    /* next-sentence prediction: the chunk of another document that becomes the second text */
    PHILOX_SCORES = 10,  /* bootstrap resamples of scores */
    PHILOX_DROPOUT = 16, /* + DropoutSite of nn/ctx.h, + 16 in the decoder */
    PHILOX_LORA = 64     /* + number of the adapter in `sites` of nn/linear.c, + 16 in the decoder */
} PhiloxPurpose;

/* The key of a seed, a PhiloxPurpose and a layer, or another index that separates the uses of one purpose. */
PhiloxKey philox_key(uint64_t seed, uint32_t purpose, uint32_t layer);

/* Philox4x32-10: the four words for a key and a counter of four words. */
HOST_DEVICE static inline PhiloxWords philox4x32(PhiloxKey key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3)
{
    uint32_t k0 = key.k[0], k1 = key.k[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (PhiloxWords){ { c0, c1, c2, c3 } };
}

/* Dropout is the same in every backend: the four words of one counter decide on 8 elements. Element i has the 16 bits
 * [16 (i mod 2), 16 (i mod 2) + 16) of word i / 2. It is kept if this number is at least philox_threshold(rate), and
 * then multiplied by philox_kept(rate). So the rate, in [0, 1), is rounded to a multiple of 2⁻¹⁶, and the expected
 * value of an element is unchanged. */
enum { PHILOX_ELEMENTS = 8 };

static inline uint16_t philox_threshold(float rate)
{
    uint32_t threshold = (uint32_t)((double)rate * 65536.0 + 0.5);
    return (uint16_t)(threshold < 65535 ? threshold : 65535);
}

static inline float philox_kept(float rate)
{
    return (float)(65536.0 / (65536 - philox_threshold(rate)));
}

/* The 16 bits of element i. */
static inline uint16_t philox_element(PhiloxWords words, int64_t i)
{
    return (uint16_t)(words.w[i % PHILOX_ELEMENTS / 2] >> 16 * (i % 2));
}

/* Returns one random number after another, for code on the host. Counter: (low and high half of index, a, b). */
typedef struct Philox {
    PhiloxKey key;
    uint64_t index; /* number of the next counter */
    uint32_t a, b;  /* low and high half of the argument `stream` of philox_open */
    PhiloxWords words;
    int left; /* number of words in `words` that have not been used */
} Philox;

/* stream: number of a sequence of random numbers under one key, such as the index of a sample. */
Philox philox_open(PhiloxKey key, uint64_t stream);
uint32_t philox_u32(Philox *rng);
uint64_t philox_below(Philox *rng, uint64_t bound); /* a uniform integer in [0, bound), unbiased; bound > 0 */
double philox_uniform(Philox *rng);                 /* a uniform number in [0, 1) with 53 random bits */
double philox_normal(Philox *rng);                  /* a standard normal number, by Box-Muller */
/* The image of `index` under a pseudo-random permutation of [0, n): a Feistel network of 4 rounds over [0, 4^k) for the
 * smallest 4^k >= n, applied again until the result is below n. */
uint64_t philox_permute(PhiloxKey key, uint64_t stream, uint64_t index, uint64_t n);
