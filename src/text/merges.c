#include "text/merges.h"

#include "base/check.h"
#include "text/heap.h"

#include <glib.h>
#include <string.h>

#define SHORT 96 /* for a word of up to SHORT symbols each merge searches all pairs; longer words use a heap */

/* A slot of the hash table of pairs: 21 bits of the left id, 21 of the right id, 22 of the rank; all ones if empty. */
struct Merges {
    int32_t byte_ids[256];
    uint32_t *byte_pairs; /* (256,256) rank of two bytes, or MERGES_NONE: every word starts with these */
    uint64_t *slots;      /* the hash table, at most half full */
    unsigned shift;       /* 64 - log2 of the number of slots */
    int32_t *merged;      /* id of the joined piece, by rank */
    size_t n_merged;
};

typedef struct Symbol {
    int32_t id;          /* -1 means merged into the symbol before */
    uint32_t prev, next; /* indices; n, the number of symbols, means none */
    uint32_t rank;       /* rank of the pair that this symbol forms with the next one */
} Symbol;

struct MergesScratch {
    size_t room;
    int32_t *ids;    /* (room) */
    uint32_t *ranks; /* (room) rank of the pair with the next symbol */
    Symbol *symbols; /* (room) */
    uint64_t *heap;  /* (3 room) */
    size_t n_heap;
};

Merges *merges_open(const int32_t byte_ids[256], size_t n_pairs)
{
    unsigned bits = 4;
    while (((size_t)1 << bits) < 2 * n_pairs)
        bits++;
    Merges *merges = g_new0(Merges, 1);
    memcpy(merges->byte_ids, byte_ids, sizeof merges->byte_ids);
    merges->shift = 64 - bits;
    merges->slots = g_new(uint64_t, (size_t)1 << bits);
    memset(merges->slots, 0xff, sizeof(uint64_t) << bits);
    merges->byte_pairs = g_new(uint32_t, 65536);
    memset(merges->byte_pairs, 0xff, 65536 * sizeof(uint32_t));
    return merges;
}

void merges_close(Merges *merges)
{
    if (merges == NULL)
        return;
    g_free(merges->slots);
    g_free(merges->byte_pairs);
    g_free(merges->merged);
    g_free(merges);
}

static inline uint64_t pair_key(int32_t left, int32_t right)
{
    return (uint64_t)left << 21 | (uint64_t)right;
}

static inline size_t first_slot(const Merges *merges, uint64_t key)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> merges->shift);
}

static inline uint32_t merge_rank(const Merges *merges, int32_t left, int32_t right)
{
    uint64_t key = pair_key(left, right);
    size_t mask = ((size_t)1 << (64 - merges->shift)) - 1;
    for (size_t at = first_slot(merges, key);; at = (at + 1) & mask) {
        uint64_t slot = merges->slots[at];
        if (slot >> 22 == key)
            return (uint32_t)(slot & MERGES_MAX);
        if (slot == UINT64_MAX)
            return MERGES_NONE;
    }
}

void merges_add(Merges *merges, int32_t left, int32_t right, uint32_t rank, int32_t merged)
{
    CHECK(rank < MERGES_MAX && left < MERGES_MAX_ID && right < MERGES_MAX_ID, "rank %u of %d, %d", rank, left, right);
    uint64_t key = pair_key(left, right);
    size_t mask = ((size_t)1 << (64 - merges->shift)) - 1, at = first_slot(merges, key);
    while (merges->slots[at] != UINT64_MAX && merges->slots[at] >> 22 != key)
        at = (at + 1) & mask;
    merges->slots[at] = key << 22 | rank;
    if (rank >= merges->n_merged) {
        merges->n_merged = MAX((size_t)rank + 1, 2 * merges->n_merged);
        merges->merged = g_renew(int32_t, merges->merged, merges->n_merged);
    }
    merges->merged[rank] = merged;
    for (int a = 0; a < 256; a++)
        for (int b = 0; merges->byte_ids[a] == left && b < 256; b++)
            if (merges->byte_ids[b] == right)
                merges->byte_pairs[a << 8 | b] = rank;
}

MergesScratch *merges_scratch_open(void)
{
    return g_new0(MergesScratch, 1);
}

void merges_scratch_close(MergesScratch *scratch)
{
    if (scratch == NULL)
        return;
    g_free(scratch->ids);
    g_free(scratch->ranks);
    g_free(scratch->symbols);
    g_free(scratch->heap);
    g_free(scratch);
}

static void reserve_merges(MergesScratch *scratch, size_t n)
{
    if (n <= scratch->room)
        return;
    scratch->room = MAX(n, 2 * scratch->room);
    scratch->ids = g_renew(int32_t, scratch->ids, scratch->room);
    scratch->ranks = g_renew(uint32_t, scratch->ranks, scratch->room);
    scratch->symbols = g_renew(Symbol, scratch->symbols, scratch->room);
    scratch->heap = g_renew(uint64_t, scratch->heap, 3 * scratch->room);
}

