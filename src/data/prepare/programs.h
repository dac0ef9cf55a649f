/* programs.h: parses and tokenizes programs of a corpus, and splits them into segments along their syntax trees (loam
 * prepare --ast). */
#pragma once

#include "data/trees/trees.h"
#include "text/tokenizer.h"

typedef struct ProgramOptions {
    const Grammars *grammars;
    SyntaxLimits limits;
    int64_t segment_tokens; /* most tokens in a segment */
    int32_t end;            /* id put after every segment; -1 means none */
    int rule;               /* SegmentRule */
} ProgramOptions;

/* Result of program_encode for one document: facts about its syntax tree, and how many nodes each SegmentRule breaks.
 */
typedef struct ProgramTree {
    int language; /* index of its grammar; -1 means that no grammar is known for it */
    int rival;    /* index of a grammar that is used instead if it fits better (grammars_rival); -1 means none */
    SyntaxOutcome outcome;               /* result of parsing; SYNTAX_TREE if no grammar is known */
    int64_t nodes;                       /* number of nodes over the tokens of the whole document */
    int64_t broken_least, broken_greedy; /* nodes that segmentation breaks under each SegmentRule (trees.h) */
    int64_t segments;                    /* number of segments by ProgramOptions.rule */
} ProgramTree;

/* Sums over the programs of one language. */
typedef struct ProgramCounts {
    int64_t documents, bytes, tokens, segments, nodes, broken_least, broken_greedy;
    int64_t outcomes[SYNTAX_OUTCOMES];
} ProgramCounts;

typedef struct ProgramEncoder ProgramEncoder; /* used by one thread */
ProgramEncoder *program_encoder_open(const Tokenizer *tok, const ProgramOptions *options);
void program_encoder_close(ProgramEncoder *encoder);
/* Appends the ids of a program to `ids` (int32_t), with ProgramOptions.end after each segment. For each segment,
 * appends its number of tokens to `sequences` (guint), its nodes to `nodes` (TreeNode) and the number of those nodes to
 * `n_nodes` (guint). The caller sets tree->language and tree->rival; this sets the other fields of `tree`, and changes
 * `language` to the grammar that fits better. */
bool program_encode(ProgramEncoder *encoder, const char *text, size_t bytes, bool specials, ProgramTree *tree,
                    GArray *ids, GArray *sequences, GArray *nodes, GArray *n_nodes, GError **error);
/* Adds one program to `counts`. */
void program_count(ProgramCounts *counts, const ProgramTree *tree, int64_t bytes, int64_t tokens);
