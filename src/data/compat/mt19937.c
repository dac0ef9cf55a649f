#include "data/compat/mt19937.h"

#include "base/check.h"

#include <string.h>

#define N64 312
#define M64 156

double numpy_random(GRand *rng)
{
    uint32_t high = g_rand_int(rng) >> 5, low = g_rand_int(rng) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

uint32_t numpy_interval(GRand *rng, uint32_t most)
{
    uint32_t mask = most, value;
    if (most == 0)
        return 0;
    for (int shift = 1; shift < 32; shift *= 2)
        mask |= mask >> shift;
    while ((value = g_rand_int(rng) & mask) > most)
        continue;
    return value;
}

void numpy_shuffle(GRand *rng, void *items, int64_t n, size_t size)
{
    char *bytes = items, held[16];
    CHECK(size <= sizeof held && n <= INT64_C(1) << 32, "%zu bytes", size);
    for (int64_t i = n - 1; i > 0; i--) {
        char *a = bytes + (size_t)i * size, *b = bytes + numpy_interval(rng, (uint32_t)i) * size;
        memcpy(held, a, size);
        memcpy(a, b, size);
        memcpy(b, held, size);
    }
}

void torch_randperm(uint32_t seed, uint32_t *order, uint32_t n)
{
    g_autoptr(GRand) rng = g_rand_new_with_seed(seed);
    CHECK(n < TORCH_RANDPERM_LIMIT, "a permutation of %u", n);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = 0; i + 1 < n; i++) {
        uint32_t j = i + g_rand_int(rng) % (n - i), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
}

void mt19937_64_seed(Mt19937_64 *rng, uint64_t seed)
{
    for (uint64_t i = 0; i < N64; i++) {
        rng->state[i] = seed;
        seed = 6364136223846793005u * (seed ^ seed >> 62) + i + 1;
    }
    rng->next = N64;
}

static void refill64(uint64_t *state)
{
    for (int i = 0; i < N64; i++) {
        uint64_t y = (state[i] & 0xffffffff80000000u) | (state[(i + 1) % N64] & 0x7fffffffu);
        state[i] = state[(i + M64) % N64] ^ y >> 1 ^ (y & 1 ? 0xb5026f5aa96619e9u : 0);
    }
}

uint64_t mt19937_64_u64(Mt19937_64 *rng)
{
    if (rng->next == N64) {
        refill64(rng->state);
        rng->next = 0;
    }
    uint64_t y = rng->state[rng->next++];
    y ^= y >> 29 & 0x5555555555555555u;
    y ^= y << 17 & 0x71d67fffeda60000u;
    y ^= y << 37 & 0xfff7eee000000000u;
    return y ^ y >> 43;
}
