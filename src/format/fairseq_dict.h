/* fairseq_dict.h: fairseq's dict.txt, a line "SYMBOL COUNT" per symbol. Line i (from 0) is token id i + 4: ids 0 to 3
 * are <s>, <pad>, </s> and <unk>, which the file does not list. */
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
/* Appends a line; the symbol is copied. */
void fairseq_dict_add(FairseqDict *dict, const char *symbol, int64_t count);
int fairseq_dict_special(const char *symbol);    /* the id of <s>, <pad>, </s> or <unk>; -1 for another symbol */
const char *fairseq_dict_special_symbol(int id); /* 0 <= id < FAIRSEQ_SPECIALS */
/* symbol -> token id (GINT_TO_POINTER), the four specials included; a symbol that occurs twice has its last id. The
 * keys belong to the dictionary. */
GHashTable *fairseq_dict_ids(const FairseqDict *dict);
int64_t fairseq_dict_size(const FairseqDict *dict); /* of the vocabulary: lines + 4 */
/* Errors are those of fairseq: a line without a count, a symbol that occurs twice (unless its line ends with
 * "#fairseq:overwrite"), bytes that are not UTF-8. */
FairseqDict *fairseq_dict_read(const char *path, GError **error);
/* The same of the bytes of a file; messages name `path`. */
FairseqDict *fairseq_dict_parse(const char *path, const char *data, size_t bytes, GError **error);
/* Lines of symbols that occur twice, or equal a special, end with "#fairseq:overwrite", which fairseq requires. */
bool fairseq_dict_write(const FairseqDict *dict, const char *path, GError **error);
