/* fairseq_dict.h: reads and writes fairseq's dict.txt: one line "SYMBOL COUNT" per symbol. Line i (from 0) is token id
 * i + 4: ids 0 to 3 are <s>, <pad>, </s> and <unk>, which the file does not list. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* Number of special symbols: <s>, <pad>, </s> and <unk>. */
#define FAIRSEQ_SPECIALS 4

/* The lines of a dict.txt: symbol i has the token id i + FAIRSEQ_SPECIALS. */
typedef struct FairseqDict {
    GPtrArray *symbols; /* char *, freed with the dictionary */
    GArray *counts;     /* int64_t: count of each symbol */
} FairseqDict;

FairseqDict *fairseq_dict_new(void);
void fairseq_dict_free(FairseqDict *dict);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FairseqDict, fairseq_dict_free)
/* Appends a symbol, which is copied, with its count. */
void fairseq_dict_add(FairseqDict *dict, const char *symbol, int64_t count);
int fairseq_dict_special(const char *symbol);    /* the id of <s>, <pad>, </s> or <unk>; -1 for any other symbol */
const char *fairseq_dict_special_symbol(int id); /* "<s>" for id 0, …; 0 <= id < FAIRSEQ_SPECIALS */
/* A map from every symbol, including the four special ones, to its token id (GINT_TO_POINTER); a symbol that occurs
 * several times has the id of its last line. The keys belong to `dict`. Free with g_hash_table_unref. */
GHashTable *fairseq_dict_ids(const FairseqDict *dict);
int64_t fairseq_dict_size(const FairseqDict *dict); /* size of the vocabulary: number of lines + FAIRSEQ_SPECIALS */
/* Reads a dict.txt. As in fairseq, it is an error if a line has no count, if a symbol occurs twice (unless its line
 * ends with "#fairseq:overwrite"), or if the file is not UTF-8. */
FairseqDict *fairseq_dict_read(const char *path, GError **error);
/* As fairseq_dict_read, for the content of a dict.txt in memory; error messages name `path`. */
FairseqDict *fairseq_dict_parse(const char *path, const char *data, size_t bytes, GError **error);
/* Writes a dict.txt. Lines of repeated and special symbols end with "#fairseq:overwrite", as fairseq requires. */
bool fairseq_dict_write(const FairseqDict *dict, const char *path, GError **error);