/* Fills in the ids of a word's bytes and the ranks of their pairs; drops bytes without an id. Returns their number. */
static size_t place_bytes(const Merges *merges, MergesScratch *scratch, const uint8_t *word, size_t bytes)
{
    size_t n = 0;
    int before = -1;
    for (size_t i = 0; i < bytes; i++) {
        if (merges->byte_ids[word[i]] < 0)
            continue;
        if (n > 0)
            scratch->ranks[n - 1] = merges->byte_pairs[before << 8 | word[i]];
        scratch->ids[n++] = merges->byte_ids[word[i]];
        before = word[i];
    }
    if (n > 0)
        scratch->ranks[n - 1] = MERGES_NONE;
    return n;
}

static size_t merge_short(const Merges *merges, int32_t *ids, uint32_t *ranks, size_t n, uint32_t below)
{
    for (;;) {
        size_t best = 0;
        uint32_t rank = ranks[0];
        for (size_t i = 1; i < n; i++)
            if (ranks[i] < rank) {
                rank = ranks[i];
                best = i;
            }
        if (rank >= below)
            return n;
        ids[best] = merges->merged[rank];
        n--;
        memmove(ids + best + 1, ids + best + 2, (n - best - 1) * sizeof *ids);
        memmove(ranks + best, ranks + best + 1, (n - best) * sizeof *ranks);
        if (best + 1 < n)
            ranks[best] = merge_rank(merges, ids[best], ids[best + 1]);
        if (best > 0)
            ranks[best - 1] = merge_rank(merges, ids[best - 1], ids[best]);
    }
}

/* A heap entry is rank << 32 | index of the left symbol: lower ranks first, of equal ones the leftmost. */
static bool goes_first(const uint64_t *a, const uint64_t *b)
{
    return *a < *b;
}

HEAP_OF(uint64_t, goes_first)

/* Looks up again the rank of the pair that a symbol forms with the next one, after a merge. */
static void rank_again(const Merges *merges, MergesScratch *scratch, size_t place, size_t n)
{
    Symbol *symbol = &scratch->symbols[place];
    symbol->rank = symbol->next < n ? merge_rank(merges, symbol->id, scratch->symbols[symbol->next].id) : MERGES_NONE;
    if (symbol->rank != MERGES_NONE)
        heap_push(scratch->heap, scratch->n_heap++, (uint64_t)symbol->rank << 32 | place);
}

/* An entry of the heap whose rank differs from its symbol's is out of date and is skipped. Each merge pushes two
 * entries, so the heap holds at most 3 n. */
static size_t merge_long(const Merges *merges, MergesScratch *scratch, size_t n, uint32_t below)
{
    Symbol *symbols = scratch->symbols;
    scratch->n_heap = 0;
    for (size_t i = 0; i < n; i++) {
        symbols[i] =
            (Symbol){ scratch->ids[i], i > 0 ? (uint32_t)i - 1 : (uint32_t)n, (uint32_t)i + 1, scratch->ranks[i] };
        if (symbols[i].rank != MERGES_NONE)
            heap_push(scratch->heap, scratch->n_heap++, (uint64_t)symbols[i].rank << 32 | i);
    }
    while (scratch->n_heap > 0) {
        uint64_t top = heap_pop(scratch->heap, scratch->n_heap--);
        Symbol *symbol = &symbols[top & UINT32_MAX];
        if (symbol->id < 0 || symbol->rank != top >> 32)
            continue;
        if (symbol->rank >= below)
            break;
        Symbol *gone = &symbols[symbol->next];
        symbol->id = merges->merged[symbol->rank];
        symbol->next = gone->next;
        gone->id = -1;
        if (symbol->next < n)
            symbols[symbol->next].prev = (uint32_t)(symbol - symbols);
        rank_again(merges, scratch, (size_t)(symbol - symbols), n);
        if (symbol->prev < n)
            rank_again(merges, scratch, symbol->prev, n);
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (symbols[i].id >= 0)
            scratch->ids[kept++] = symbols[i].id;
    return kept;
}

/* Merges the n symbols of the scratch; returns how many are left. */
static size_t merge_symbols(const Merges *merges, MergesScratch *scratch, size_t n, uint32_t below)
{
    if (n < 2)
        return n;
    return n <= SHORT ? merge_short(merges, scratch->ids, scratch->ranks, n, below)
                      : merge_long(merges, scratch, n, below);
}

size_t merges_apply(const Merges *merges, MergesScratch *scratch, const char *word, size_t bytes, uint32_t below,
                    const int32_t **ids)
{
    CHECK(bytes < UINT32_MAX, "a word of %zu bytes", bytes);
    reserve_merges(scratch, bytes);
    *ids = scratch->ids;
    return merge_symbols(merges, scratch, place_bytes(merges, scratch, (const uint8_t *)word, bytes), below);
}

size_t merges_apply_ids(const Merges *merges, MergesScratch *scratch, const int32_t *start, size_t n,
                        const int32_t **ids)
{
    CHECK(n < UINT32_MAX, "a word of %zu tokens", n);
    reserve_merges(scratch, n);
    *ids = scratch->ids;
    for (size_t i = 0; i < n; i++) {
        scratch->ids[i] = start[i];
        scratch->ranks[i] = i + 1 < n ? merge_rank(merges, start[i], start[i + 1]) : MERGES_NONE;
    }
    return merge_symbols(merges, scratch, n, MERGES_NONE);
}
