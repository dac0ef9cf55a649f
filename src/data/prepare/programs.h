/* programs.h: the documents of a corpus as programs: each is parsed, tokenized and cut into segments along its syntax
 * tree (loam prepare --ast). */
#pragma once

#include "data/trees/trees.h"
#include "text/tokenizer.h"

typedef struct ProgramOptions {
    const Grammars *grammars;
    SyntaxLimits limits;
    int64_t segment_tokens; /* tokens of a segment at most */
    int32_t end;            /* id put after every segment; -1 means none */
    int rule;               /* SegmentRule */
} ProgramOptions;

/* What program_encode tells of one document: its syntax tree, and how many nodes each SegmentRule breaks. */
typedef struct ProgramTree {
    int language;                        /* index of its grammar; -1 means that no grammar is known for it */
    int rival;                           /* grammar that is taken instead if it fits better (grammars_rival); or -1 */
    SyntaxOutcome outcome;               /* of parsing; SYNTAX_TREE where no grammar is known */
    int64_t nodes;                       /* over the tokens of the whole document */
    int64_t broken_least, broken_greedy; /* results of trees_segment by SEGMENT_LEAST and SEGMENT_GREEDY */
    int64_t segments;                    /* by ProgramOptions.rule */
} ProgramTree;

/* Sums over the programs of one language. */
typedef struct ProgramCounts {
    int64_t documents, bytes, tokens, segments, nodes, broken_least, broken_greedy;
    int64_t outcomes[SYNTAX_OUTCOMES];
} ProgramCounts;

typedef struct ProgramEncoder ProgramEncoder; /* used by one thread */
ProgramEncoder *program_encoder_open(const Tokenizer *tok, const ProgramOptions *options);
void program_encoder_close(ProgramEncoder *encoder);
/* Appends the ids of a program to `ids` (int32_t), with ProgramOptions.end after each segment, the tokens of each
 * segment to `sequences` (guint), its nodes to `nodes` (TreeNode) and their number to `n_nodes` (guint, one for each
 * segment). In: tree->language and rival; out: the other fields of `tree`, and the language that fits. */
bool program_encode(ProgramEncoder *encoder, const char *text, size_t bytes, bool specials, ProgramTree *tree,
                    GArray *ids, GArray *sequences, GArray *nodes, GArray *n_nodes, GError **error);
void program_count(ProgramCounts *counts, const ProgramTree *tree, int64_t bytes, int64_t tokens);
