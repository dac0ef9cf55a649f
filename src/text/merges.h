/* merges.h: the heart of byte-pair encoding: which pair of pieces becomes which, and in what order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERGES_NONE   UINT32_MAX
#define MERGES_MAX    ((1 << 22) - 1)
#define MERGES_MAX_ID (1 << 21) /* exclusive */

typedef struct Merges Merges;               /* read-only once filled */
typedef struct MergesScratch MergesScratch; /* one for each thread */

/* byte_ids[b]: the id of byte b, -1 if it has none. At most n_pairs pairs will be added. */
Merges *merges_open(const int32_t byte_ids[256], size_t n_pairs);
void merges_close(Merges *merges);
/* The pair becomes `merged`; lower ranks go first. A pair that is there already gets the new rank. rank <= MERGES_MAX.
 */
void merges_add(Merges *merges, int32_t left, int32_t right, uint32_t rank, int32_t merged);

MergesScratch *merges_scratch_open(void);
void merges_scratch_close(MergesScratch *scratch);
/* The ids of a word; *ids is the scratch's until its next use. */
size_t merges_apply(const Merges *merges, MergesScratch *scratch, const char *word, size_t bytes, const int32_t **ids);
/* The same by the pairs of ranks below `below` alone. */
size_t merges_apply_below(const Merges *merges, MergesScratch *scratch, const char *word, size_t bytes, uint32_t below,
                          const int32_t **ids);
