/* sparsity.h: layouts of block-sparse self-attention, by the patterns of DeepSpeed's sparse attention. A sequence is
 * cut into blocks of tokens; the layout lists for each block of queries the blocks of keys that it attends to. A global
 * block is attended to by every block. */
#pragma once

#include "base/error.h"
#include "base/options/options.h"
#include "device/ops.h"

typedef enum SparsePattern {
    SPARSE_NONE,
    SPARSE_FIXED,      /* Child et al. 2019: adjacent windows; the last blocks of each window are global */
    SPARSE_VARIABLE,   /* adjacent windows of given sizes, given global blocks, random blocks */
    SPARSE_BIGBIRD,    /* Zaheer et al. 2020: a sliding window, the first blocks are global, random blocks */
    SPARSE_LONGFORMER, /* Beltagy et al. 2020: a sliding window and given global blocks */
    SPARSE_SLIDING     /* a sliding window */
} SparsePattern;
extern const char *const sparse_pattern_names[];

typedef struct Sparsity {
    int pattern;      /* SparsePattern */
    int64_t block;    /* tokens of a block */
    char *local;      /* blocks of each adjacent window, "2,4"; fixed reads the first number; in variable the last one
                         repeats; "" means 4 */
    int64_t window;   /* blocks of the sliding window, the query's own in its middle */
    int64_t n_global; /* fixed: global blocks at the end of each window; bigbird: global blocks at the start */
    char *global;     /* variable, longformer: numbers of the global blocks, "0,7-8"; "" means 0 */
    int64_t
        n_random; /* bigbird, variable: random key blocks of each query block; -1 means 1 in bigbird, 0 in variable */
    int64_t rotations; /* fixed: the global blocks of head h end (h mod rotations) · n_global blocks before the window's
                          end; 1 means at its end in all heads */
    bool horizontal;   /* fixed, variable: global blocks also attend to every block */
    bool per_head;     /* each head has a layout of its own: other random blocks, another rotation */
    int64_t seed;      /* of the random blocks */
} Sparsity;

/* Whether the options agree with each other, for sequences of up to `positions` tokens. */
bool sparsity_check(const Sparsity *sparsity, int64_t positions, GError **error);
/* The layout of layer `layer` by a checked pattern other than SPARSE_NONE, for sequences of up to `positions` tokens.
 * causal: without the blocks after the query's. It has no copy on the device yet. sparsity_layout_free frees it. */
BlockLayout *sparsity_layout(const Sparsity *sparsity, int64_t positions, int64_t heads, int layer, bool causal);
void sparsity_layout_free(BlockLayout *layout);
