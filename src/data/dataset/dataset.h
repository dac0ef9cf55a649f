/* dataset.h: a token dataset on disk: PREFIX.bin and PREFIX.idx hold the token ids of its documents (format/indexed.h),
 * PREFIX.json says which tokenizer made them. In place of PREFIX.json, a dataset of fairseq may have a dict.txt (or
 * dict.LANG.txt for PREFIX.LANG) beside its index. */
#pragma once

#include "data/labels.h"
#include "data/trees/trees.h"
#include "format/indexed.h"
#include "text/tokenizer.h"

typedef struct DatasetCounts {
    int64_t documents, tokens;
} DatasetCounts;

/* What PREFIX.json says. It holds no paths and no times, so the same input gives the same bytes. */
typedef struct DatasetMeta {
    char *tokenizer_hash, *tokenizer_kind; /* NULL if another program wrote the dataset */
    int64_t vocab;   /* vocabulary size of the tokenizer, or of fairseq's dictionary; 0 means unknown */
    bool append_eod; /* every document ends with EOS, as in fairseq's datasets */
    DatasetCounts counts;
    bool held_out;        /* held-out data that loam prepare --valid separated from the training data beside it */
    LabelKind label_kind; /* kind of labels (objectives/labelled.h); LABELS_NONE means text without labels */
    char *labels;         /* names of the classes, separated by commas; NULL means none */
    int64_t tree_bytes;   /* size of PREFIX.tree (trees/trees.h); 0 means that there is none */
    char tree_hash[17];   /* xxh3-64 of PREFIX.tree as hexadecimal digits */
} DatasetMeta;

typedef struct Dataset {
    char *prefix; /* path prefix of the files */
    Indexed *set; /* random access to the tokens */
    DatasetMeta meta;
    Trees *trees; /* PREFIX.tree; NULL means that there is none */
} Dataset;

/* path: the path prefix; or PREFIX@train:949/50/1, one part of the documents (see "Parts" below); or a folder that
 * holds train.idx, as fairseq-preprocess writes it, which means the path prefix FOLDER/train. */
Dataset *dataset_open(const char *path, GError **error);
void dataset_close(Dataset *data);
/* Copies n tokens to `out`, starting at token `from` of a sequence of PREFIX.idx and continuing into the following
 * sequences. An id outside [0, vocab) is an error that names the document and the token. */
bool dataset_read(const Dataset *data, int64_t sequence, int64_t from, int64_t n, int32_t vocab, int32_t *out,
                  GError **error);

/* Appends side data to `out`: information about tokens [from, from + n) of a document besides their ids, such as a
 * syntax tree. Each such function documents its format; an objective names the function whose data it reads (Objective
 * in objectives/objective.h). */
typedef bool (*DatasetSideFn)(const Dataset *data, int64_t document, int64_t from, int64_t n, GByteArray *out,
                              GError **error);
/* Appends int64_t: the tokens at which a sentence (a sequence of the dataset) starts, counted from `from`, in ascending
 * order, without 0. */
bool dataset_sentence_starts(const Dataset *data, int64_t document, int64_t from, int64_t n, GByteArray *out,
                             GError **error);
/* Appends TreeNode: a node of type 0 that covers all n tokens, then their syntax tree, cut as by trees_cut. Appends
 * nothing for a text without a tree. A dataset without PREFIX.tree is an error. */
bool dataset_tree(const Dataset *data, int64_t document, int64_t from, int64_t n, GByteArray *out, GError **error);

/* ---- PREFIX.json (dataset_meta.c) ---- */

/* The metadata of a new dataset that is made with a tokenizer, whose strings it borrows. */
DatasetMeta dataset_meta_of(const Tokenizer *tok, bool append_eod);
bool dataset_meta_write(const DatasetMeta *meta, const char *path, GError **error);
/* Reads a PREFIX.json into *meta, which dataset_meta_clear frees. Unknown keys are errors. */
bool dataset_meta_read(DatasetMeta *meta, const char *path, GError **error);
void dataset_meta_clear(DatasetMeta *meta);
/* "labels of a classifier (tokens: O,B-PER)", "… (value)", or "no labels of a classifier": for messages. g_free. */
char *dataset_meta_labels(const DatasetMeta *meta);

/* ---- Writing (dataset_writer.c) ---- */

/* A dataset being written. */
typedef struct DatasetWriter {
    char *prefix;
    IndexedWriter *files;
    TreeWriter *trees;     /* NULL means that there is no PREFIX.tree */
    NdtypeWriter *ndtypes; /* NULL means no side files of AST-T5 */
    DatasetMeta meta;      /* for PREFIX.json; `counts` is what was added so far */
} DatasetWriter;

