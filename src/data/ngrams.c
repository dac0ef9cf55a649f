#include "data/ngrams.h"

#include "base/check.h"
#include "base/log.h"

#include <math.h>

#define NO_GRAM    UINT32_MAX /* the id of an n-gram that is not in the training text */
#define STEP_SHOWN 100000     /* tokens between two updates of the progress bar */

/* The tokens of a text, and of each the id of the n-gram that ends with it, for the n of the level at hand. */
typedef struct Words {
    int64_t n;
    int32_t *words;
    uint32_t *grams;
} Words;

/* The n-grams of one n. An n-gram is known by the id of its first n - 1 tokens and its last token. */
typedef struct Level {
    GHashTable *ids;  /* from gram_key to the id, in the order of first occurrence */
    GArray *counts;   /* uint32_t of each id: number of occurrences */
    GArray *branches; /* uint32_t of each id: number of different tokens before it (Kneser-Ney's count) */
} Level;

/* Counts as probabilities: those of a context's next tokens are (count - discount + left × p of the level below) /
 * total. */
typedef struct Smoothed {
    double discounts[4];   /* by count; the last one also for larger counts */
    double *totals, *left; /* of each context */
} Smoothed;

static gpointer gram_key(uint32_t context, int32_t word)
{
    return (gpointer)(uintptr_t)((uint64_t)context << 32 | (uint32_t)word);
}

