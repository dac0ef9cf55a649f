/* trees.h: the public interface of data/trees: syntax trees of programs over their token ids, stored in the file
 * PREFIX.tree beside a dataset, and segmentation of programs along these trees. A tree is an array of TreeNode in
 * preorder: parents before children, siblings in their order. Two nodes either have no token in common or one contains
 * the other; of two nodes with the same tokens the earlier one in the array is the parent. The root, which covers all
 * tokens, is not in the array. */
#pragma once

#include "text/syntax/syntax.h"

typedef struct TreeNode {
    int32_t begin, end; /* the node covers tokens [begin, end) of the program or segment, at least one token */
    uint16_t type;      /* node type: an index for grammar_type and trees_type, such as the index of "identifier" */
    uint16_t is_name;   /* 1 if the node type is "identifier", otherwise 0 */
} TreeNode;

/* ---- from bytes to tokens (align.c) ---- */

/* Converts the nodes of a program (SyntaxNode, byte ranges of `text`) to nodes over its tokens (TreeNode) and appends
 * these to `out`. ends: (n_tokens) the end of each token in `text`, from tokenizer_encode_ends. A token belongs to a
 * node if the node covers the token's first byte that is not white space, or the token's first byte if the token is
 * only white space. A node that gets no token is left out. */
void trees_align(const GArray *nodes, const Grammar *grammar, const char *text, const uint32_t *ends, int64_t n_tokens,
                 GArray *out);
/* Appends to `out` (TreeNode) the nodes of a tree that start within tokens [from, to), shifted so that token `from`
 * becomes token 0. A node that starts before `from` is removed, its children are not; a node that ends after `to` is
 * shortened to end at `to`. */
void trees_cut(const TreeNode *nodes, int64_t n, int64_t from, int64_t to, GArray *out);

/* ---- segmentation (segment.c) ---- */

/* How trees_segment chooses the boundaries of segments: SEGMENT_LEAST breaks as few nodes as possible; SEGMENT_GREEDY
 * makes every segment except the last as long as possible. */
typedef enum SegmentRule { SEGMENT_LEAST, SEGMENT_GREEDY } SegmentRule;

/* Splits a program of n_tokens tokens into consecutive segments of at most `limit` tokens, and appends the end of each
 * segment to `ends` (int64_t). Returns the number of broken nodes, summed over the boundaries between segments: a
 * boundary breaks the nodes that have tokens on both sides of it, and always the root. SEGMENT_LEAST minimises the
 * number of broken nodes; of equally good splits it takes the one with fewer segments, then the one with longer first
 * segments. Time and memory are linear in n_tokens. */
int64_t trees_segment(const TreeNode *nodes, int64_t n, int64_t n_tokens, int64_t limit, SegmentRule rule,
                      GArray *ends);

/* ---- PREFIX.tree (tree_file.c) ---- */

/* The format of PREFIX.tree, little-endian, has these parts:
 * - "LOAMTREE" and u64 version 1;
 * - one record per document: a sequence of varints (LEB128). A text without a tree has the record 0. Any other record
 * is 1 + index of the language, the number of nodes, and three numbers per node: its begin minus the begin of the
 * previous node, its end minus its begin, its type;
 * - a JSON text with the languages and the node types of each;
 * - u64 offsets in the file: of each record, and of the end of the last record;
 * - a footer (TreeFooter in tree_file.c): u64 number of documents, u64 offset of the JSON text, u64 offset of the
 * offsets, and "LOAMTREE". */

typedef struct TreeWriter TreeWriter;
/* Opens PREFIX.tree for writing; `grammars` must outlive the writer. */
TreeWriter *tree_writer_open(const char *prefix, const Grammars *grammars, GError **error);
/* Appends the tree of the next document, n nodes. language: index of the document's grammar in the Grammars of the
 * writer; -1 means a text without a tree. */
