/* subtree_corruption.h: AST-T5's objective: span corruption where the spans are subtrees of the syntax tree of a
 * program and names; in text without a tree they are random. Equal spans share a sentinel, and the targets give it
 * once. */
#pragma once

#include "data/objectives/objective.h"
#include "data/objectives/subtree_mask.h"

typedef struct SubtreeCorruptionSettings {
    SubtreeMaskSettings mask;
    double empty_spans; /* of texts without a tree: share of the masked tokens that are replaced by spans without a
                           token */
    bool subtrees;      /* false means that programs are corrupted as text */
} SubtreeCorruptionSettings;

extern const Objective subtree_corruption_objective;
