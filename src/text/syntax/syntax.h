/* syntax.h: the header of text/syntax for files outside it: parses programs into syntax trees with parsers of
 * tree-sitter. A grammar, the parser of one programming language, is a shared object NAME.so; it has the function
 * tree_sitter_NAME and the string loam_grammar: "NAME VERSION ENDING… ?ENDING… =ALIAS…". ENDING is an ending of file
 * names, such as "py"; ?ENDING is an ending that belongs to another grammar although such files often fit this one
 * (grammars_rival); =ALIAS is another name of the language. tools/install-grammars makes the shared objects. */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define GRAMMARS_MAX 63 /* largest number of grammars in a folder */

typedef struct Grammar {
    char *name, *version; /* name of the language: "python"; version of the grammar: "0.23.6" */
    char **endings; /* NULL-terminated list of the words after NAME and VERSION in loam_grammar: "py", "?h", "=ALIAS" */
    void *library;  /* handle of dlopen */
    const struct TSLanguage *language; /* tree-sitter's tables */
    int abi, n_types;                  /* version of their format: 13 or 14; number of node types */
} Grammar;
typedef GPtrArray Grammars; /* Grammar *: the grammars of a folder, sorted by name; read-only once open */

/* The folder of grammars: $LOAM_GRAMMARS, else loam/grammars in the user's data folder (~/.local/share). g_free. */
char *grammars_folder(void);
/* Opens every NAME.so of a folder, which executes code of these files. folder NULL means grammars_folder(); if that
 * folder does not exist, there are no grammars, which is no error. */
Grammars *grammars_open(const char *folder, GError **error);
/* The number of a grammar by language ("python", "C++"; in any case) or file name ("src/a.py"); -1 if there is none. */
int grammars_find(const Grammars *grammars, const char *name);
/* The number of a second grammar that may fit a file of this name better than the grammar of grammars_find; -1 if there
 * is none. For "a.h" this is C++, since the loam_grammar of C++ has "?h". */
int grammars_rival(const Grammars *grammars, const char *name);
/* Copies all files NAME.so of the folder `from` into the folder `to` if every one of them can be opened as a grammar.
 * Returns their number; -1 on an error. */
int grammars_install(const char *from, const char *to, GError **error);

const char *grammar_type(const Grammar *grammar, int type); /* name of a node type: "identifier" */
/* Whether a node type has a name in the grammar: false for "(" and "while". */
bool grammar_type_is_named(const Grammar *grammar, int type);

/* ---- parsing (parse.c) ---- */

/* A program beyond one of these limits is text without a tree. All but max_seconds decide alike on every machine. */
typedef struct SyntaxLimits {
    int64_t max_bytes;  /* largest size of a program; a program of more than 65,000 leaves (words and punctuation) is
                           always too long */
    int64_t max_depth;  /* largest number of nodes on the path from the root to a leaf */
    double max_seconds; /* largest wall time of parsing; 0 means no limit */
    double max_errors;  /* largest fraction of bytes in ERROR nodes, which the grammar cannot parse */
} SyntaxLimits;

/* Result of parsing a program: a tree, or the reason why the program counts as text without a tree. */
typedef enum SyntaxOutcome {
    SYNTAX_TREE,
    SYNTAX_TOO_LONG,
    SYNTAX_TOO_DEEP,
    SYNTAX_TOO_SLOW,
    SYNTAX_WRONG, /* more of the program than max_errors is in ERROR nodes */
    SYNTAX_OUTCOMES
} SyntaxOutcome;
extern const char *const syntax_outcome_names[]; /* "tree", "too long", … */

typedef struct SyntaxNode {
    uint32_t begin, end; /* the node covers bytes [begin, end) of the program, at least one byte */
    uint16_t type;       /* node type: an index for grammar_type */
} SyntaxNode;

/* Each thread needs its own. */
typedef struct SyntaxParser {
    struct TSParser *parser;
    uint64_t error_bytes; /* bytes within ERROR nodes of the last program, if it was parsed to its end; otherwise 0 */
} SyntaxParser;
SyntaxParser *syntax_parser_open(void);
void syntax_parser_close(SyntaxParser *parser);
/* Parses a program and sets `nodes` (SyntaxNode) to its named nodes in preorder: parents before children, siblings in
 * their order. Leaves out the root and ERROR nodes, but not their children. Empty unless the result is SYNTAX_TREE. */
SyntaxOutcome syntax_parse(SyntaxParser *parser, const Grammar *grammar, const char *text, size_t bytes,
                           const SyntaxLimits *limits, GArray *nodes);
/* Parses a program and sets `hashes` (uint64_t), for the syntax match of CodeBLEU: for the root and for every node with
 * children, a hash of its S-expression, such as "(call (name) (arguments))". `hashes` is empty unless the result is
 * SYNTAX_TREE. The time is proportional to the depth of the tree times its size. */
SyntaxOutcome syntax_subtrees(SyntaxParser *parser, const Grammar *grammar, const char *text, size_t bytes,
                              const SyntaxLimits *limits, GArray *hashes);