bool tree_writer_add(TreeWriter *writer, int language, const TreeNode *nodes, int64_t n, GError **error);
/* Completes the file PREFIX.tree. *bytes becomes its size, `hash` its xxh3-64 hash as 16 hexadecimal digits. */
bool tree_writer_finish(TreeWriter *writer, int64_t *bytes, char hash[17], GError **error);
/* Frees the writer, and removes its file unless tree_writer_finish has succeeded. */
void tree_writer_close(TreeWriter *writer);

typedef struct Trees Trees; /* read-only; thread-safe */
/* Opens PREFIX.tree. It is an error if an offset does not fit the file's size. */
Trees *trees_open(const char *prefix, GError **error);
void trees_close(Trees *trees);
int64_t trees_documents(const Trees *trees); /* number of documents */
int64_t trees_bytes(const Trees *trees);     /* size of the file */
/* Appends the nodes of document number `document`, which has n_tokens tokens, to `nodes` (TreeNode). *language becomes
 * the document's language, an index for trees_type and trees_language; -1 means a text without a tree. It is an error
 * if a node covers tokens that the document does not have, or if two nodes overlap and neither contains the other. */
bool trees_read(const Trees *trees, int64_t document, int64_t n_tokens, int *language, GArray *nodes, GError **error);
const char *trees_language(const Trees *trees, int language);       /* name of a language: "python" */
const char *trees_type(const Trees *trees, int language, int type); /* name of a node type: "identifier" */
/* Computes the hash of the file, as tree_writer_finish does. */
bool trees_hash(const Trees *trees, char hash[17], GError **error);

/* ---- the side files of AST-T5 (ndtypes.c; ndtypes.h describes them) ---- */

typedef struct NdtypeDict NdtypeDict;
/* Makes the dictionary of AST-T5's side files: one symbol per node type of every grammar, and one symbol per token
 * position in a segment of at most most_tokens tokens. */
NdtypeDict *ndtype_dict_new(const Grammars *grammars, int64_t most_tokens, GError **error);
void ndtype_dict_free(NdtypeDict *dict);
/* Writes the dictionary to FOLDER/dict_ndtype.txt; the count of a symbol is how often the writers of side files have
 * written it so far. */
bool ndtype_dict_write(const NdtypeDict *dict, const char *folder, GError **error);
/* AST-T5's name of the language of a grammar: "csharp" for c_sharp. Free with g_free. */
char *ndtype_language(const char *grammar);

typedef struct NdtypeWriter NdtypeWriter;
/* Opens the writer of AST-T5's side files of the dataset FOLDER/LANG/SPLIT; `dict` must outlive the writer. packed:
 * true means that FOLDER/LANG/ndtypes/ffr/SPLIT.ffr is written as well. */
NdtypeWriter *ndtype_writer_open(const char *prefix, NdtypeDict *dict, bool packed, GError **error);
/* Appends the tree of the next document; the arguments are those of tree_writer_add. */
bool ndtype_writer_add(NdtypeWriter *writer, int language, const TreeNode *nodes, int64_t n, GError **error);
/* Completes the side files and gives them their names. */
bool ndtype_writer_finish(NdtypeWriter *writer, GError **error);
/* Frees the writer, and removes its files unless ndtype_writer_finish has succeeded. */
void ndtype_writer_close(NdtypeWriter *writer);

/* Whether the file FOLDER/dict_ndtype.txt exists; prefix: the path prefix FOLDER/LANG/SPLIT of a dataset. */
bool trees_has_ndtypes(const char *prefix);
/* Removes PREFIX.tree and, if the path prefix is FOLDER/LANG/SPLIT and FOLDER/dict_ndtype.txt exists, the side files of
 * this dataset. To be called when a dataset is replaced, since its tree files describe the old tokens. */
bool trees_remove(const char *prefix, GError **error);
/* Opens the trees in AST-T5's side files of the dataset FOLDER/LANG/SPLIT. Without such files in FOLDER/LANG/ndtypes no
 * document has a tree and trees_documents returns -1. Side files have no trees_hash. */
Trees *trees_open_ndtypes(const char *prefix, GError **error);
