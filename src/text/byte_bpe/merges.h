/* byte_bpe/merges.h: the merges of byte-pair encoding: which two pieces join into which piece, and in what order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERGES_NONE   UINT32_MAX      /* greater than every merge's rank */
#define MERGES_MAX    ((1 << 22) - 1) /* every rank is less than this */
#define MERGES_MAX_ID (1 << 21)       /* every id is less than this */

typedef struct Merges Merges;               /* read-only once filled */
typedef struct MergesScratch MergesScratch; /* working memory; each thread needs its own */

/* byte_ids[b] is the id of the piece of byte b; -1 means that the byte has no piece. At most n_pairs merges will be
 * added. */
Merges *merges_open(const int32_t byte_ids[256], size_t n_pairs);
void merges_close(Merges *merges);
/* Pieces `left` and `right` join into `merged`; merges of lower rank are applied first. A second call for the same pair
 * replaces its rank. */
void merges_add(Merges *merges, int32_t left, int32_t right, uint32_t rank, int32_t merged);

MergesScratch *merges_scratch_open(void);
void merges_scratch_close(MergesScratch *scratch);
/* Encodes a word by the merges of ranks below `below`, where MERGES_NONE means all merges: *ids points to its ids,
 * which stay valid until the scratch is used again. Returns their number. */
size_t merges_apply(const Merges *merges, MergesScratch *scratch, const char *word, size_t bytes, uint32_t below,
                    const int32_t **ids);
