/* dataset.h: a token dataset on disk (PREFIX.bin, .idx, .json) as a random-access list of documents. Beside fairseq's
 * index there may be a dict.txt (or dict.LANG.txt beside PREFIX.LANG) instead of PREFIX.json. */
#pragma once

#include "format/indexed.h"

typedef struct Dataset {
    char *prefix;
    Indexed *set;
    char *tokenizer_hash; /* from PREFIX.json; NULL where another program wrote the dataset */
    char *tokenizer_kind;
    int64_t vocab;   /* of PREFIX.json or the dictionary; 0 if unknown */
    bool append_eod; /* every document ends with EOS: of PREFIX.json, or because fairseq writes so */
} Dataset;

/* The prefix, or PREFIX@train:949/50/1 and the like for a part of its documents (split.h); a folder with train.idx in
 * it, as fairseq-preprocess writes, stands for its train set. */
Dataset *dataset_open(const char *prefix, GError **error);
void dataset_close(Dataset *data);
/* Tokens [from, from + n) of a sequence, which must be ids of a tokenizer with `vocab`: an error names the document and
 * the token. */
bool dataset_read(const Dataset *data, int64_t sequence, int64_t from, int64_t n, int32_t vocab, int32_t *out,
                  GError **error);