/* Fibonacci hashing: the upper half of the product depends on all bits of the key. */
static guint key_hash(gconstpointer key)
{
    return (guint)((uint64_t)(uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

static uint32_t find_gram(const Level *level, uint32_t context, int32_t word)
{
    gpointer id;
    const bool found =
        context != NO_GRAM && g_hash_table_lookup_extended(level->ids, gram_key(context, word), NULL, &id);
    return found ? GPOINTER_TO_UINT(id) : NO_GRAM;
}

static void level_open(Level *level)
{
    *level = (Level){ .ids = g_hash_table_new(key_hash, NULL),
                      .counts = g_array_new(false, true, sizeof(uint32_t)),
                      .branches = g_array_new(false, true, sizeof(uint32_t)) };
}

static void level_close(Level *level)
{
    g_hash_table_unref(level->ids);
    g_array_unref(level->counts);
    g_array_unref(level->branches);
}

static uint32_t *gram_count(GArray *numbers, uint32_t id)
{
    return &g_array_index(numbers, uint32_t, id);
}

/* The id of an n-gram, which is given one if it is new; *fresh says whether it is. */
static uint32_t add_gram(Level *level, uint32_t context, int32_t word, bool *fresh)
{
    uint32_t id = find_gram(level, context, word);
    *fresh = id == NO_GRAM;
    if (*fresh) {
        id = level->counts->len;
        g_hash_table_insert(level->ids, gram_key(context, word), GUINT_TO_POINTER(id));
        g_array_set_size(level->counts, id + 1);
        g_array_set_size(level->branches, id + 1);
    }
    ++*gram_count(level->counts, id);
    return id;
}

/* Counts the n-grams of a text: text->grams becomes their ids, and was those of one token less. The first n - 1 tokens
 * end none. below: the level of one token less; NULL for 1-grams. */
static void count_level(Words *text, Level *level, Level *below, uint64_t done)
{
    uint32_t context = below ? NO_GRAM : 0;
    for (int64_t i = 0; i < text->n; i++) {
        const uint32_t shorter = text->grams[i];
        bool fresh = false;
        text->grams[i] = context == NO_GRAM ? NO_GRAM : add_gram(level, context, text->words[i], &fresh);
        if (fresh && below)
            ++*gram_count(below->branches, shorter);
        context = below ? shorter : 0;
        if (i % STEP_SHOWN == 0)
            progress_update(done + (uint64_t)i);
    }
}

/* The discount of each count from 1 to 3, from the numbers of n-grams that have the counts 1 to 4. */
static void find_discounts(const GArray *counts, double discounts[4])
{
    double having[5] = { 0 };
    for (guint id = 0; id < counts->len; id++)
        if (g_array_index(counts, uint32_t, id) < 5)
            having[g_array_index(counts, uint32_t, id)]++;
    const double y = having[1] / fmax(having[1] + 2 * having[2], 1);
    discounts[0] = 0;
    for (int k = 1; k <= 3; k++)
        discounts[k] = fmax(k - (k + 1) * y * having[k + 1] / fmax(having[k], 1), 0);
}

static Smoothed smooth(const Level *level, const GArray *counts, guint n_contexts)
{
    Smoothed all = { .totals = g_new0(double, n_contexts), .left = g_new0(double, n_contexts) };
    GHashTableIter walk;
    gpointer key, id;
    find_discounts(counts, all.discounts);
    g_hash_table_iter_init(&walk, level->ids);
    while (g_hash_table_iter_next(&walk, &key, &id)) {
        const uint32_t count = g_array_index(counts, uint32_t, GPOINTER_TO_UINT(id));
        const uint64_t context = (uint64_t)(uintptr_t)key >> 32;
        all.totals[context] += count;
        all.left[context] += all.discounts[MIN(count, 3)];
    }
    return all;
}

static void smoothed_free(Smoothed *all)
{
    g_free(all->totals);
    g_free(all->left);
}

/* The probability of an n-gram's last token. below: its probability by one token less. */
static double probability(const Smoothed *all, const GArray *counts, uint32_t context, uint32_t gram, double below)
{
    if (context == NO_GRAM || all->totals[context] == 0)
        return below;
    const uint32_t count = gram == NO_GRAM ? 0 : g_array_index(counts, uint32_t, gram);
    return (count - all->discounts[MIN(count, 3)] + all->left[context] * below) / all->totals[context];
}

/* Sum of -log2 p over the held-out tokens, where this level is the last. held->grams becomes the ids of this level, and
 * p (of each token) its probability by Kneser-Ney's counts, for the level above. */
static double score_level(Words *held, const Level *level, const Level *below, double *p)
{
    const guint n_contexts = below ? below->counts->len : 1;
    Smoothed last = smooth(level, level->counts, n_contexts), lower = smooth(level, level->branches, n_contexts);
    uint32_t context = below ? NO_GRAM : 0;
    double bits = 0;
    for (int64_t i = 0; i < held->n; i++) {
        const uint32_t shorter = held->grams[i], gram = find_gram(level, context, held->words[i]);
        bits -= log2(probability(&last, level->counts, context, gram, p[i]));
        p[i] = probability(&lower, level->branches, context, gram, p[i]);
        held->grams[i] = gram;
        context = below ? shorter : 0;
    }
    smoothed_free(&last);
    smoothed_free(&lower);
    return bits;
}

static bool words_read(Words *text, const Dataset *data, int64_t n, int32_t vocab, GError **error)
{
    if (n >= NO_GRAM)
        return fail_user(error, "%s: more tokens than n-grams are counted of: count fewer", data->name);
    *text = (Words){ .n = n, .words = g_new(int32_t, n), .grams = g_new0(uint32_t, n) };
    return n == 0 || dataset_read(data, 0, 0, n, vocab, text->words, error);
}

static void words_free(Words *text)
{
    g_free(text->words);
    g_free(text->grams);
}

/* A level is scored when the one above it has counted its branches; the last one needs none. */
static void score_all(Words *text, Words *held, int order, int32_t vocab, double *bits)
{
    Level levels[NGRAMS_MOST + 1] = { 0 };
    g_autofree double *p = g_new(double, held->n);
    for (int64_t i = 0; i < held->n; i++)
        p[i] = 1.0 / vocab;
    progress_open("counting", "tokens", (uint64_t)text->n * (uint64_t)order);
    for (int k = 1; k <= order; k++) {
        level_open(&levels[k]);
        count_level(text, &levels[k], k > 1 ? &levels[k - 1] : NULL, (uint64_t)(k - 1) * (uint64_t)text->n);
        if (k > 1)
            bits[k - 2] = score_level(held, &levels[k - 1], k > 2 ? &levels[k - 2] : NULL, p);
        if (k > 2)
            level_close(&levels[k - 2]);
    }
    bits[order - 1] = score_level(held, &levels[order], order > 1 ? &levels[order - 1] : NULL, p);
    for (int k = MAX(order - 1, 1); k <= order; k++)
        level_close(&levels[k]);
    progress_close();
}

bool ngrams_bits(const Dataset *train, const Dataset *valid, int order, int32_t vocab, int64_t tokens, double *bits,
                 GError **error)
{
    CHECK(order >= 1 && order <= NGRAMS_MOST, "order %d", order);
    const int64_t all = indexed_tokens(train->set);
    Words text = { 0 }, held = { 0 };
    const bool good = words_read(&text, train, tokens > 0 ? MIN(tokens, all) : all, vocab, error) &&
                      words_read(&held, valid, indexed_tokens(valid->set), vocab, error);
    if (good)
        score_all(&text, &held, order, vocab, bits);
    words_free(&text);
    words_free(&held);
    return good;
}
