/* fairseq_dict.h: reads and writes fairseq's dict.txt: one line "SYMBOL COUNT" per symbol. Line i (from 0) is token id
 * i + 4: ids 0 to 3 are <s>, <pad>, </s> and <unk>, which the file does not list. */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define FAIRSEQ_SPECIALS 4

typedef struct FairseqDict {
    GPtrArray *symbols; /* char *, owned */
    GArray *counts;     /* int64_t */
} FairseqDict;

FairseqDict *fairseq_dict_new(void);
void fairseq_dict_free(FairseqDict *dict);
/* Appends a symbol, which is copied, with its count. */
void fairseq_dict_add(FairseqDict *dict, const char *symbol, int64_t count);
int fairseq_dict_special(const char *symbol);    /* the id of <s>, <pad>, </s> or <unk>; -1 for another symbol */
const char *fairseq_dict_special_symbol(int id); /* 0 <= id < FAIRSEQ_SPECIALS */
/* A map from symbol to token id (GINT_TO_POINTER), with the four special symbols; a symbol that occurs twice has its
 * last id. The keys belong to `dict`. Free with g_hash_table_unref. */
GHashTable *fairseq_dict_ids(const FairseqDict *dict);
int64_t fairseq_dict_size(const FairseqDict *dict); /* size of the vocabulary: lines + 4 */
/* Reads a dict.txt. As in fairseq, it is an error if a line has no count, a symbol occurs twice (unless its line ends
 * with "#fairseq:overwrite"), or bytes are not UTF-8. */
FairseqDict *fairseq_dict_read(const char *path, GError **error);
/* fairseq_dict_read for a file that is in memory; error messages name `path`. */
FairseqDict *fairseq_dict_parse(const char *path, const char *data, size_t bytes, GError **error);
/* Writes a dict.txt. Symbols that occur twice, or equal a special symbol, get "#fairseq:overwrite" at the end of their
 * lines, which fairseq requires. */
bool fairseq_dict_write(const FairseqDict *dict, const char *path, GError **error);
