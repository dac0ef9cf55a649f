/* subtree_corruption.h: AST-T5's objective: span corruption whose masked spans are identifiers and subtrees of a
 * program's syntax tree; in text without a tree the spans are random. Spans with equal tokens get the same sentinel,
 * which occurs once in the targets. */
#pragma once

#include "data/objectives/objective.h"
#include "data/trees/trees.h"

typedef struct SubtreeMaskSettings {
    double identifier_probability; /* probability that a sample masks identifiers first */
    double identifier_share; /* for such a sample: largest fraction of its masked tokens that may be identifiers */
    int64_t span_length;     /* largest length in tokens of a random span in text without a tree; within a node whose
                                children are single tokens the largest length is span_length - 1 */
    int64_t least_split,
        most_split; /* for each node a number is drawn from [least_split, most_split]; a child that has more tokens to
                       mask than this number is masked in parts, other children are masked as a whole if possible */
} SubtreeMaskSettings;

typedef struct SubtreeCorruptionSettings {
    SubtreeMaskSettings mask;
    double empty_spans; /* in texts without a tree: the fraction by which fewer tokens are masked; spans of zero tokens,
                           only a sentinel, take their place */
    bool subtrees; /* true: programs are masked along their syntax trees; false: programs are masked like text without a
                      tree */
} SubtreeCorruptionSettings;

/* ---- masks (subtree_mask.c), as in AST-T5 (Gong et al. 2024): they have the same distribution, but come from other
 * random numbers ---- */

/* Draws mask (n) along a syntax tree. Exactly n * density tokens are masked; if this is no whole number, it is rounded
 * up with the probability of its fractional part, otherwise down. tree: (n_nodes) nodes over the n tokens, the root
 * first. */
void subtree_mask(Philox *rng, const SubtreeMaskSettings *settings, double density, const int32_t *tokens, int64_t n,
                  const TreeNode *tree, int64_t n_nodes, bool *mask);
/* Draws mask (n) for text without a tree, with about n * density masked tokens: spans of random lengths from 1 to
 * span_length, which may overlap, and may continue at the start of the text when they reach its end. */
void span_mask(Philox *rng, double density, int64_t span_length, int64_t n, bool *mask);
/* The largest number of tokens that span_mask can mask. */
int64_t span_mask_most(double density, int64_t span_length, int64_t n);
