/* subtree_corruption.h: AST-T5's objective: span corruption whose masked spans are identifiers and subtrees of a
 * program's syntax tree; in text without a tree the spans are random. Spans with equal tokens get the same sentinel,
 * which occurs once in the targets. */
#pragma once

#include "data/objectives/objective.h"
#include "data/objectives/subtree_mask.h"

typedef struct SubtreeCorruptionSettings {
    SubtreeMaskSettings mask;
    double empty_spans; /* in texts without a tree: the fraction by which fewer tokens are masked; spans of zero tokens,
                           only a sentinel, take their place */
    bool subtrees; /* true: programs are masked along their syntax trees; false: programs are masked like text without a
                      tree */
} SubtreeCorruptionSettings;
