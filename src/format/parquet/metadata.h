/* metadata.h: the footer of a Parquet file: the tree of its columns, and where a row group has the pages of a column.
 * A column of nested values consists of several leaves, each with pages of its own. Terms are those of
 * github.com/apache/parquet-format. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum Physical {
    PHYSICAL_BOOLEAN,
    PHYSICAL_INT32,
    PHYSICAL_INT64,
    PHYSICAL_INT96,
    PHYSICAL_FLOAT,
    PHYSICAL_DOUBLE,
    PHYSICAL_BYTES, /* BYTE_ARRAY */
    PHYSICAL_FIXED, /* FIXED_LEN_BYTE_ARRAY */
    N_PHYSICAL
} Physical;

/* What the numbers or bytes of a leaf stand for, by its logical or converted type. */
typedef enum Meaning {
    MEANS_ITSELF, /* a number; text, if it is bytes */
    MEANS_UNSIGNED,
    MEANS_DATE,      /* days since 1970 */
    MEANS_TIME,      /* since midnight */
    MEANS_TIMESTAMP, /* since 1970 */
    MEANS_DECIMAL,
    MEANS_FLOAT16,
    MEANS_UUID
} Meaning;

typedef struct LeafType {
    Physical physical;
    int32_t width; /* bytes of a value; 0 means PHYSICAL_BOOLEAN or PHYSICAL_BYTES */
    Meaning meaning;
    int digits; /* MEANS_DECIMAL: digits after the point; MEANS_TIME and _TIMESTAMP: of a second: 3, 6 or 9 */
    bool utc;   /* MEANS_TIME, MEANS_TIMESTAMP: of UTC, not of a place that is not told */
} LeafType;

/* How the JSON value of a node is made. */
typedef enum Shape {
    SHAPE_LEAF,
    SHAPE_OBJECT, /* a struct */
    SHAPE_CHILD,  /* it is the value of its only child: the groups around the elements of a list */
    SHAPE_MAP     /* an object, whose names and values are the children of its only child */
} Shape;

typedef enum Repetition { REQUIRED, OPTIONAL, REPEATED } Repetition;

/* A node of the tree of columns; its children follow it. */
typedef struct Node {
    char *name;
    Repetition repetition;
    Shape shape;
    uint32_t repetition_level, definition_level; /* of an entry in which the node is not null */
    guint n_children, next;                      /* next: index of the node after this one and all below it */
    guint first_leaf, end_leaf;                  /* its leaves */
    LeafType type;                               /* SHAPE_LEAF */
} Node;

typedef struct RowGroup {
    int64_t rows;
    const char *at; /* its metadata, within Metadata.footer */
} RowGroup;

typedef struct Metadata {
    char *path;
    int fd;
    uint64_t bytes, footer_begin; /* of the file */
    char *footer;
    const char *footer_end;
    GArray *nodes;  /* of Node: node 0 is the root, whose children are the columns */
    GArray *leaves; /* of guint: their nodes */
    GArray *groups; /* of RowGroup */
} Metadata;

/* The pages of a leaf in a row group. */
typedef struct Chunk {
    int codec;
    int64_t values; /* entries in all its pages */
    uint64_t begin; /* its first page, in the file */
} Chunk;

Metadata *metadata_open(const char *path, GError **error);
void metadata_close(Metadata *file);
const Node *metadata_node(const Metadata *file, guint node);
/* The node of a leaf. */
const Node *metadata_leaf(const Metadata *file, guint leaf);
/* The name of a leaf, with those of the nodes above it: "answers.list.element". g_free. */
char *metadata_leaf_name(const Metadata *file, guint leaf);
/* Sets *chunk. An error does not name the column. */
bool metadata_chunk(const Metadata *file, guint group, guint leaf, Chunk *chunk, GError **error);
/* Reads bytes of the file, which must lie before its footer. */
bool metadata_read(const Metadata *file, uint64_t at, void *out, size_t n, GError **error);
