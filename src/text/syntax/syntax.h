/* syntax.h: the header of text/syntax for files outside it: parses programs into syntax trees with the parsers of
 * tree-sitter. A grammar is a shared object NAME.so with the function tree_sitter_NAME and the string loam_grammar:
 * "NAME VERSION ENDING… ?ENDING… =ALIAS…". ENDING: an ending of file names; ?ENDING: an ending that belongs to another
 * grammar but often fits this one (grammars_rival); =ALIAS: another name of the language. tools/install-grammars makes
 * these files. */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define GRAMMARS_MAX 63 /* most grammars in a folder */

typedef struct Grammar Grammar;
typedef struct Grammars Grammars; /* the grammars of a folder, sorted by name; read-only once open */

/* The folder of grammars: $LOAM_GRAMMARS if set, otherwise loam/grammars in the user's data folder (~/.local/share).
 * Free with g_free. */
char *grammars_folder(void);
/* Opens every NAME.so of a folder, which runs code of the file. folder NULL means grammars_folder(), which may be
 * missing; then the list is empty. */
Grammars *grammars_open(const char *folder, GError **error);
void grammars_close(Grammars *grammars);
int grammars_count(const Grammars *grammars);
const Grammar *grammars_at(const Grammars *grammars, int i);
/* The grammar for a language ("python", "C++"; upper and lower case are alike) or for a file name ("src/a.py"); -1
 * means that there is none. */
int grammars_find(const Grammars *grammars, const char *name);
/* The grammar that may fit a file of this name much better than that of grammars_find, such as C++ for "a.h", because
 * its loam_grammar has "?h"; -1 if there is none. */
int grammars_rival(const Grammars *grammars, const char *name);
/* Opens each NAME.so of the folder `from`, and copies all of them into the folder `to` if every one can be opened.
 * Returns their number; -1 on an error. */
int grammars_install(const char *from, const char *to, GError **error);

const char *grammar_name(const Grammar *grammar);             /* "python" */
const char *grammar_version(const Grammar *grammar);          /* "0.23.6" */
char *const *grammar_endings(const Grammar *grammar);         /* "py", "?h", "=NAME"; NULL-terminated */
int grammar_abi(const Grammar *grammar);                      /* version of tree-sitter's table format: 13 or 14 */
int grammar_types(const Grammar *grammar);                    /* number of node types */
const char *grammar_type(const Grammar *grammar, int type);   /* "identifier" */
bool grammar_type_is_named(const Grammar *grammar, int type); /* false for "(" and "while", and for inner types */

/* ---- parsing (parse.c) ---- */

/* Beyond these limits a program counts as text without a tree. All limits except max_seconds give the same result on
 * every machine. */
typedef struct SyntaxLimits {
    int64_t max_bytes;  /* of a program; in addition, a program of more than 65,000 leaves (words and punctuation) is
                           always too long */
    int64_t max_depth;  /* nodes on the way from the root to a leaf */
    double max_seconds; /* wall time of parsing; 0 means no limit */
    double max_errors;  /* fraction of the bytes that may be in ERROR nodes (text that the grammar cannot derive) */
} SyntaxLimits;

typedef enum SyntaxOutcome {
    SYNTAX_TREE,
    SYNTAX_TOO_LONG,
    SYNTAX_TOO_DEEP,
    SYNTAX_TOO_SLOW,
    SYNTAX_WRONG, /* more than max_errors */
    SYNTAX_OUTCOMES
} SyntaxOutcome;
extern const char *const syntax_outcome_names[]; /* "tree", "too long", … */

typedef struct SyntaxNode {
    uint32_t begin, end; /* the node covers bytes [begin, end), at least one */
    uint16_t type;       /* see grammar_type */
} SyntaxNode;

typedef struct SyntaxParser SyntaxParser; /* each thread needs its own */
SyntaxParser *syntax_parser_open(void);
void syntax_parser_close(SyntaxParser *parser);
/* Fills `nodes` (SyntaxNode) with the named nodes of a program in preorder: parents before children, siblings in their
 * order. The root and ERROR nodes are left out, but not their children. Empty unless the result is SYNTAX_TREE. */
SyntaxOutcome syntax_parse(SyntaxParser *parser, const Grammar *grammar, const char *text, size_t bytes,
                           const SyntaxLimits *limits, GArray *nodes);
/* Fills `hashes` (uint64_t) for the syntax match of CodeBLEU: a hash of the S-expression, such as "(call (name)
 * (arguments))", of the root and of every node with children. Empty unless the result is SYNTAX_TREE. The time grows
 * with the depth of the tree times its size. */
SyntaxOutcome syntax_subtrees(SyntaxParser *parser, const Grammar *grammar, const char *text, size_t bytes,
                              const SyntaxLimits *limits, GArray *hashes);
/* Bytes in ERROR nodes of the last program, if it was parsed to its end; otherwise 0. */
uint64_t syntax_error_bytes(const SyntaxParser *parser);
