#include "text/trie.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define FREE     UINT32_MAX
#define DENSE    0.95 /* a range of units of which at least this fraction is used is not searched for free units again */
#define MAX_KEYS ((size_t)1 << 24)

/* Keys [from, to), which share their first `depth` bytes and belong below one unit. */
typedef struct Range {
    size_t from, to;
    uint32_t depth, unit;
} Range;

typedef struct Builder {
    Trie *trie;
    const TrieKey *keys;
    GArray *ranges;       /* Range, in the order in which they get their units */
    uint32_t room;        /* capacity: units allocated */
    uint32_t search_from; /* free units below it are few and are not looked for */
} Builder;

static int compare_keys(const void *a, const void *b)
{
    const TrieKey *x = a, *y = b;
    int order = memcmp(x->text, y->text, MIN(x->bytes, y->bytes));
    if (order != 0)
        return order;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static void make_room(Builder *builder, uint32_t base)
{
    Trie *trie = builder->trie;
    uint32_t needed = base + 256;
    if (needed > builder->room) {
        uint32_t room = MAX(needed, builder->room * 2);
        trie->units = g_renew(TrieUnit, trie->units, room);
        for (uint32_t i = builder->room; i < room; i++)
            trie->units[i] = (TrieUnit){ .parent = FREE, .value = -1 };
        builder->room = room;
    }
    trie->n_units = MAX(trie->n_units, needed);
}

/* The least base, from search_from on, at which the units of all n children are free. */
static uint32_t find_base(Builder *builder, const unsigned char *bytes, int n)
{
    uint32_t taken = 0, start = MAX(builder->search_from, bytes[0] + 1U), at = start;
    for (;; at++) {
        make_room(builder, at);
        const TrieUnit *units = builder->trie->units;
        if (units[at].parent != FREE) {
            taken++;
            continue;
        }
        uint32_t base = at - bytes[0];
        int i = 1;
        while (i < n && units[base + bytes[i]].parent == FREE)
            i++;
        if (i == n)
            break;
    }
    if (taken >= DENSE * (at - start + 1))
        builder->search_from = at;
    return at - bytes[0];
}

/* Gives the children of a range their units. */
static void place_children(Builder *builder, Range range)
{
    const TrieKey *keys = builder->keys;
    unsigned char bytes[256];
    size_t starts[257], at = range.from;
    int n = 0;
    for (; at < range.to && keys[at].bytes == range.depth; at++)
        builder->trie->units[range.unit].value = keys[at].value;
    for (; at < range.to; at++) {
        unsigned char byte = (unsigned char)keys[at].text[range.depth];
        if (n == 0 || bytes[n - 1] != byte) {
            starts[n] = at;
            bytes[n++] = byte;
        }
    }
    if (n == 0)
        return;
    starts[n] = range.to;
    uint32_t base = find_base(builder, bytes, n);
    make_room(builder, base);
    builder->trie->units[range.unit].base = base;
    for (int i = 0; i < n; i++) {
        Range below = { starts[i], starts[i + 1], range.depth + 1, base + bytes[i] };
        builder->trie->units[below.unit].parent = range.unit;
        g_array_append_val(builder->ranges, below);
    }
}

void trie_init(Trie *trie, TrieKey *keys, size_t n)
{
    CHECK(n <= MAX_KEYS, "%zu keys", n);
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_keys);
    *trie = (Trie){ 0 };
    g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(Range));
    Builder builder = { .trie = trie, .keys = keys, .ranges = ranges };
    make_room(&builder, 0);
    Range all = { 0, n, 0, 0 };
    g_array_append_val(builder.ranges, all);
    for (guint i = 0; i < builder.ranges->len; i++)
        place_children(&builder, g_array_index(builder.ranges, Range, i));
}

void trie_clear(Trie *trie)
{
    g_free(trie->units);
    *trie = (Trie){ 0 };
}
