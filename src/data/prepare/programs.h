/* programs.h: parses and tokenizes programs of a corpus, and splits them into segments along their syntax trees (loam
 * prepare --ast). */
#pragma once

#include "data/trees/trees.h"
#include "text/tokenizer.h"

typedef struct ProgramOptions {
    const Grammars *grammars;
    SyntaxLimits limits;
    int64_t segment_tokens; /* largest number of tokens in a segment */
    int32_t end;            /* token id put after every segment; -1 means none */
    int rule;               /* SegmentRule */
} ProgramOptions;

/* Facts about the syntax tree of one document, set by program_encode. */
typedef struct ProgramTree {
    int language; /* index of the document's grammar; -1 means that there is no grammar for it */
    int rival; /* index of another grammar, which is used instead if it fits better (grammars_rival); -1 means none */
    SyntaxOutcome outcome;               /* result of parsing; SYNTAX_TREE if there is no grammar */
    int64_t nodes;                       /* number of nodes over the tokens of the whole document */
    int64_t broken_least, broken_greedy; /* number of nodes that segmentation breaks with SEGMENT_LEAST and with
                                            SEGMENT_GREEDY (trees.h) */
    int64_t segments;                    /* number of segments that ProgramOptions.rule makes */
} ProgramTree;

/* Sums over the programs of one language. */
typedef struct ProgramCounts {
    int64_t documents, bytes, tokens, segments, nodes, broken_least, broken_greedy;
    int64_t outcomes[SYNTAX_OUTCOMES];
} ProgramCounts;

typedef struct ProgramEncoder ProgramEncoder; /* used by one thread */
ProgramEncoder *program_encoder_open(const Tokenizer *tok, const ProgramOptions *options);
void program_encoder_close(ProgramEncoder *encoder);
/* The segments of programs. */
typedef struct ProgramSegments {
    GArray *ids;       /* int32_t; ProgramOptions.end follows each segment */
    GArray *sequences; /* guint: tokens of each segment */
    GArray *nodes;     /* TreeNode: the nodes of all segments */
    GArray *n_nodes;   /* guint: nodes of each segment */
} ProgramSegments;

/* Appends the segments of a program to `out`. The caller sets tree->language and tree->rival; the function sets the
 * other fields of *tree, and sets tree->language to tree->rival if that grammar fits better. specials: as in
 * tokenizer_encode. */
bool program_encode(ProgramEncoder *encoder, const char *text, size_t bytes, bool specials, ProgramTree *tree,
                    ProgramSegments out, GError **error);
/* Adds one program of `bytes` bytes and `tokens` tokens to `counts`. */
void program_count(ProgramCounts *counts, const ProgramTree *tree, int64_t bytes, int64_t tokens);
