/* fairseq_dict.h: fairseq's dict.txt, one "SYMBOL COUNT" a line. Line i (from 0) is id i + 4: the ids before it are
 * <s>, <pad>, </s> and <unk>, which the file does not hold. */
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
/* One more line; the symbol is copied. */
void fairseq_dict_add(FairseqDict *dict, const char *symbol, int64_t count);
int fairseq_dict_special(const char *symbol); /* 0 to 3, or -1 */
/* Every symbol's id (GINT_TO_POINTER), specials included; of one that occurs twice the last. Keys are the dictionary's.
 */
GHashTable *fairseq_dict_ids(const FairseqDict *dict);
int64_t fairseq_dict_size(const FairseqDict *dict); /* of the vocabulary: lines and specials */
/* Refuses what fairseq refuses: a line without a count, a symbol that came before (unless flagged
 * "#fairseq:overwrite"), bytes that are not UTF-8. */
FairseqDict *fairseq_dict_read(const char *path, GError **error);
/* Symbols that occur twice, or are one of the specials, are flagged, as fairseq wants them. */
bool fairseq_dict_write(const FairseqDict *dict, const char *path, GError **error);
