/* tree_file.h: constants and footer of the file format PREFIX.tree, which trees.h describes. */
#pragma once

#include "data/trees/trees.h"

#define TREE_MAGIC   "LOAMTREE"
#define TREE_VERSION 1

/* The last bytes of the file. */
typedef struct TreeFooter {
    uint64_t n_documents;
    uint64_t languages; /* byte at which the JSON text starts; it ends at `offsets` */
    uint64_t offsets;   /* byte at which the n_documents + 1 offsets start */
    char magic[8];      /* TREE_MAGIC without a NUL */
} TreeFooter;
