/* trees.h: the public interface of data/trees: syntax trees over the tokens of a dataset, stored in the file
 * PREFIX.tree beside it, and segmentation of programs along their trees. A tree is an array of TreeNode in preorder:
 * parents before children, siblings in their order. Two nodes are disjoint or one contains the other; of two nodes with
 * the same tokens the first is the parent. Tokens that no child covers are leaves of their node. The root is not in the
 * array. */
#pragma once

#include "text/syntax/syntax.h"

typedef struct TreeNode {
    int32_t begin, end; /* the node covers tokens [begin, end), at least one */
    uint16_t type;      /* node type of the grammar */
    uint16_t is_name;   /* 1 if the type is "identifier", otherwise 0 */
} TreeNode;

/* ---- from bytes to tokens (align.c) ---- */

/* Converts the nodes of a program from bytes to tokens and appends them to `out` (TreeNode). ends: (n_tokens) from
 * tokenizer_encode_ends. A token belongs to every node that covers its first byte that is not white space (or its first
 * byte, if all are white space). Nodes without a token are left out. */
void trees_align(const GArray *nodes, const Grammar *grammar, const char *text, const uint32_t *ends, int64_t n_tokens,
                 GArray *out);
/* Appends to `out` the part of a tree within tokens [from, to), counted from `from`: nodes that start before `from` are
 * removed (their children stay), nodes that end after `to` end at `to`. */
void trees_cut(const TreeNode *nodes, int64_t n, int64_t from, int64_t to, GArray *out);

/* ---- segmentation (segment.c) ---- */

/* SEGMENT_LEAST breaks as few nodes as possible, SEGMENT_GREEDY makes every segment except the last as long as
 * possible. */
typedef enum SegmentRule { SEGMENT_LEAST, SEGMENT_GREEDY } SegmentRule;

/* Splits n_tokens into segments of at most `limit` tokens, and appends the end of each to `ends` (GArray of int64_t).
 * Returns the number of broken nodes, summed over the boundaries: a boundary breaks the nodes with tokens on both sides
 * of it, and always the root. SEGMENT_LEAST minimises that number; ties are broken by fewer segments, then by longer
 * first segments. Time and memory are linear in n_tokens. */
int64_t trees_segment(const TreeNode *nodes, int64_t n, int64_t n_tokens, int64_t limit, SegmentRule rule,
                      GArray *ends);

/* ---- PREFIX.tree (tree_write.c, tree_read.c) ---- */

/* Little-endian: "LOAMTREE", u64 version 1; the records of the documents; a JSON text with the languages and their node
 * types; u64 offsets of the records and their end; then u64 number of documents, offset of the JSON text, offset of the
 * offsets, and "LOAMTREE". A record is a sequence of varints (LEB128): 0 for a text without a tree, otherwise 1 + index
 * of the language, number of nodes, and for each node begin - begin of the node before, end - begin, type. */

typedef struct TreeWriter TreeWriter;
/* Opens PREFIX.tree for writing; grammars must outlive the writer. */
TreeWriter *tree_writer_open(const char *prefix, const Grammars *grammars, GError **error);
/* Appends the tree of the next document. language: index of its grammar; -1 means a text without a tree. */
bool tree_writer_add(TreeWriter *writer, int language, const TreeNode *nodes, int64_t n, GError **error);
/* tree_writer_finish and tree_writer_abort free the writer; tree_writer_abort removes its files. *bytes, hash: size and
 * xxh3-64 of the file, as 16 hexadecimal digits. */
bool tree_writer_finish(TreeWriter *writer, int64_t *bytes, char hash[17], GError **error);
void tree_writer_abort(TreeWriter *writer);

typedef struct Trees Trees; /* read-only; thread-safe */
/* Opens PREFIX.tree. Every offset is checked against the file's size. */
Trees *trees_open(const char *prefix, GError **error);
void trees_close(Trees *trees);
int64_t trees_documents(const Trees *trees);
int64_t trees_bytes(const Trees *trees); /* size of the file */
/* Appends the nodes of a document of n_tokens tokens to `nodes` (TreeNode). *language: index for trees_type and
 * trees_language; -1 means a text without a tree. A node outside the tokens or one that overlaps another is an error.
 */
bool trees_read(const Trees *trees, int64_t document, int64_t n_tokens, int *language, GArray *nodes, GError **error);
const char *trees_language(const Trees *trees, int language);       /* "python" */
const char *trees_type(const Trees *trees, int language, int type); /* "identifier" */
/* Computes the hash that tree_writer_finish gave. */
bool trees_hash(const Trees *trees, char hash[17], GError **error);

/* ---- the side files of AST-T5 (ndtypes_write.c, ndtypes_read.c; ndtypes.h describes them) ---- */

typedef struct NdtypeDict NdtypeDict;
/* Makes the dictionary of AST-T5's side files: one symbol per node type of every grammar, and one per position in a
 * segment of at most most_tokens tokens. */
NdtypeDict *ndtype_dict_new(const Grammars *grammars, int64_t most_tokens, GError **error);
void ndtype_dict_free(NdtypeDict *dict);
/* Writes FOLDER/dict_ndtype.txt, with how often each symbol was written so far. */
bool ndtype_dict_write(const NdtypeDict *dict, const char *folder, GError **error);
/* AST-T5's name of the language of a grammar: "csharp" for c_sharp. The caller frees it with g_free. */
char *ndtype_language(const char *grammar);

typedef struct NdtypeWriter NdtypeWriter;
/* Opens the writer of AST-T5's side files of the dataset FOLDER/LANG/SPLIT; `dict` must outlive the writer. packed: if
 * true, FOLDER/LANG/ndtypes/ffr/SPLIT.ffr is written as well. */
NdtypeWriter *ndtype_writer_open(const char *prefix, NdtypeDict *dict, bool packed, GError **error);
/* Appends the tree of the next document; the arguments are those of tree_writer_add. */
bool ndtype_writer_add(NdtypeWriter *writer, int language, const TreeNode *nodes, int64_t n, GError **error);
/* ndtype_writer_finish and ndtype_writer_abort free the writer; ndtype_writer_abort removes its files. */
bool ndtype_writer_finish(NdtypeWriter *writer, GError **error);
void ndtype_writer_abort(NdtypeWriter *writer);

/* Whether FOLDER/dict_ndtype.txt is there for a path prefix FOLDER/LANG/SPLIT. */
bool trees_has_ndtypes(const char *prefix);
/* Removes PREFIX.tree and, for a path prefix FOLDER/LANG/SPLIT with FOLDER/dict_ndtype.txt, its side files.
 * Called when a dataset is replaced: the old tree files describe the old dataset. */
bool trees_remove(const char *prefix, GError **error);
/* Opens the trees in AST-T5's side files of the dataset FOLDER/LANG/SPLIT. If they are missing in FOLDER/LANG/ndtypes,
 * no document has a tree and trees_documents returns -1. Such trees have no hash: trees_hash must not be called. */
Trees *trees_open_ndtypes(const char *prefix, GError **error);
