/* sort.h: sorts tokens by their ids, so that gradients of the tokens with one id are added in a fixed order. The sort
 * is stable: a radix sort from the least significant digit, with 8 bits per pass. A pass counts the digits in each tile
 * of TILE tokens, computes prefix sums of the counts and moves the tokens. */
#pragma once

#include "device/cuda/kernels/reduce.h"

enum { TILE = 1024, DIGITS = 256, DIGIT_BITS = 8 };

/* Result of a sort. tokens: (n) the numbers of the tokens, 0 … n - 1, sorted by id; keys: (n) the sorted ids. The other
 * fields are scratch memory: other_keys, other_tokens (n), counts (DIGITS, tiles). */
struct Sorted {
    int32_t *keys, *tokens, *other_keys, *other_tokens, *counts;
};

struct SortShared {
    uint16_t of[TILE / WARP][DIGITS]; /* number of tokens with each digit in a warp; later in all warps before it */
    int32_t before[DIGITS]; /* per digit: number of tokens with smaller digits in all tiles, plus tokens with this digit
                               in earlier tiles */
};

/* Counts the digits of a warp's tokens, one token per lane. Returns how many earlier lanes of the warp have the same
 * digit. present: the lane has a token. */
static __device__ inline int warp_rank(SortShared *shared, unsigned digit, bool present)
{
    unsigned equal = __match_any_sync(ALL_LANES, present ? digit : DIGITS + threadIdx.x % WARP);
    int lane = (int)threadIdx.x % WARP, rank = __popc(equal & ((1u << lane) - 1));
    if (present && rank == 0)
        shared->of[threadIdx.x / WARP][digit] = (uint16_t)__popc(equal);
    return rank;
}

static __device__ inline void clear_counts(SortShared *shared)
{
    for (unsigned i = threadIdx.x; i < TILE / WARP * DIGITS; i += TILE)
        shared->of[i / DIGITS][i % DIGITS] = 0;
    __syncthreads();
}

/* Kernel: counts the digits of each tile's keys; a digit is the 8 bits of a key from bit `shift` on. */
static __global__ void __launch_bounds__(TILE)
    count_digits(const int32_t *keys, int n, int shift, int rows, int32_t *counts)
{
    begin_kernel();
    SortShared *shared = block_shared<SortShared>();
    int i = (int)(blockIdx.x * TILE + threadIdx.x);
    int32_t key = i < n ? keys[i] : 0;
    KERNEL_CHECK(key >= 0 && key < rows);
    clear_counts(shared);
    warp_rank(shared, (unsigned)key >> shift & (DIGITS - 1), i < n);
    __syncthreads();
    if (threadIdx.x >= DIGITS)
        return;
    int32_t sum = 0;
    for (int w = 0; w < TILE / WARP; w++)
        sum += shared->of[w][threadIdx.x];
    counts[threadIdx.x * gridDim.x + blockIdx.x] = sum;
}

/* Kernel, one block: replaces n numbers by their exclusive prefix sums. */
static __global__ void __launch_bounds__(MOST_THREADS) sums_before(int32_t *x, int n)
{
    begin_kernel();
    PerWarp<int32_t> *parts = block_shared<PerWarp<int32_t>>();
    int32_t before = 0;
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int first = 0; first < n; first += MOST_THREADS) {
        int i = first + (int)threadIdx.x;
        int32_t own = i < n ? x[i] : 0, sum = own;
        for (int distance = 1; distance < WARP; distance *= 2) {
            int32_t more = __shfl_up_sync(ALL_LANES, sum, distance);
            sum += lane >= distance ? more : 0;
        }
        if (lane == WARP - 1)
            parts->of[warp] = sum;
        __syncthreads();
        int32_t all = 0, smaller = 0;
        for (int w = 0; w < MOST_THREADS / WARP; w++) {
            smaller += w < warp ? parts->of[w] : 0;
            all += parts->of[w];
        }
        if (i < n)
            x[i] = before + smaller + sum - own;
        before += all;
        __syncthreads();
    }
}

/* Kernel: moves the tokens and their keys to the positions that the counts give. tokens NULL means 0, 1, 2, …. */
static __global__ void __launch_bounds__(TILE) move_tokens(const int32_t *keys, const int32_t *tokens, int n, int shift,
                                                           const int32_t *counts, int32_t *to_keys, int32_t *to_tokens)
{
    begin_kernel();
    SortShared *shared = block_shared<SortShared>();
    int i = (int)(blockIdx.x * TILE + threadIdx.x);
    int32_t key = i < n ? keys[i] : 0;
    unsigned digit = (unsigned)key >> shift & (DIGITS - 1);
    clear_counts(shared);
    int rank = warp_rank(shared, digit, i < n);
    __syncthreads();
    if (threadIdx.x < DIGITS) {
        uint16_t sum = 0;
        for (int w = 0; w < TILE / WARP; w++) {
            uint16_t own = shared->of[w][threadIdx.x];
            shared->of[w][threadIdx.x] = sum;
            sum = (uint16_t)(sum + own);
        }
        shared->before[threadIdx.x] = counts[threadIdx.x * gridDim.x + blockIdx.x];
    }
    __syncthreads();
    if (i >= n)
        return;
    int at = shared->before[digit] + shared->of[threadIdx.x / WARP][digit] + rank;
    to_keys[at] = key;
    to_tokens[at] = tokens ? tokens[i] : i;
}

/* Sorts the tokens with these ids (n), each below `rows`. memory: scratch_sort(n) bytes. */
static Sorted sort_ids(Gpu *gpu, const int32_t *ids, int n, int64_t rows, void *memory)
{
    int32_t *at = (int32_t *)memory;
    Sorted s = { at, at + n, at + 2 * n, at + 3 * n, at + 4 * n };
    int tiles = (int)ceil_div(n, TILE);
    const int32_t *keys = ids, *tokens = NULL;
    for (int shift = 0; shift == 0 || (rows - 1) >> shift > 0; shift += DIGIT_BITS) {
        launch(gpu, { (unsigned)tiles, 1, TILE, 1 }, count_digits, keys, n, shift, (int)rows, s.counts);
        launch(gpu, { 1, 1, MOST_THREADS, 1 }, sums_before, s.counts, DIGITS * tiles);
        launch(gpu, { (unsigned)tiles, 1, TILE, 1 }, move_tokens, keys, tokens, n, shift, s.counts, s.other_keys,
               s.other_tokens);
        Sorted done = { s.other_keys, s.other_tokens, s.keys, s.tokens, s.counts };
        s = done;
        keys = s.keys;
        tokens = s.tokens;
    }
    return s;
}
