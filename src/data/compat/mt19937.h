/* mt19937.h: the functions of numpy.random.RandomState and torch that draw by the Mersenne Twister of 32 bits, which is
 * GLib's GRand (the numbers of g_rand_int are those of std::mt19937 with the same seed), and the one of 64 bits
 * (Matsumoto, Nishimura 1998; C++'s std::mt19937_64). Only for reproducing the order of data of Megatron, fairseq and
 * t5-experiments. All other random numbers come from philox.h. */
#pragma once

#include <glib.h>
#include <stdint.h>

/* RandomState.random(): a uniform number in [0, 1) with 53 random bits, made of two words. */
double numpy_random(GRand *rng);
/* RandomState.randint(0, most + 1) for most < 2^32 - 1: a uniform integer in [0, most], by masking and rejection. */
uint32_t numpy_interval(GRand *rng, uint32_t most);
/* RandomState.shuffle of n items of `size` bytes, at most 16; n <= 2^32. */
void numpy_shuffle(GRand *rng, void *items, int64_t n, size_t size);

/* Sets order (n) to torch.randperm(n) on the CPU with this seed; torch differs from n = TORCH_RANDPERM_LIMIT on. */
#define TORCH_RANDPERM_LIMIT (UINT32_MAX / 20)
void torch_randperm(uint32_t seed, uint32_t *order, uint32_t n);

typedef struct Mt19937_64 {
    uint64_t state[312];
    int next; /* index of the next word in `state`; 312 means that all words have been used */
} Mt19937_64;

/* Starts the sequence of std::mt19937_64(seed). */
void mt19937_64_seed(Mt19937_64 *rng, uint64_t seed);
/* The next 64 bits. */
uint64_t mt19937_64_u64(Mt19937_64 *rng);
