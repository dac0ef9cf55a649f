#include "data/prepare/prepare.h"

#include "base/order.h"
#include "data/prepare/repeats.h"

#include <stdlib.h>

#define MAX_GRAMS   (1 << 28) /* of all evaluation sets: 4 GiB */
#define FILTER_BITS 24        /* log2 of the bits of a filter that most n-grams of a corpus do not pass */

/* An n-gram of document `document` of the sets. */
typedef struct Gram {
    uint64_t hash;
    uint32_t document;
} Gram;

struct OverlapIndex {
    int64_t n;
    double share;
    GArray *grams;    /* Gram, sorted by hash, then document; different ones */
    GArray *counts;   /* int64_t: different n-grams of each document */
    GHashTable *seen; /* uint64_t *: hashes of all words of a document */
    uint8_t *filter;
};

/* The different n-grams (uint64_t) of a sequence of words that `wanted` accepts; NULL accepts all. */
static GArray *list_grams(const GArray *words, int64_t n, const uint8_t *filter)
{
    GArray *grams = g_array_new(false, false, sizeof(uint64_t));
    for (int64_t first = 0; first + n <= (int64_t)words->len; first++) {
        const uint64_t hash = words_gram(words, first, n), bit = hash >> (64 - FILTER_BITS);
        if (!filter || (filter[bit / 8] >> bit % 8 & 1))
            g_array_append_val(grams, hash);
    }
    if (grams->len > 0)
        qsort(grams->data, grams->len, sizeof(uint64_t), order_u64);
    guint kept = 0;
    for (guint i = 0; i < grams->len; i++)
        if (i == 0 || g_array_index(grams, uint64_t, i) != g_array_index(grams, uint64_t, i - 1))
            g_array_index(grams, uint64_t, kept++) = g_array_index(grams, uint64_t, i);
    g_array_set_size(grams, kept);
    return grams;
}

/* ---- the index ---- */

static bool add_document(OverlapIndex *index, const char *text, size_t bytes, GError **error)
{
    g_autoptr(GArray) words = g_array_new(false, false, sizeof(uint64_t));
    words_list(text, bytes, words);
    if (words->len == 0)
        return true;
    const uint64_t whole = words_gram(words, 0, words->len);
    g_hash_table_add(index->seen, g_memdup2(&whole, sizeof whole));
    g_autoptr(GArray) grams = list_grams(words, index->n, NULL);
    const int64_t count = grams->len;
    if (index->grams->len + grams->len > MAX_GRAMS)
        return fail_user(error, "the evaluation sets have more than %d n-grams", MAX_GRAMS);
    for (guint i = 0; i < grams->len; i++) {
        const Gram gram = { g_array_index(grams, uint64_t, i), index->counts->len };
        const uint64_t bit = gram.hash >> (64 - FILTER_BITS);
        index->filter[bit / 8] |= (uint8_t)(1 << bit % 8);
        g_array_append_val(index->grams, gram);
    }
    g_array_append_val(index->counts, count);
    return true;
}

static int compare_grams(const void *a, const void *b)
{
    const Gram *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash ? 1 : -1)
                              : (x->document > y->document) - (x->document < y->document);
}

static bool add_all(OverlapIndex *index, const OverlapOptions *options, GError **error)
{
    const CorpusOptions corpus_options = { .fields = options->fields,
                                           .field_option = "--exclude-field",
                                           .delimiter = options->delimiter,
                                           .whole_file = true };
    g_autoptr(Corpus) corpus =
        corpus_open(options->paths, (int)g_strv_length((char **)options->paths), &corpus_options, error);
    g_autoptr(GError) problem = NULL;
    const char *text;
    size_t bytes;
    while (corpus && !problem && corpus_next(corpus, &text, &bytes, &problem))
        add_document(index, text, bytes, &problem);
    return corpus && (!problem || fail_with(error, g_steal_pointer(&problem)));
}

OverlapIndex *overlap_open(const OverlapOptions *options, GError **error)
{
    OverlapIndex *index = g_new0(OverlapIndex, 1);
    index->n = options->n;
    index->share = options->share;
    index->grams = g_array_new(false, false, sizeof(Gram));
    index->counts = g_array_new(false, false, sizeof(int64_t));
    index->seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    index->filter = g_malloc0((size_t)1 << (FILTER_BITS - 3));
    if (!add_all(index, options, error))
        g_clear_pointer(&index, overlap_close);
    else if (index->grams->len > 0)
        qsort(index->grams->data, index->grams->len, sizeof(Gram), compare_grams);
    return index;
}

void overlap_close(OverlapIndex *index)
{
    if (!index)
        return;
    g_array_unref(index->grams);
    g_array_unref(index->counts);
    g_hash_table_unref(index->seen);
    g_free(index->filter);
    g_free(index);
}

int64_t overlap_documents(const OverlapIndex *index)
{
    return index->counts->len;
}

/* ---- a document ---- */

/* The first gram of the index with a hash that is not below. */
static guint first_gram(const OverlapIndex *index, uint64_t hash)
{
    guint low = 0, high = index->grams->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(index->grams, Gram, middle).hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Counts for each document of the sets the n-grams that it shares; true as soon as one shares enough. */
static bool shares_enough(const OverlapIndex *index, const GArray *grams)
{
    g_autofree uint32_t *shared = grams->len > 0 ? g_new0(uint32_t, index->counts->len) : NULL;
    for (guint i = 0; i < grams->len; i++) {
        uint64_t hash = g_array_index(grams, uint64_t, i);
        for (guint at = first_gram(index, hash); at < index->grams->len; at++) {
            const Gram *gram = &g_array_index(index->grams, Gram, at);
            if (gram->hash != hash)
                break;
            int64_t all = g_array_index(index->counts, int64_t, gram->document);
            if (++shared[gram->document] >= index->share * (double)all)
                return true;
        }
    }
    return false;
}

Overlap overlap_find(const OverlapIndex *index, const char *text, size_t bytes)
{
    g_autoptr(GArray) words = g_array_new(false, false, sizeof(uint64_t));
    words_list(text, bytes, words);
    if (words->len == 0)
        return OVERLAP_NONE;
    const uint64_t whole = words_gram(words, 0, words->len);
    if (g_hash_table_contains(index->seen, &whole))
        return OVERLAP_EXACT;
    g_autoptr(GArray) grams = list_grams(words, index->n, index->filter);
    return shares_enough(index, grams) ? OVERLAP_NEAR : OVERLAP_NONE;
}
