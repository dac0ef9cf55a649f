/* sparsity.h: block-sparse self-attention: which blocks of keys a block of queries sees, as DeepSpeed's sparse
 * attention has it (Child et al. 2019 for fixed, Zaheer et al. 2020 for bigbird, Beltagy et al. 2020 for longformer).
 */
#pragma once

#include "base/error.h"
#include "base/options/options.h"
#include "device/ops.h"

typedef enum SparsePattern {
    SPARSE_NONE,
    SPARSE_FIXED,      /* a window of the blocks around, cut at its multiples, and the last blocks of every window */
    SPARSE_VARIABLE,   /* windows of given sizes, given global blocks, random blocks */
    SPARSE_BIGBIRD,    /* a sliding window, the first blocks, random blocks */
    SPARSE_LONGFORMER, /* a sliding window and given global blocks */
    SPARSE_SLIDING     /* a sliding window */
} SparsePattern;
extern const char *const sparse_pattern_names[];

typedef struct Sparsity {
    int pattern;
    int64_t block;     /* tokens */
    char *local;       /* sizes of windows in blocks, "2,4": fixed (the first), variable (the last repeats); empty: 4 */
    int64_t window;    /* blocks of a sliding window, the query's own in its middle */
    int64_t n_global;  /* fixed: last blocks of a window; bigbird: first blocks */
    char *global;      /* variable, longformer: "0,7-8"; empty: 0 */
    int64_t n_random;  /* of a row; -1: the pattern's own */
    int64_t rotations; /* fixed: heads take turns in which blocks of a window are global */
    bool horizontal;   /* fixed, variable: global blocks see everything, not only are seen by everyone */
    bool per_head;     /* heads differ: in their random blocks, and in rotation */
    int64_t seed;      /* of the random blocks */
} Sparsity;

/* Whether the options fit together for sequences of up to `positions` tokens. */
bool sparsity_check(const Sparsity *sparsity, int64_t positions, GError **error);
/* The layout of layer `layer` of a checked pattern, for sequences of up to `positions` tokens. `causal`: no block after
 * the query's. On the host alone. sparsity_layout_free frees. */
BlockLayout *sparsity_layout(const Sparsity *sparsity, int64_t positions, int64_t heads, int layer, bool causal);
void sparsity_layout_free(BlockLayout *layout);
