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

/* Puts the spans of the targets back into the inputs: the original tokens (without EOS) in `out`, (raw_length). Returns
 * their number, or -1 if the example is malformed. */
int64_t subtree_corruption_splice(const ObjectiveConfig *config, const Example *example, int32_t *out);
