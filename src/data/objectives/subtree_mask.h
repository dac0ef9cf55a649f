/* subtree_mask.h: the masks of AST-T5 (Gong et al. 2024): along a syntax tree, and of spans for text without a tree.
 * The distributions are those of AST-T5, the random numbers are not. */
#pragma once

#include "base/philox.h"
#include "data/trees/trees.h"

typedef struct SubtreeMaskSettings {
    double identifier_probability; /* probability that a sample masks identifiers first */
    double identifier_share;       /* greatest fraction of the masked tokens of such a sample that may be identifiers */
    int64_t span_length; /* greatest length of a span, in tokens: in text; within a node without inner nodes (there
                            minus 1) */
    int64_t least_split,
        most_split; /* for each parent a number is drawn from [least_split, most_split]: a child with more tokens to
                       mask than that is masked in parts, other children as a whole if possible */
} SubtreeMaskSettings;

/* Draws mask (n) with exactly n * density masked tokens; a fractional part is rounded up with a probability of its
 * size. tree: (n_nodes) nodes over the n tokens, the root first. */
void subtree_mask(Philox *rng, const SubtreeMaskSettings *settings, double density, const int32_t *tokens, int64_t n,
                  const TreeNode *tree, int64_t n_nodes, bool *mask);
/* Draws mask (n) of about n * density masked tokens: spans of a random length in 1 … span_length, which may overlap and
 * wrap around from the end of the text to its start. */
void span_mask(Philox *rng, double density, int64_t span_length, int64_t n, bool *mask);
/* The most tokens that span_mask masks. */
int64_t span_mask_most(double density, int64_t span_length, int64_t n);
