/* dataset.h: a token dataset on disk: PREFIX.bin and PREFIX.idx hold the token ids of its documents (format/indexed.h),
 * PREFIX.json says which tokenizer made them. In place of PREFIX.json, a dataset of fairseq may have a dict.txt (or
 * dict.LANG.txt for PREFIX.LANG) beside its index. */
#pragma once

#include "data/labels.h"
#include "data/trees/trees.h"
#include "format/indexed.h"
#include "text/tokenizer.h"

/* Number of documents, of tokens, and of unknown tokens in a dataset. */
typedef struct DatasetCounts {
    int64_t documents, tokens, unknown;
} DatasetCounts;

#define DATASET_UNKNOWN_SHARE 0.001 /* a larger share of unknown tokens gets a warning */

/* The content of PREFIX.json. It has no paths and no times, so the same input gives the same bytes. */
typedef struct DatasetMeta {
    char *tokenizer_hash, *tokenizer_kind; /* NULL if another program wrote the dataset */
    int64_t vocab;   /* vocabulary size of the tokenizer, or of the dictionary of fairseq; 0 means unknown */
    bool append_eod; /* every document ends with EOS, as in fairseq's datasets */
    DatasetCounts counts;
    bool has_unknown;     /* counts.unknown is known; the dataset was written by a program that counts unknown tokens */
    int32_t unknown_id;   /* with has_unknown: id of the unknown token; -1 means that the tokenizer has none */
    char commonest[64];   /* the commonest characters that the tokenizer does not know, separated by spaces; "" means
                             that none was found */
    bool held_out;        /* held-out data that `loam prepare --valid` separated from training data */
    LabelKind label_kind; /* kind of labels (objectives/labelled.c); LABELS_NONE means text without labels */
    char *labels;         /* names of the classes, separated by commas (data/labels.h); NULL means none */
    int64_t tree_bytes;   /* size of PREFIX.tree (trees/trees.h); 0 means that there is none */
    char tree_hash[17];   /* xxh3-64 of PREFIX.tree as hexadecimal digits */
    char source_hash[17]; /* of a task's examples: the same of the files that hold them; "" means unknown */
} DatasetMeta;

typedef struct Dataset {
    char *prefix; /* path prefix of the files */
    char *name;   /* the prefix, or of a part the path that was opened */
    Indexed *set; /* random access to the tokens */
    DatasetMeta meta;
    Trees *trees; /* PREFIX.tree; NULL means that there is none */
} Dataset;

/* Opens a dataset. path: its path prefix; or one part of it, such as PREFIX@train:949/50/1 (see "Parts" below); or a
 * folder with a file train.idx, as fairseq-preprocess writes it, which means the path prefix FOLDER/train. */
Dataset *dataset_open(const char *path, GError **error);
void dataset_close(Dataset *data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Dataset, dataset_close)
/* Copies n tokens to `out`, starting at token `from` of a sequence of PREFIX.idx and continuing into the following
 * sequences. An id outside [0, vocab) is an error that names the document and the token. */
bool dataset_read(const Dataset *data, int64_t sequence, int64_t from, int64_t n, int32_t vocab, int32_t *out,
                  GError **error);

/* Appends side data to `out`: information about tokens [from, from + n) of a document besides their ids, such as a
 * syntax tree. Each function of this type documents the format of its bytes; an objective chooses one of these
 * functions (ObjectiveConfig.side in objectives/objective.h). */
typedef bool (*DatasetSideFn)(const Dataset *data, int64_t document, int64_t from, int64_t n, GByteArray *out,
                              GError **error);
/* Side data "sentence starts": the tokens (int64_t, ascending, counted from token `from`) at which a sentence starts,
 * without token 0. A sentence is a sequence of the dataset. */
bool dataset_sentence_starts(const Dataset *data, int64_t document, int64_t from, int64_t n, GByteArray *out,
                             GError **error);
/* Side data "syntax tree": TreeNodes: a root of type 0 that covers all n tokens, then the nodes of their tree, cut as
 * by trees_cut. A text without a tree appends nothing. A dataset without trees is an error. */
bool dataset_tree(const Dataset *data, int64_t document, int64_t from, int64_t n, GByteArray *out, GError **error);

/* ---- PREFIX.json (dataset_meta.c) ---- */

/* The metadata of a new dataset whose token ids a tokenizer makes. Its strings belong to the tokenizer. */
DatasetMeta dataset_meta_of(const Tokenizer *tok, bool append_eod);
/* Writes a PREFIX.json. */
bool dataset_meta_write(const DatasetMeta *meta, const char *path, GError **error);
/* Reads a PREFIX.json into *meta, which dataset_meta_clear frees. Unknown keys are errors. */
bool dataset_meta_read(DatasetMeta *meta, const char *path, GError **error);
void dataset_meta_clear(DatasetMeta *meta);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DatasetMeta, dataset_meta_clear)
/* A warning, or below DATASET_UNKNOWN_SHARE a line of information, about the unknown tokens of a dataset. name: the
 * dataset in the message. Nothing is said if there are none, or if their number is not known. */
void dataset_report_unknown(const DatasetMeta *meta, const char *name);
/* The share of unknown tokens as text, such as "2.7 %". Free with g_free. */
char *dataset_unknown_share(const DatasetCounts *counts);
/* A description of a dataset's labels for messages: "labels of a classifier (tokens: O,B-PER)", "labels of a classifier
 * (value)", or "no labels of a classifier". Free with g_free. */
