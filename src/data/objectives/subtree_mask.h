/* subtree_mask.h: masks that follow a syntax tree, and masks of spans for text without a tree: those of AST-T5 (Gong et
 * al. 2024). Distributions are the same as there, random numbers are not. */
#pragma once

#include "base/philox.h"
#include "data/trees/trees.h"

typedef struct SubtreeMaskSettings {
    double identifier_probability; /* of samples that mask identifiers first */
    double identifier_share;       /* of the masked tokens of such a sample that may be identifiers */
    int64_t span_length;           /* of a span in text, or within a node without inner nodes, at most (less 1 there) */
    int64_t least_split, most_split; /* a child with more masked tokens than a number drawn from here for its parent is
                                        masked in parts, others whole where possible */
} SubtreeMaskSettings;

/* mask (n): exactly n * density tokens are masked, rounded up with the probability of the fraction. tree: (n_nodes)
 * TreeNode over the n tokens, the root first. */
void subtree_mask(Philox *rng, const SubtreeMaskSettings *settings, double density, const int32_t *tokens, int64_t n,
                  const TreeNode *tree, int64_t n_nodes, bool *mask);
/* mask (n): spans of a length drawn from 1 … span_length, which may overlap and go on at the start of the text; about
 * n * density of the tokens. */
void span_mask(Philox *rng, double density, int64_t span_length, int64_t n, bool *mask);
/* Tokens that span_mask masks at most. */
int64_t span_mask_most(double density, int64_t span_length, int64_t n);
