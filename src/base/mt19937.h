/* mt19937.h: the generators that reference systems draw by, for the modes that repeat their order: the Mersenne Twister
 * of 32 and 64 bits (Matsumoto, Nishimura 1998; the parameters of C++'s std::mt19937 and std::mt19937_64) and what
 * numpy.random.RandomState and torch derive from the first. Everything that is ours to decide draws by philox.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Mt19937 {
    uint32_t state[624];
    int next; /* 624: the state is used up */
} Mt19937;

/* As std::mt19937(seed) and numpy.random.RandomState(seed). */
void mt19937_seed(Mt19937 *rng, uint32_t seed);
uint32_t mt19937_u32(Mt19937 *rng);

/* RandomState.random(): [0, 1), 53 bits of two words. */
double numpy_random(Mt19937 *rng);
/* Uniform in [0, most], by masking and rejection: RandomState.randint(0, most + 1) for most < 2^32 - 1. */
uint32_t numpy_interval(Mt19937 *rng, uint32_t most);
/* RandomState.shuffle of n items of `size` bytes; n <= 2^32. */
void numpy_shuffle(Mt19937 *rng, void *items, int64_t n, size_t size);

/* torch.randperm(n) by a generator of this seed, on the CPU: order (n). */
#define TORCH_RANDPERM_LIMIT (UINT32_MAX / 20) /* from this n on torch draws otherwise */
void torch_randperm(uint32_t seed, uint32_t *order, uint32_t n);

typedef struct Mt19937_64 {
    uint64_t state[312];
    int next;
} Mt19937_64;

/* As std::mt19937_64(seed). */
void mt19937_64_seed(Mt19937_64 *rng, uint64_t seed);
uint64_t mt19937_64_u64(Mt19937_64 *rng);
