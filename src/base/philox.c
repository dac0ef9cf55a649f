#include "base/philox.h"

#include <math.h>

PhiloxKey philox_key(uint64_t seed, uint32_t purpose, uint32_t layer)
{
    PhiloxKey master = { { (uint32_t)seed, (uint32_t)(seed >> 32) } };
    PhiloxWords words = philox4x32(master, purpose, layer, 0, 0);
    return (PhiloxKey){ { words.w[0], words.w[1] } };
}

Philox philox_open(PhiloxKey key, uint64_t stream)
{
    return (Philox){ .key = key, .a = (uint32_t)stream, .b = (uint32_t)(stream >> 32) };
}

uint32_t philox_u32(Philox *rng)
{
    if (rng->left == 0) {
        rng->words = philox4x32(rng->key, (uint32_t)rng->index, (uint32_t)(rng->index >> 32), rng->a, rng->b);
        rng->index++;
        rng->left = 4;
    }
    return rng->words.w[4 - rng->left--];
}

static uint64_t philox_u64(Philox *rng)
{
    uint64_t low = philox_u32(rng);
    return low | (uint64_t)philox_u32(rng) << 32;
}

uint64_t philox_below(Philox *rng, uint64_t bound)
{
    uint64_t reject = -bound % bound; /* 2^64 mod bound: the values that would favour small results */
    uint64_t word;
    do
        word = philox_u64(rng);
    while (word < reject);
    return word % bound;
}

double philox_uniform(Philox *rng)
{
    return (double)(philox_u64(rng) >> 11) * 0x1p-53;
}

double philox_normal(Philox *rng)
{
    double radius = sqrt(-2.0 * log(1.0 - philox_uniform(rng)));
    return radius * cos(2.0 * M_PI * philox_uniform(rng));
}

uint64_t philox_permute(PhiloxKey key, uint64_t stream, uint64_t index, uint64_t n)
{
    int half = 1;
    while (half < 32 && (uint64_t)1 << (2 * half) < n)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t value = index;
    do {
        uint64_t left = value >> half, right = value & mask;
        for (uint32_t round = 0; round < 4; round++) {
            PhiloxWords words = philox4x32(key, (uint32_t)right, round, (uint32_t)stream, (uint32_t)(stream >> 32));
            uint64_t next = left ^ (words.w[0] & mask);
            left = right;
            right = next;
        }
        value = left << half | right;
    } while (value >= n);
    return value;
}
