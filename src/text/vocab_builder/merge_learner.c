#include "text/vocab_builder/vocab_builder.h"

#include "base/check.h"
#include "text/heap.h"

#include <stdlib.h>

#define NO_SYMBOL   (-1) /* between words, and at positions inside a symbol */
#define FIRST_SLOTS ((size_t)1 << 16)
#define AHEAD       8 /* positions are prefetched this number of steps before they are used */

/* A position in the concatenation of all words. A symbol merged from n positions has span n at its first and last. */
typedef struct Symbol {
    int32_t id;
    uint32_t span, word;
} Symbol;

typedef struct Pair {
    int32_t left, right, merged; /* merged: the symbol that it became; -1 means none */
    int64_t count;
    uint32_t n_found; /* its entries in `found` */
    uint32_t next;    /* index in `positions` of its next position */
} Pair;

/* A pair that may be merged, with the positions where it formed during one merge. A pair has a candidate for each merge
 * that formed it, all with its whole count at that time, which may have fallen since. */
typedef struct Candidate {
    int64_t count;
    int32_t left, right;
    uint32_t pair, n;
    size_t first; /* positions[first] to positions[first + n - 1] */
} Candidate;

/* A pair formed at a position. */
typedef struct Found {
    uint32_t pair, position;
} Found;

struct MergeLearner {
    Symbol *symbols;
    size_t n_symbols, symbol_room;
    int64_t *counts; /* by word */
    size_t n_words, word_room;

    GArray *pairs;     /* Pair */
    uint32_t *slots;   /* hash table: index of a pair + 1; 0 means empty */
    size_t n_slots;    /* a power of two */
    GArray *found;     /* Found: the pairs that the last merge formed */
    GArray *touched;   /* uint32_t: indices of the pairs in `found` */
    GArray *positions; /* uint32_t: positions of the left symbols of pairs */
    GArray *heap;      /* Candidate, the best first */
};

MergeLearner *merge_learner_open(size_t n_words, size_t n_symbols)
{
    CHECK(n_words + n_symbols < MERGE_MAX_SYMBOLS, "%zu words, %zu symbols", n_words, n_symbols);
    MergeLearner *learner = g_new0(MergeLearner, 1);
    learner->word_room = n_words;
    learner->symbol_room = n_words + n_symbols + 1;
    learner->counts = g_new(int64_t, n_words);
    learner->symbols = g_new(Symbol, learner->symbol_room);
    learner->symbols[learner->n_symbols++] = (Symbol){ NO_SYMBOL, 1, 0 };
    learner->n_slots = FIRST_SLOTS;
    learner->slots = g_new0(uint32_t, FIRST_SLOTS);
    learner->pairs = g_array_new(FALSE, FALSE, sizeof(Pair));
    learner->found = g_array_new(FALSE, FALSE, sizeof(Found));
    learner->touched = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    learner->positions = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    learner->heap = g_array_new(FALSE, FALSE, sizeof(Candidate));
    return learner;
}

void merge_learner_close(MergeLearner *learner)
{
    g_array_unref(learner->heap);
    g_array_unref(learner->positions);
    g_array_unref(learner->touched);
    g_array_unref(learner->found);
    g_array_unref(learner->pairs);
    g_free(learner->slots);
    g_free(learner->symbols);
    g_free(learner->counts);
    g_free(learner);
}

void merge_learner_add(MergeLearner *learner, const int32_t *symbols, size_t n, int64_t count)
{
    CHECK(learner->n_words < learner->word_room && learner->n_symbols + n < learner->symbol_room,
          "word %zu of %zu, with %zu symbols after %zu of %zu", learner->n_words, learner->word_room, n,
          learner->n_symbols, learner->symbol_room);
    uint32_t word = (uint32_t)learner->n_words++;
    learner->counts[word] = count;
    for (size_t i = 0; i < n; i++)
        learner->symbols[learner->n_symbols++] = (Symbol){ symbols[i], 1, word };
    learner->symbols[learner->n_symbols++] = (Symbol){ NO_SYMBOL, 1, word };
}

/* ---- pairs ---- */

static Pair *pair_at(const MergeLearner *learner, uint32_t pair)
{
    return &g_array_index(learner->pairs, Pair, pair);
}

static size_t slot_of(const MergeLearner *learner, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    key *= 0x9e3779b97f4a7c15u;
    return (size_t)(key ^ key >> 32) & (learner->n_slots - 1);
}

static void double_slots(MergeLearner *learner)
{
    g_free(learner->slots);
    learner->n_slots *= 2;
    learner->slots = g_new0(uint32_t, learner->n_slots);
    for (guint i = 0; i < learner->pairs->len; i++) {
        const Pair *pair = pair_at(learner, i);
        size_t slot = slot_of(learner, pair->left, pair->right);
        while (learner->slots[slot])
            slot = (slot + 1) & (learner->n_slots - 1);
        learner->slots[slot] = i + 1;
    }
}

/* The number of a pair, made if there was none. */
static uint32_t find_pair(MergeLearner *learner, int32_t left, int32_t right)
{
    size_t slot = slot_of(learner, left, right);
    for (; learner->slots[slot]; slot = (slot + 1) & (learner->n_slots - 1)) {
        const Pair *pair = pair_at(learner, learner->slots[slot] - 1);
        if (pair->left == left && pair->right == right)
            return learner->slots[slot] - 1;
    }
    Pair pair = { .left = left, .right = right, .merged = -1 };
    g_array_append_val(learner->pairs, pair);
    learner->slots[slot] = learner->pairs->len;
    uint32_t number = learner->pairs->len - 1;
    if (2 * (size_t)learner->pairs->len > learner->n_slots)
        double_slots(learner);
    return number;
}

