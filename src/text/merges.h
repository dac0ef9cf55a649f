/* merges.h: the merges of byte-pair encoding (BPE): which two pieces become which piece, and in what order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERGES_NONE   UINT32_MAX      /* larger than the rank of every merge */
#define MERGES_MAX    ((1 << 22) - 1) /* every rank is less than this */
#define MERGES_MAX_ID (1 << 21)       /* every id is less than this */

typedef struct Merges Merges;               /* read-only once filled */
typedef struct MergesScratch MergesScratch; /* working memory; each thread needs its own */

/* An empty set of merges, to which at most n_pairs merges will be added. byte_ids[b] is the id of the piece for byte b;
 * -1 means that the byte has no piece. */
Merges *merges_open(const int32_t byte_ids[256], size_t n_pairs);
void merges_close(Merges *merges);
/* Adds a merge: the pieces with ids `left` and `right` are merged into the piece `merged`. Merges of lower rank are
 * applied first. A second call for the same pair replaces its rank. */
void merges_add(Merges *merges, int32_t left, int32_t right, uint32_t rank, int32_t merged);

MergesScratch *merges_scratch_open(void);
void merges_scratch_close(MergesScratch *scratch);
/* Encodes a word with the merges whose rank is less than `below`; MERGES_NONE means all merges. Returns the number of
 * ids and makes *ids point to them; they stay valid until the scratch is used again. */
size_t merges_apply(const Merges *merges, MergesScratch *scratch, const char *word, size_t bytes, uint32_t below,
                    const int32_t **ids);
/* As merges_apply, for a text of n tokens that are not bytes; start (n) has their ids. */
size_t merges_apply_ids(const Merges *merges, MergesScratch *scratch, const int32_t *start, size_t n,
                        const int32_t **ids);
