/* byte_bpe_model.h: a byte-level BPE model being put together (byte_bpe_read.c) and used (byte_bpe.c). */
#pragma once

#include "text/byte_bpe.h"
#include "text/merges.h"
#include "text/words.h"

typedef struct ByteBpeIdle ByteBpeIdle;

typedef struct ByteBpe {
    GPtrArray *names; /* char *, by id; "" where no piece has the id */
    GPtrArray *bytes; /* GBytes *, by id; an added token's are its content */
    GHashTable *ids;  /* name -> id + 1 */
    int unk;          /* stands for bytes that are no piece; -1: they are left out */
    Merges *merges;
    GArray *pairs; /* (left, right) int32_t by rank; NULL: every split of a piece, ranked by the id of the whole */
    Words *words;
    char *pattern;         /* that splits text into words; NULL: GPT-2's, or as the tokenizer.json says */
    bool whole_words;      /* a word that is a piece is taken as it is */
    bool add_prefix_space; /* text that does not begin with a space gets one */
    bool compose;          /* Unicode's NFC first */
    GArray *added;         /* AddedToken; their contents are in names */
    ByteBpeIdle *idle;
} ByteBpe;

/* Takes names (char *, NULL where there is none) by id; added tokens are those of `added` (AddedToken). */
ByteBpe *byte_bpe_new(const GPtrArray *names, const GArray *added);
void byte_bpe_free(void *model);
/* Pairs of the merges: names by twos in order of rank. */
bool byte_bpe_set_merges(ByteBpe *model, const GPtrArray *pairs, GError **error);
/* Pairs of every split of a piece into two others, ranked by the id of the whole. */
void byte_bpe_derive_merges(ByteBpe *model);
int byte_bpe_id(const void *model, const char *name);
/* NULL if the id is of no added token. */
const AddedToken *byte_bpe_added(const ByteBpe *model, int id);
void byte_bpe_facts(const ByteBpe *model, TokenizerFacts *facts);

/* As a tokenizer.json; not for a model that was read from one. */
json_t *byte_bpe_to_json(const void *model, const char *data, size_t bytes, GError **error);

void *byte_bpe_open_files(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error);
void *byte_bpe_open_json(const TokenizerJson *json, TokenizerFacts *facts, GError **error);
void *byte_bpe_open_ranks(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error);
