/* sentencepiece/bpe.c: SentencePiece's byte-pair encoding. */
#include "text/sentencepiece/model.h"

#include "text/heap.h"

#define NONE UINT32_MAX
#define DEEP 100 /* the deepest nesting of unused pieces that is taken apart, as in SentencePiece */

/* A part of a stretch of text. One that was joined into the symbol before it has 0 bytes. */
typedef struct Symbol {
    uint32_t start, bytes; /* offset and length in the stretch */
    uint32_t prev, next;   /* indices of the neighbours; NONE at the ends */
    bool frozen;           /* a user-defined symbol: never joined */
} Symbol;

typedef struct Pair {
    float score;
    uint32_t left, right; /* indices of symbols */
    uint32_t bytes;       /* length in bytes of both symbols together; if it is not that now, the pair is outdated */
} Pair;

/* A part of a text that is encoded independently. */
typedef struct Stretch {
    const SpModel *model;
    const Trie *trie;
    const char *text;
    GArray *symbols;  /* Symbol */
    GArray *pairs;    /* Pair: a heap, the next pair to join first */
    GHashTable *cuts; /* id of an unused piece -> length of the left of the two parts that it was last joined from */
    SpPieceFn fn;
    void *context;
} Stretch;

static Symbol *symbol_at(const Stretch *stretch, uint32_t i)
{
    return &g_array_index(stretch->symbols, Symbol, i);
}

static bool goes_first(const Pair *a, const Pair *b)
{
    return a->score > b->score || (!(a->score < b->score) && a->left < b->left);
}

HEAP_OF(Pair, goes_first)

/* Adds the pair of two neighbours to the heap if they make a piece. */
static void consider(Stretch *stretch, uint32_t left, uint32_t right)
{
    if (left == NONE || right == NONE || symbol_at(stretch, left)->frozen || symbol_at(stretch, right)->frozen)
        return;
    const Symbol *first = symbol_at(stretch, left);
    Pair pair = { .left = left, .right = right, .bytes = first->bytes + symbol_at(stretch, right)->bytes };
    int32_t id = trie_find(stretch->trie, stretch->text + first->start, pair.bytes);
    if (id < 0)
        return;
    const SpPiece *piece = sp_piece(stretch->model, id);
    pair.score = piece->score;
    g_array_set_size(stretch->pairs, stretch->pairs->len + 1);
    heap_push((Pair *)(void *)stretch->pairs->data, stretch->pairs->len - 1, pair);
    if (piece->type == SP_UNUSED)
        g_hash_table_insert(stretch->cuts, GINT_TO_POINTER(id), GUINT_TO_POINTER(first->bytes));
}

static void place_symbols(Stretch *stretch, size_t bytes)
{
    g_array_set_size(stretch->symbols, 0);
    for (size_t at = 0; at < bytes;) {
        const char *text = stretch->text + at;
        uint32_t i = stretch->symbols->len;
        size_t n = sp_symbol_bytes(stretch->model, text, bytes - at);
        Symbol symbol = { .start = (uint32_t)at, .prev = i ? i - 1 : NONE, .next = i + 1, .frozen = n > 0 };
        symbol.bytes = (uint32_t)(n ? n : MIN((size_t)g_utf8_skip[(unsigned char)*text], bytes - at));
        at += symbol.bytes;
        symbol.next = at < bytes ? i + 1 : NONE;
        g_array_append_val(stretch->symbols, symbol);
    }
}

static void join_pairs(Stretch *stretch)
{
    while (stretch->pairs->len > 0) {
        Pair pair = heap_pop((Pair *)(void *)stretch->pairs->data, stretch->pairs->len);
        g_array_set_size(stretch->pairs, stretch->pairs->len - 1);
        Symbol *left = symbol_at(stretch, pair.left), *right = symbol_at(stretch, pair.right);
        if (left->bytes == 0 || right->bytes == 0 || left->bytes + right->bytes != pair.bytes)
            continue;
        left->bytes = pair.bytes;
        left->next = right->next;
        if (right->next != NONE)
            symbol_at(stretch, right->next)->prev = pair.left;
        right->bytes = 0;
        consider(stretch, left->prev, pair.left);
        consider(stretch, pair.left, left->next);
    }
}

/* Calls fn with a piece; an unused one is replaced by the two parts that it was joined from, recursively. */
static void hand_out(const Stretch *stretch, uint32_t start, uint32_t bytes, int depth)
{
    const char *text = stretch->text + start;
    int32_t id = trie_find(stretch->trie, text, bytes);
    uint32_t left = 0;
    if (id >= 0 && sp_piece(stretch->model, id)->type == SP_UNUSED && depth <= DEEP) {
        left = GPOINTER_TO_UINT(g_hash_table_lookup(stretch->cuts, GINT_TO_POINTER(id)));
        id = -1;
    }
    if (left == 0) {
        stretch->fn(stretch->context, text, bytes, id);
        return;
    }
    hand_out(stretch, start, left, depth + 1);
    hand_out(stretch, start + left, bytes - left, depth + 1);
}

static void encode_stretch(Stretch *stretch, size_t bytes)
{
    place_symbols(stretch, bytes);
    if (g_hash_table_size(stretch->cuts) > 0)
        g_hash_table_remove_all(stretch->cuts);
    for (uint32_t i = 0; i + 1 < stretch->symbols->len; i++)
        consider(stretch, i, i + 1);
    join_pairs(stretch);
    for (uint32_t i = 0; i != NONE; i = symbol_at(stretch, i)->next)
        hand_out(stretch, symbol_at(stretch, i)->start, symbol_at(stretch, i)->bytes, 0);
}

void sp_bpe_each(const SpModel *model, const Trie *trie, const char *text, size_t bytes, SpPieceFn fn, void *context)
{
    Stretch stretch = { model, trie, text, NULL, NULL, NULL, fn, context };
    stretch.symbols = g_array_new(FALSE, FALSE, sizeof(Symbol));
    stretch.pairs = g_array_new(FALSE, FALSE, sizeof(Pair));
    stretch.cuts = g_hash_table_new(NULL, NULL);
    size_t start = 0, reach = 0;
    for (size_t at = 0, char_bytes; at < bytes; at += char_bytes) {
        if (at > start && reach <= at) {
            stretch.text = text + start;
            encode_stretch(&stretch, at - start);
            start = at;
        }
        char_bytes = MIN((size_t)g_utf8_skip[(unsigned char)text[at]], bytes - at);
        size_t longest = trie_longest(trie, text + at, bytes - at, &(int32_t){ 0 });
        reach = MAX(reach, at + MAX(longest, char_bytes));
    }
    stretch.text = text + start;
    if (bytes > start)
        encode_stretch(&stretch, bytes - start);
    g_array_unref(stretch.symbols);
    g_array_unref(stretch.pairs);
    g_hash_table_unref(stretch.cuts);
}
