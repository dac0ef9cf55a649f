/* subtree_corruption.h: AST-T5's objective: span corruption whose spans are names and subtrees of the syntax tree of a
 * program; in text without a tree spans are random. Equal spans share a sentinel, which occurs once in the targets. */
#pragma once

#include "data/objectives/objective.h"
#include "data/objectives/subtree_mask.h"

typedef struct SubtreeCorruptionSettings {
    SubtreeMaskSettings mask;
    double empty_spans; /* in texts without a tree: fraction of the masked tokens that are replaced by spans of zero
                           tokens */
    bool subtrees;      /* false means that programs are masked like text without a tree */
} SubtreeCorruptionSettings;

extern const Objective subtree_corruption_objective;
