#include "data/ngrams.h"

#include "base/philox.h"
#include "data/data_test.h"

#include <math.h>

enum { VOCAB = 7, MOST = 200 };

/* A text of n tokens in which some pairs are common, as a dataset in documents of 10. */
static Dataset *dataset_of(const char *folder, const char *name, const int32_t *words, int64_t n)
{
    g_autofree char *prefix = g_build_filename(folder, name, NULL);
    DatasetWriter *writer = dataset_writer_open(
        prefix, &(DatasetMeta){ .tokenizer_hash = "0", .tokenizer_kind = "x", .vocab = VOCAB }, false, NULL);
    for (int64_t at = 0; at < n; at += 10) {
        g_assert_true(dataset_writer_add(writer, words + at, MIN(10, n - at), NULL));
        g_assert_true(dataset_writer_end_document(writer, NULL));
    }
    g_assert_true(dataset_writer_finish(writer, NULL));
    dataset_writer_close(writer);
    Dataset *data = dataset_open(prefix, NULL);
    g_assert_nonnull(data);
    return data;
}

/* ---- the formula of Chen and Goodman 1999 by plain loops over the text ---- */

static const int32_t *text;
static int64_t n_text;

static bool is_at(const int32_t *gram, int k, int64_t at)
{
    return at >= 0 && at + k <= n_text && memcmp(text + at, gram, (size_t)k * sizeof *gram) == 0;
}

/* How often a k-gram occurs; with `branches`, after how many different tokens it does. */
static double count_of(const int32_t *gram, int k, bool branches)
{
    bool before[VOCAB] = { 0 };
    int occurrences = 0, different = 0;
    for (int64_t at = 0; at + k <= n_text; at++) {
        if (!is_at(gram, k, at))
            continue;
        occurrences++;
        if (at > 0 && !before[text[at - 1]])
            before[text[at - 1]] = ++different;
    }
    return branches ? different : occurrences;
}

/* Whether the k-gram at a place is its first occurrence. */
static bool is_first(int64_t place, int k)
{
    for (int64_t at = 0; at < place; at++)
        if (is_at(text + place, k, at))
            return false;
    return true;
}

static double discount_of(int k, bool branches, int count)
{
    double having[5] = { 0 };
    for (int64_t at = 0; at + k <= n_text; at++) {
        const int times = is_first(at, k) ? (int)count_of(text + at, k, branches) : 5;
        if (times < 5)
            having[times]++;
    }
    const int c = MIN(count, 3);
    const double y = having[1] / fmax(having[1] + 2 * having[2], 1);
    return c == 0 ? 0 : fmax(c - (c + 1) * y * having[c + 1] / fmax(having[c], 1), 0);
}

/* Probability of gram[k - 1] after the tokens before it. */
static double probability_of(const int32_t *gram, int k, bool branches)
{
    if (k == 0)
        return 1.0 / VOCAB;
    const double lower = probability_of(gram + 1, k - 1, true);
    double total = 0, left = 0;
    int32_t other[8];
    memcpy(other, gram, (size_t)k * sizeof *gram);
    for (other[k - 1] = 0; other[k - 1] < VOCAB; other[k - 1]++) {
        const double count = count_of(other, k, branches);
        total += count;
        left += discount_of(k, branches, (int)count);
    }
    const double own = count_of(gram, k, branches);
    return total == 0 ? lower : (own - discount_of(k, branches, (int)own) + left * lower) / total;
}

static void the_formula_is_that_of_the_paper(void)
{
    char *folder = folder_new();
    int32_t words[MOST], held[30];
    for (int i = 0; i < MOST; i++) {
        const uint32_t draw = philox4x32(philox_key(1, PHILOX_OTHER, 0), (uint32_t)i, 0, 0, 0).w[0] % 10;
        words[i] = i && draw < 5 ? (words[i - 1] * 3 + 1) % VOCAB : (int32_t)(draw % (VOCAB - 1)); /* 6 comes seldom */
    }
    for (int i = 0; i < 30; i++)
        held[i] = (words[i * 5] + (i % 7 == 0)) % VOCAB;
    Dataset *train = dataset_of(folder, "train", words, MOST), *valid = dataset_of(folder, "valid", held, 30);
    static const int64_t most[] = { 0, 60 };
    for (size_t m = 0; m < G_N_ELEMENTS(most); m++) {
        double bits[4];
        text = words;
        n_text = most[m] ? most[m] : MOST;
        g_assert_true(ngrams_bits(train, valid, 4, VOCAB, most[m], bits, NULL));
        for (int k = 1; k <= 4; k++) {
            double want = 0;
            for (int i = 0; i < 30; i++) { /* the first tokens have shorter contexts */
                const int length = MIN(k, i + 1);
                want -= log2(probability_of(held + i - (length - 1), length, length < k));
            }
            g_assert_cmpfloat_with_epsilon(bits[k - 1], want, 1e-9);
        }
    }
    dataset_close(train);
    dataset_close(valid);
    folder_remove(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/data/ngrams/formula", the_formula_is_that_of_the_paper);
    return g_test_run();
}