static void add_occurrence(MergeLearner *learner, int32_t left, int32_t right, size_t position, int64_t count)
{
    Found found = { find_pair(learner, left, right), (uint32_t)position };
    Pair *pair = pair_at(learner, found.pair);
    pair->count += count;
    if (pair->n_found++ == 0)
        g_array_append_val(learner->touched, found.pair);
    g_array_append_val(learner->found, found);
}

static void drop_occurrence(MergeLearner *learner, int32_t left, int32_t right, int64_t count)
{
    pair_at(learner, find_pair(learner, left, right))->count -= count;
}

/* ---- candidates ---- */

static bool is_better(const Candidate *a, const Candidate *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    if (a->left != b->left)
        return a->left < b->left;
    return a->right != b->right ? a->right < b->right : a->first < b->first;
}

HEAP_OF(Candidate, is_better)

static void push(MergeLearner *learner, Candidate candidate)
{
    g_array_set_size(learner->heap, learner->heap->len + 1);
    heap_push((Candidate *)(void *)learner->heap->data, learner->heap->len - 1, candidate);
}

static Candidate pop(MergeLearner *learner)
{
    Candidate best = heap_pop((Candidate *)(void *)learner->heap->data, learner->heap->len);
    g_array_set_size(learner->heap, learner->heap->len - 1);
    return best;
}

/* Makes candidates of the pairs in `found`; the positions of a candidate are adjacent and in the order of finding. */
static void push_found(MergeLearner *learner)
{
    size_t first = learner->positions->len;
    g_array_set_size(learner->positions, learner->positions->len + learner->found->len);
    for (guint i = 0; i < learner->touched->len; i++) {
        uint32_t number = g_array_index(learner->touched, uint32_t, i);
        Pair *pair = pair_at(learner, number);
        pair->next = (uint32_t)first;
        if (pair->count > 0)
            push(learner, (Candidate){ pair->count, pair->left, pair->right, number, pair->n_found, first });
        first += pair->n_found;
        pair->n_found = 0;
    }
    for (guint i = 0; i < learner->found->len; i++) {
        Found found = g_array_index(learner->found, Found, i);
        g_array_index(learner->positions, uint32_t, pair_at(learner, found.pair)->next++) = found.position;
    }
    g_array_set_size(learner->found, 0);
    g_array_set_size(learner->touched, 0);
}

/* ---- merging ---- */

/* Merges the pair at a position, if it is still there. */
static void merge_at(MergeLearner *learner, const Candidate *pair, size_t position, int32_t merged)
{
    Symbol *symbols = learner->symbols, *left = &symbols[position];
    if (left->id != pair->left)
        return;
    size_t second = position + left->span;
    if (symbols[second].id != pair->right)
        return;
    size_t before = position - symbols[position - 1].span, after = second + symbols[second].span;
    int64_t count = learner->counts[left->word];
    if (symbols[before].id >= 0) {
        drop_occurrence(learner, symbols[before].id, pair->left, count);
        add_occurrence(learner, symbols[before].id, merged, before, count);
    }
    if (symbols[after].id >= 0) {
        drop_occurrence(learner, pair->right, symbols[after].id, count);
        add_occurrence(learner, merged, symbols[after].id, position, count);
    }
    symbols[second].id = NO_SYMBOL;
    left->id = merged;
    left->span = (uint32_t)(after - position);
    symbols[after - 1].span = left->span;
}

static int by_position(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void merge_everywhere(MergeLearner *learner, const Candidate *pair, int32_t merged)
{
    uint32_t *positions = &g_array_index(learner->positions, uint32_t, pair->first);
    if (pair->left == pair->right)
        qsort(positions, pair->n, sizeof *positions, by_position);
    for (uint32_t i = 0; i < pair->n; i++) {
        if (i + AHEAD < pair->n)
            __builtin_prefetch(&learner->symbols[positions[i + AHEAD]]);
        merge_at(learner, pair, positions[i], merged);
    }
    push_found(learner);
}

static void find_all(MergeLearner *learner)
{
    const Symbol *symbols = learner->symbols;
    for (size_t i = 1; i + 1 < learner->n_symbols; i++)
        if (symbols[i].id >= 0 && symbols[i + 1].id >= 0)
            add_occurrence(learner, symbols[i].id, symbols[i + 1].id, i, learner->counts[symbols[i].word]);
    push_found(learner);
}

void merge_learner_run(MergeLearner *learner, int64_t min_count, MergeFn merge, void *context)
{
    find_all(learner);
    while (learner->heap->len > 0) {
        Candidate best = pop(learner);
        int64_t count = pair_at(learner, best.pair)->count;
        if (count != best.count) {
            best.count = count;
            if (count > 0)
                push(learner, best);
            continue;
        }
        if (count < min_count)
            return;
        int32_t merged = pair_at(learner, best.pair)->merged;
        if (merged < 0)
            merged = merge(context, best.left, best.right, count);
        if (merged == MERGE_STOP)
            return;
        if (merged < 0)
            continue;
        pair_at(learner, best.pair)->merged = merged;
        merge_everywhere(learner, &best, merged);
    }
}
