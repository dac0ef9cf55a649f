/* sparsity.h: layouts of block-sparse self-attention, by the patterns of DeepSpeed's sparse attention. A sequence is
 * divided into blocks of consecutive tokens; the layout lists the blocks of keys that each block of queries attends to.
 * A global block is one that every block attends to. "Window" means a number of consecutive blocks. */
#pragma once

#include "base/error.h"
#include "base/options/options.h"
#include "device/ops.h"

typedef enum SparsePattern {
    SPARSE_NONE,
    SPARSE_FIXED, /* Child et al. 2019: adjacent windows, in which blocks attend to each other; the last blocks of each
                     window are global */
    SPARSE_VARIABLE,   /* adjacent windows of given sizes, given global blocks, random blocks */
    SPARSE_BIGBIRD,    /* Zaheer et al. 2020: a sliding window, the first blocks are global, random blocks */
    SPARSE_LONGFORMER, /* Beltagy et al. 2020: a sliding window and given global blocks */
    SPARSE_SLIDING     /* a sliding window */
} SparsePattern;
extern const char *const sparse_pattern_names[]; /* "none", "fixed", …, NULL */

typedef struct Sparsity {
    int pattern;       /* SparsePattern */
    int64_t block;     /* tokens per block */
    char *local;       /* blocks per window: "2,4". Fixed uses only the first, variable repeats the last; "" means 4 */
    int64_t window;    /* blocks in the sliding window; the query's own block is in the middle */
    int64_t n_global;  /* fixed: global blocks at the end of each window; bigbird: global blocks at the start */
    char *global;      /* variable, longformer: indices of the global blocks, such as "0,7-8"; "" means block 0 */
    int64_t n_random;  /* random key blocks per query block; -1 means 1 in bigbird, 0 in variable */
    int64_t rotations; /* fixed: in head h the global blocks end (h mod rotations) · n_global blocks before the end of
                          the window; 1 means at the end of the window in all heads */
    bool horizontal;   /* fixed, variable: global blocks also attend to every block */
    bool per_head;     /* heads have layouts of their own: random blocks and rotations; false: all share one */
    int64_t seed;      /* seed of the random blocks */
} Sparsity;

/* Fails if the options contradict each other for sequences of up to `positions` tokens. */
bool sparsity_check(const Sparsity *sparsity, int64_t positions, GError **error);
/* The layout of layer `layer` for sequences of up to `positions` tokens; the pattern is checked and not SPARSE_NONE.
 * causal: leaves out key blocks after the query block. It lies in host memory; free with sparsity_layout_free. */
BlockLayout *sparsity_layout(const Sparsity *sparsity, int64_t positions, int64_t heads, int layer, bool causal);
void sparsity_layout_free(BlockLayout *layout);
