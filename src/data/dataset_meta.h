/* dataset_meta.h: PREFIX.json, what a token dataset says about itself. It holds no paths and no clock: the same input
 * gives the same bytes. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct DatasetMeta {
    char *tokenizer_hash, *tokenizer_kind;
    int64_t vocab; /* the tokenizer's size */
    bool append_eod;
    int64_t documents, tokens;
    bool held_out; /* these documents were held out of the dataset that was written beside them */
} DatasetMeta;

bool dataset_meta_write(const DatasetMeta *meta, const char *path, GError **error);
/* Fills *meta, which dataset_meta_clear frees. Unknown keys are errors. */
bool dataset_meta_read(DatasetMeta *meta, const char *path, GError **error);
void dataset_meta_clear(DatasetMeta *meta);
