/* philox.h: Philox4x32-10 (Salmon et al., SC 2011), the one source of random numbers. A pure function of (key,
 * counter): no generator state is ever saved. No GLib here: device kernels include this file.
 *
 * Key = (seed, purpose, layer). Counter of a hidden element = (sample index, token position in the sample, channel /
 * 4), of an attention weight = (sample index, global head, query, key / 4); word i of the result serves channel or key
 * 4c + i. */
#pragma once

#include <stdint.h>

typedef struct PhiloxKey {
    uint32_t k[2];
} PhiloxKey;
typedef struct PhiloxWords {
    uint32_t w[4];
} PhiloxWords;

/* What the numbers are for; part of the key. Values are stable: they decide the masks of a resumed run. */
typedef enum PhiloxPurpose {
    PHILOX_INIT = 1,
    PHILOX_DOCUMENT_ORDER = 2,
    PHILOX_SAMPLE_ORDER = 3,
    PHILOX_OBJECTIVE = 4,
    PHILOX_SAMPLING = 5, /* generate */
    PHILOX_CHOICE = 6,   /* what is decided about a sample before its text is read */
    PHILOX_MIXTURE = 7,  /* the seeds of a mixture's datasets */
    PHILOX_SPARSITY = 8, /* random blocks of sparse attention */
    PHILOX_OTHER = 9,    /* the text that does not follow another */
    PHILOX_DROPOUT = 16  /* + DropoutSite of nn/ctx.h */
} PhiloxPurpose;

PhiloxKey philox_key(uint64_t seed, uint32_t purpose, uint32_t layer);

static inline PhiloxWords philox4x32(PhiloxKey key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3)
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

/* Counter words of a hidden element: call philox4x32(key, lo(sample), hi(sample), position, channel / 4). */
static inline PhiloxWords philox_hidden(PhiloxKey key, int64_t sample, uint32_t position, uint32_t channel4)
{
    return philox4x32(key, (uint32_t)sample, (uint32_t)((uint64_t)sample >> 32), position, channel4);
}

/* Of four attention weights; sample < 2^48, head < 2^16. */
static inline PhiloxWords philox_attention(PhiloxKey key, int64_t sample, uint32_t head, uint32_t query, uint32_t key4)
{
    return philox4x32(key, (uint32_t)sample, (uint32_t)((uint64_t)sample >> 32) | head << 16, query, key4);
}

/* The dropout rule shared by every backend: an element is kept if its word >= philox_threshold(rate); kept elements are
 * scaled by 1 / (1 - rate). rate in [0, 1). */
static inline uint32_t philox_threshold(float rate)
{
    return (uint32_t)((double)rate * 4294967296.0);
}

/* A sequence of numbers for host code (orders, masks, init): counter = (index, index >> 32, a, b). By value; cheap. */
typedef struct Philox {
    PhiloxKey key;
    uint64_t index; /* of the next block of four words */
    uint32_t a, b;  /* what distinguishes this sequence from others of the same key */
    PhiloxWords words;
    int left; /* unused words in `words` */
} Philox;

Philox philox_open(PhiloxKey key, uint64_t stream); /* stream (a sample's index, a parameter's number …) -> a, b */
uint32_t philox_u32(Philox *rng);
uint64_t philox_below(Philox *rng, uint64_t bound); /* uniform in [0, bound), unbiased; bound > 0 */
double philox_uniform(Philox *rng);                 /* [0, 1), 53 bits */
double philox_normal(Philox *rng);                  /* standard normal, Box-Muller */
/* A fixed pseudo-random permutation of [0, n) without memory: 4-round Feistel network over the next even power of two,
 * walked until it lands inside. */
uint64_t philox_permute(PhiloxKey key, uint64_t stream, uint64_t index, uint64_t n);
