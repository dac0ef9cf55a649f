#include "text/vocab_builder/vocab_builder.h"

#include <string.h>

#define N_TEXTS 900
#define BOUND   200000 /* bytes */

/* Words of a skewed made-up language: text i has 1000 of them, w0 the most frequent, and one that is its own. Every
 * text has its favourites, so that a word may be frequent in one stretch and rare in the next. */
typedef struct Babble {
    int at, n;
    GString *text;
} Babble;

static bool next_babble(void *context, const char **text, size_t *bytes, GError **error)
{
    (void)error;
    Babble *babble = context;
    if (babble->at == babble->n)
        return false;
    uint32_t state = (uint32_t)babble->at * 2654435761u + 1;
    g_string_printf(babble->text, "own%d ", babble->at++);
    for (int i = 0; i < 1000; i++) {
        state = state * 1664525u + 1013904223u;
        uint32_t favourite = (uint32_t)babble->at / 50 * 37;
        g_string_append_printf(babble->text, "w%u ",
                               i % 4 ? (state >> 16) % 40 * ((state >> 24) % 40) : favourite + (state >> 24) % 80);
    }
    *text = babble->text->str;
    *bytes = babble->text->len;
    return true;
}

static void split_at_spaces(const void *context, const char *text, size_t bytes, WordTable *words)
{
    (void)context;
    for (const char *end = text + bytes, *space; text < end; text = space + 1) {
        space = memchr(text, ' ', (size_t)(end - text));
        space = space ? space : end;
        word_table_add(words, text, (size_t)(space - text), 1);
    }
}

static const WordSplitter splitter = { NULL, split_at_spaces, "any length" };

static void count(WordTable *words, int n_texts, int workers, int64_t memory)
{
    Babble babble = { .n = n_texts, .text = g_string_new(NULL) };
    g_autoptr(GError) error = NULL;
    word_table_init(words);
    word_count(words, &splitter, workers, memory, next_babble, &babble, &error);
    g_assert_no_error(error);
    g_string_free(babble.text, TRUE);
}

static int64_t count_of(const WordTable *words, const char *word)
{
    for (size_t i = 0; i < words->n; i++)
        if (words->entries[i].bytes == strlen(word) &&
            memcmp(word_table_word(words, i), word, words->entries[i].bytes) == 0)
            return words->entries[i].count;
    return 0;
}

static void words_are_counted_across_jobs(void)
{
    WordTable words;
    int64_t total = 0;
    count(&words, N_TEXTS, 2, (int64_t)1 << 30); /* about 4.5 MB of text: five jobs */
    for (size_t i = 0; i < words.n; i++)
        total += words.entries[i].count;
    g_assert_cmpint(total, ==, N_TEXTS * 1001);
    g_assert_cmpint(count_of(&words, "own17"), ==, 1);
    g_assert_cmpint(count_of(&words, "own599"), ==, 1);
    g_assert_cmpint(count_of(&words, "w0"), >, count_of(&words, "w1"));
    word_table_clear(&words);
}

static void expect_same(const WordTable *a, const WordTable *b)
{
    g_assert_cmpuint(a->n, ==, b->n);
    g_assert_cmpuint(a->text_bytes, ==, b->text_bytes);
    g_assert_true(memcmp(a->text, b->text, a->text_bytes) == 0);
    for (size_t i = 0; i < a->n; i++)
        g_assert_cmpint(a->entries[i].count, ==, b->entries[i].count);
}

static void the_bound_is_kept_and_the_frequent_words_with_it(void)
{
    WordTable words, others, all;
    int n_too_low = 0;
    count(&all, N_TEXTS, 2, (int64_t)1 << 30);
    count(&words, N_TEXTS, 1, BOUND);
    g_assert_cmpuint(48 * words.n + 48 * words.text_bytes, <=, BOUND);
    g_assert_cmpint(count_of(&words, "own17"), ==, 0);
    g_assert_cmpint(count_of(&words, "w0"), ==, count_of(&all, "w0"));
    for (size_t i = 0; i < words.n; i++) {
        g_autofree char *word = g_strndup(word_table_word(&words, i), words.entries[i].bytes);
        n_too_low += words.entries[i].count < count_of(&all, word);
    }
    g_assert_cmpint(n_too_low, >, 10); /* or where words are forgotten would make no difference */
    for (int workers = 2; workers <= 7; workers += 5) {
        count(&others, N_TEXTS, workers, BOUND);
        expect_same(&words, &others);
        word_table_clear(&others);
    }
    word_table_clear(&words);
    word_table_clear(&all);
}

static bool fails_at_the_third(void *context, const char **text, size_t *bytes, GError **error)
{
    int *n = context;
    *text = "some text";
    *bytes = strlen(*text);
    return ++*n < 3 || fail_user(error, "third.txt: cannot be read");
}

static void an_error_of_the_corpus_ends_it(void)
{
    WordTable words;
    g_autoptr(GError) error = NULL;
    word_table_init(&words);
    g_assert_false(word_count(&words, &splitter, 2, 1 << 20, fails_at_the_third, &(int){ 0 }, &error));
    g_assert_cmpstr(error->message, ==, "third.txt: cannot be read");
    word_table_clear(&words);
}

static void a_pruned_table_goes_on(void)
{
    WordTable words;
    word_table_init(&words);
    for (int i = 0; i < 5000; i++) {
        g_autofree char *word = g_strdup_printf("word%d", i % 2500);
        word_table_add(&words, word, strlen(word), 1 + (i % 2500 == 7));
    }
    g_assert_cmpuint(words.n, ==, 2500);
    word_table_prune(&words, 2);
    g_assert_cmpuint(words.n, ==, 1);
    word_table_add(&words, "word7", 5, 1);
    word_table_add(&words, "word8", 5, 1);
    g_assert_cmpint(count_of(&words, "word7"), ==, 5);
    g_assert_cmpint(count_of(&words, "word8"), ==, 1);
    word_table_empty(&words);
    g_assert_cmpuint(words.n + words.text_bytes, ==, 0);
    word_table_clear(&words);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/word_count/words_are_counted_across_jobs", words_are_counted_across_jobs);
    g_test_add_func("/word_count/the_bound_is_kept_and_the_frequent_words_with_it",
                    the_bound_is_kept_and_the_frequent_words_with_it);
    g_test_add_func("/word_count/an_error_of_the_corpus_ends_it", an_error_of_the_corpus_ends_it);
    g_test_add_func("/word_count/a_pruned_table_goes_on", a_pruned_table_goes_on);
    return g_test_run();
}