/* fairseq: true means fairseq's format, false Megatron's. The strings of `meta` must outlive the writer; its counts are
 * 0. */
DatasetWriter *dataset_writer_open(const char *prefix, const DatasetMeta *meta, bool fairseq, GError **error);
bool dataset_writer_add(DatasetWriter *writer, const int32_t *ids, int64_t n,
                        GError **error); /* appends one sequence */
bool dataset_writer_end_document(DatasetWriter *writer, GError **error);
/* Call this right after opening to also write PREFIX.tree; every document is then added with dataset_writer_add_tree.
 */
bool dataset_writer_with_trees(DatasetWriter *writer, const Grammars *grammars, GError **error);
/* As dataset_writer_with_trees, except that trees are written into the side files of AST-T5 (ndtype_writer_open). */
bool dataset_writer_with_ndtypes(DatasetWriter *writer, NdtypeDict *dict, bool packed, GError **error);
/* Adds a document of n tokens as one sequence, with its tree; arguments as in tree_writer_add. */
bool dataset_writer_add_tree(DatasetWriter *writer, const int32_t *ids, int64_t n, int language, const TreeNode *nodes,
                             int64_t n_nodes, GError **error);
/* Gives the files their final names. PREFIX.json is removed first and written last, so it never describes other data
 * than those beside it; it is not written if tokenizer_hash is NULL. */
bool dataset_writer_finish(DatasetWriter *writer, GError **error);
/* Frees the writer, and removes its files unless it is finished. */
void dataset_writer_close(DatasetWriter *writer);

/* ---- Parts (split.c): splits the documents of a dataset, in their order, into a training, a validation and a test
 * part, as Megatron's --split does ---- */

#define SPLIT_PARTS 3
enum { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST };
extern const char *const split_names[]; /* "train", "valid", "test", NULL */

/* text: "949,50,1" or "949/50/1", shares in any unit; a missing share is 0. */
bool split_parse(double shares[SPLIT_PARTS], const char *text, GError **error);
/* Part i holds documents [boundaries[i], boundaries[i + 1]) of n. Megatron's rule: part i gets n * shares[i] / (sum of
 * shares) documents, rounded half to even; if the last boundary exceeds n, every boundary except the first is lowered
 * by that excess. */
void split_boundaries(const double shares[SPLIT_PARTS], int64_t n, int64_t boundaries[SPLIT_PARTS + 1]);
/* The name of a part, such as "PREFIX@valid:949/50/1". g_free. */
char *split_name(const char *prefix, const double shares[SPLIT_PARTS], int part);
/* Reads the name of a part into *part and *shares and returns how many bytes of it are the path prefix; 0 if the path
 * names a whole dataset, -1 on an error. */
int split_read_name(const char *path, int *part, double shares[SPLIT_PARTS], GError **error);

/* ---- Checking (dataset_check.c) ---- */

typedef struct DatasetCheck {
    int64_t tokens;
    int32_t least, largest; /* smallest and largest id; an id that does not fit into int32_t counts as -1 */
    int64_t bad;            /* how many ids are below 0 or not below the vocabulary size */
    /* The first bad id and its place, counted from 0: sequence and document in the whole dataset, token in its
     * document. */
    int32_t id;
    int64_t sequence, document, token;
} DatasetCheck;

/* Reads every token. vocab 0 means that the vocabulary size is unknown; only ids below 0 are bad then. Fails if the
 * tokens cannot be read. */
bool dataset_check(const Dataset *data, int64_t vocab, DatasetCheck *check, GError **error);

/* ---- New datasets from others (dataset_copy.c): tokens stream from file to file, so memory does not grow with the
 * data. The output has the file format of the (first) source, Megatron's or fairseq's ---- */

/* Writes all documents of all sources, one source after another. Sources with different tokenizers,
 * integer types of token ids (u16, i32, …) or append_eod are an error that names them. */
bool dataset_merge(char *const *prefixes, int n_prefixes, const char *out, DatasetCounts *counts, GError **error);
/* Writes the documents in an order that depends only on the seed and their number. */
bool dataset_shuffle(const char *prefix, const char *out, uint64_t seed, DatasetCounts *counts, GError **error);
/* Writes the parts OUT-train, OUT-valid and OUT-test; a part with share 0 is not written. */
bool dataset_split(const char *prefix, const char *out, const double shares[SPLIT_PARTS],
                   DatasetCounts counts[SPLIT_PARTS], GError **error);
