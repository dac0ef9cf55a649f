/* dataset.h: a token dataset on disk (PREFIX.bin, .idx, .json) as a random-access list of documents. */
#pragma once

#include "format/indexed.h"

typedef struct Dataset {
    char *prefix;
    Indexed *set;
    char *tokenizer_hash; /* from PREFIX.json; NULL where another program wrote the dataset */
    int64_t vocab;        /* 0 if unknown */
    bool append_eod;
} Dataset;

Dataset *dataset_open(const char *prefix, GError **error);
void dataset_close(Dataset *data);
