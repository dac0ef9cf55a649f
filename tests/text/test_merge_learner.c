#include "text/vocab_builder/vocab_builder.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define N_WORDS  60
#define MAX_WORD 12

/* Words of a few symbols, so that pairs tie and repeat. */
typedef struct Words {
    int32_t symbols[N_WORDS][MAX_WORD];
    int n[N_WORDS];
    int64_t counts[N_WORDS];
} Words;

static void fill(Words *words, GRand *rng)
{
    for (int i = 0; i < N_WORDS; i++) {
        words->n[i] = g_rand_int_range(rng, 1, MAX_WORD + 1);
        words->counts[i] = g_rand_int_range(rng, 1, 5);
        for (int j = 0; j < words->n[i]; j++)
            words->symbols[i][j] = g_rand_int_range(rng, 0, 4);
    }
}

/* The most frequent pair by counting them all; of equals the smallest. Its count. */
static int64_t find_best(const Words *words, int32_t n_symbols, int32_t best[2])
{
    g_autofree int64_t *counts = g_new0(int64_t, n_symbols * n_symbols);
    for (int i = 0; i < N_WORDS; i++)
        for (int j = 0; j + 1 < words->n[i]; j++)
            counts[words->symbols[i][j] * n_symbols + words->symbols[i][j + 1]] += words->counts[i];
    int32_t at = 0;
    for (int32_t pair = 0; pair < n_symbols * n_symbols; pair++)
        if (counts[pair] > counts[at])
            at = pair;
    best[0] = at / n_symbols;
    best[1] = at % n_symbols;
    return counts[at];
}

static void apply(Words *words, const int32_t pair[2], int32_t merged)
{
    for (int i = 0; i < N_WORDS; i++) {
        int32_t *symbols = words->symbols[i];
        int kept = 0;
        for (int j = 0; j < words->n[i]; j++) {
            bool here = j + 1 < words->n[i] && symbols[j] == pair[0] && symbols[j + 1] == pair[1];
            symbols[kept++] = here ? merged : symbols[j];
            j += here;
        }
        words->n[i] = kept;
    }
}

typedef struct Plain {
    Words words;
    int32_t n_symbols;
    int n_merges, stop_after;
    int64_t last_count;
} Plain;

static int32_t expect_best(void *context, int32_t left, int32_t right, int64_t count)
{
    Plain *plain = context;
    int32_t best[2];
    if (plain->n_merges++ == plain->stop_after)
        return MERGE_STOP;
    g_assert_cmpint(find_best(&plain->words, plain->n_symbols, best), ==, count);
    g_assert_cmpint(best[0], ==, left);
    g_assert_cmpint(best[1], ==, right);
    plain->last_count = count;
    apply(&plain->words, best, plain->n_symbols);
    return plain->n_symbols++;
}

static MergeLearner *open_words(const Words *words)
{
    MergeLearner *learner = merge_learner_open(N_WORDS, N_WORDS * MAX_WORD);
    for (int i = 0; i < N_WORDS; i++)
        merge_learner_add(learner, words->symbols[i], (size_t)words->n[i], words->counts[i]);
    return learner;
}

static void merges_are_those_of_counting_everything_again(void)
{
    g_autoptr(GRand) rng = g_rand_new_with_seed(5);
    for (int round = 0; round < 20; round++) {
        Plain plain = { .n_symbols = 4, .stop_after = 1000 };
        fill(&plain.words, rng);
        MergeLearner *learner = open_words(&plain.words);
        merge_learner_run(learner, 3, expect_best, &plain);
        merge_learner_close(learner);
        int32_t best[2];
        g_assert_cmpint(plain.last_count, >=, 3);
        g_assert_cmpint(find_best(&plain.words, plain.n_symbols, best), <, 3);
    }
}

static void it_stops_where_it_is_told(void)
{
    g_autoptr(GRand) rng = g_rand_new_with_seed(6);
    Plain plain = { .n_symbols = 4, .stop_after = 7 };
    fill(&plain.words, rng);
    MergeLearner *learner = open_words(&plain.words);
    merge_learner_run(learner, 1, expect_best, &plain);
    merge_learner_close(learner);
    g_assert_cmpint(plain.n_symbols, ==, 11);
}

/* Symbols are letters' numbers; a pair with a b on its right is left alone. */
static int32_t spare_b(void *context, int32_t left, int32_t right, int64_t count)
{
    g_string_append_printf(context, "%d+%d=%d ", left, right, (int)count);
    return right == 1 ? MERGE_NOT : 50 + 10 * left + right;
}

static void a_pair_left_alone_comes_up_once(void)
{
    const int32_t word[] = { 2, 1, 2, 3, 2, 1 };
    g_autoptr(GString) seen = g_string_new(NULL);
    MergeLearner *learner = merge_learner_open(1, G_N_ELEMENTS(word));
    merge_learner_add(learner, word, G_N_ELEMENTS(word), 4);
    merge_learner_run(learner, 1, spare_b, seen);
    merge_learner_close(learner);
    g_assert_cmpstr(seen->str, ==, "2+1=8 1+2=4 2+62=4 3+2=4 82+1=4 132+82=4 1452+1=4 ");
}

/* 1 + 2 and 3 + 4 become the same symbol. */
static int32_t join_twice(void *context, int32_t left, int32_t right, int64_t count)
{
    g_string_append_printf(context, "%d+%d=%d ", left, right, (int)count);
    return left == 1 || left == 3 ? 9 : left + right;
}

static void a_merged_pair_that_comes_again_is_merged_at_once(void)
{
    g_autoptr(GString) seen = g_string_new(NULL);
    MergeLearner *learner = merge_learner_open(2, 7);
    merge_learner_add(learner, (const int32_t[]){ 1, 2, 5 }, 3, 10);
    merge_learner_add(learner, (const int32_t[]){ 3, 4, 5, 6 }, 4, 2);
    merge_learner_run(learner, 1, join_twice, seen);
    merge_learner_close(learner);
    g_assert_cmpstr(seen->str, ==, "1+2=10 9+5=10 3+4=2 14+6=2 ");
}

static void no_words_give_no_merges(void)
{
    g_autoptr(GString) seen = g_string_new(NULL);
    MergeLearner *learner = merge_learner_open(2, 1);
    merge_learner_add(learner, NULL, 0, 9);
    merge_learner_add(learner, &(int32_t){ 3 }, 1, 9);
    merge_learner_run(learner, 1, spare_b, seen);
    merge_learner_close(learner);
    g_assert_cmpstr(seen->str, ==, "");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge_learner/merges_are_those_of_counting_everything_again",
                    merges_are_those_of_counting_everything_again);
    g_test_add_func("/merge_learner/it_stops_where_it_is_told", it_stops_where_it_is_told);
    g_test_add_func("/merge_learner/a_pair_left_alone_comes_up_once", a_pair_left_alone_comes_up_once);
    g_test_add_func("/merge_learner/a_merged_pair_that_comes_again_is_merged_at_once",
                    a_merged_pair_that_comes_again_is_merged_at_once);
    g_test_add_func("/merge_learner/no_words_give_no_merges", no_words_give_no_merges);
    return g_test_run();
}