char *dataset_meta_labels(const DatasetMeta *meta);

/* ---- Writing (dataset_writer.c) ---- */

/* A dataset that is being written. */
typedef struct DatasetWriter {
    char *prefix;
    IndexedWriter *files;
    TreeWriter *trees;     /* NULL means that there is no PREFIX.tree */
    NdtypeWriter *ndtypes; /* NULL means no side files of AST-T5 */
    DatasetMeta meta; /* content of the future PREFIX.json; `counts` counts the documents and tokens added so far */
    bool begun;       /* the current document has a sequence */
} DatasetWriter;

/* Opens the files of a new dataset for writing. fairseq: true means fairseq's format, false means Megatron's. The
 * strings of `meta` must outlive the writer; its counts are 0. */
DatasetWriter *dataset_writer_open(const char *prefix, const DatasetMeta *meta, bool fairseq, GError **error);
/* Appends one sequence. */
bool dataset_writer_add(DatasetWriter *writer, const int32_t *ids, int64_t n, GError **error);
/* Ends the current document, which consists of the sequences added since the last call. */
bool dataset_writer_end_document(DatasetWriter *writer, GError **error);
/* Called right after dataset_writer_open: writes PREFIX.tree too; dataset_writer_add_tree then adds every document. */
bool dataset_writer_with_trees(DatasetWriter *writer, const Grammars *grammars, GError **error);
/* As dataset_writer_with_trees, but writes the trees into side files of AST-T5; arguments as in ndtype_writer_open. */
bool dataset_writer_with_ndtypes(DatasetWriter *writer, NdtypeDict *dict, bool packed, GError **error);
/* Adds a document of n tokens as one sequence, with its tree; arguments as in tree_writer_add. */
bool dataset_writer_add_tree(DatasetWriter *writer, const int32_t *ids, int64_t n, int language, const TreeNode *nodes,
                             int64_t n_nodes, GError **error);
/* Completes the files and gives them their final names. PREFIX.json is removed first and written last, so it never
 * describes other data than the files beside it; it is not written if the tokenizer_hash of the metadata is NULL. */
bool dataset_writer_finish(DatasetWriter *writer, GError **error);
/* Frees the writer, and removes its files unless dataset_writer_finish has succeeded. */
void dataset_writer_close(DatasetWriter *writer);

/* ---- Parts (split.c): splits the documents of a dataset, in their order, into a training, a validation and a test
 * part, as Megatron's --split does ---- */

#define SPLIT_PARTS 3
enum { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST };
extern const char *const split_names[]; /* "train", "valid", "test", NULL */

/* Parses the shares of the parts: "949,50,1" or "949/50/1", numbers in any unit. A missing share means 0. */
bool split_parse(double shares[SPLIT_PARTS], const char *text, GError **error);
/* Part i holds documents [boundaries[i], boundaries[i + 1]) of n. Megatron's rule: part i gets n * shares[i] / (sum of
 * shares) documents, rounded half to even; if the last boundary exceeds n, every boundary except the first is lowered
 * by that excess. */
void split_boundaries(const double shares[SPLIT_PARTS], int64_t n, int64_t boundaries[SPLIT_PARTS + 1]);
/* The name of a part, such as "PREFIX@valid:949/50/1". Free with g_free. */
char *split_name(const char *prefix, const double shares[SPLIT_PARTS], int part);
/* Reads the name of a part, such as "PREFIX@valid:949/50/1", into *part and shares. Returns the length of PREFIX in
 * bytes; 0 if the path names a whole dataset, -1 on an error. */
int split_read_name(const char *path, int *part, double shares[SPLIT_PARTS], GError **error);

/* ---- Checking (dataset_check.c) ---- */

typedef struct DatasetCheck {
    int64_t tokens;
    int32_t least, largest; /* smallest and largest token id; an id that does not fit into int32_t counts as -1 */
    int64_t bad;            /* number of bad ids: below 0, or not below the vocabulary size */
    /* The first bad id, and its position counted from 0: number of its sequence and of its document in the whole
     * dataset, and index of the token in its document. */
    int32_t id;
    int64_t sequence, document, token;
} DatasetCheck;

/* Reads every token and looks for bad ids. vocab: the vocabulary size; 0 means unknown: then only ids below 0 are bad.
 * Fails if the tokens cannot be read. */
bool dataset_check(const Dataset *data, int64_t vocab, DatasetCheck *check, GError **error);

/* ---- New datasets from others (dataset_copy.c): tokens stream from file to file, so memory does not grow with the
 * data. The output has the file format of the (first) source, Megatron's or fairseq's ---- */

/* Writes all documents of all sources, one source after another. It is an error, which names two sources, if they
 * differ in their tokenizers, in the integer type of token ids (u16, i32, …) or in append_eod. */
bool dataset_merge(char *const *prefixes, int n_prefixes, const char *out, DatasetCounts *counts, GError **error);
/* Writes the documents in a random order that depends only on the seed and on the number of documents. */
bool dataset_shuffle(const char *prefix, const char *out, uint64_t seed, DatasetCounts *counts, GError **error);
/* Writes the parts OUT-train, OUT-valid and OUT-test; a part with share 0 is not written. */
bool dataset_split(const char *prefix, const char *out, const double shares[SPLIT_PARTS],
                   DatasetCounts counts[SPLIT_PARTS], GError **error);
