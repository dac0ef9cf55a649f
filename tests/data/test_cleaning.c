/* Documents that are left out: near duplicates against brute force, and the rules about generated and minified files.
 */
#include "data/prepare/prepare.h"

#include "base/philox.h"
#include "data/data_test.h"
#include "data/prepare/repeats.h"

#include <math.h>

static char *folder;

/* ---- evaluation sets ---- */

enum { WORDS = 40, SETS = 12, DOCUMENTS = 400, N = 4 };

/* Words from a small alphabet, with white space that differs each time. */
static char *draw_text(Philox *rng, int n, int alphabet)
{
    static const char *const spaces[] = { " ", "\n", "\t ", "  " };
    GString *text = g_string_new(NULL);
    for (int i = 0; i < n; i++)
        g_string_append_printf(text, "w%d%s", (int)philox_below(rng, (uint64_t)alphabet), spaces[philox_below(rng, 4)]);
    return g_string_free(text, FALSE);
}

static char **words_of(const char *text)
{
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    g_auto(GStrv) parts = g_strsplit_set(text, " \n\t", -1);
    for (char **part = parts; *part; part++)
        if (**part)
            g_strv_builder_add(words, *part);
    return g_strv_builder_end(words);
}

/* The set of the different n-grams of a text, as strings. */
static GHashTable *grams_of(const char *text)
{
    GHashTable *grams = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_auto(GStrv) words = words_of(text);
    for (guint i = 0; i + N <= g_strv_length(words); i++) {
        g_autoptr(GStrvBuilder) gram = g_strv_builder_new();
        for (guint k = 0; k < N; k++)
            g_strv_builder_add(gram, words[i + k]);
        g_auto(GStrv) parts = g_strv_builder_end(gram);
        g_hash_table_add(grams, g_strjoinv(" ", parts));
    }
    return grams;
}

static Overlap brute_force(const char *text, char **sets, double share)
{
    g_autoptr(GHashTable) own = grams_of(text);
    g_auto(GStrv) words = words_of(text);
    bool near = false;
    for (char **set = sets; *set; set++) {
        g_auto(GStrv) theirs = words_of(*set);
        if (g_strv_equal((const char *const *)words, (const char *const *)theirs))
            return OVERLAP_EXACT;
        g_autoptr(GHashTable) wanted = grams_of(*set);
        GHashTableIter iter;
        gpointer gram;
        int common = 0;
        g_hash_table_iter_init(&iter, wanted);
        while (g_hash_table_iter_next(&iter, &gram, NULL))
            common += g_hash_table_contains(own, gram);
        near |= common > 0 && common >= share * g_hash_table_size(wanted);
    }
    return near ? OVERLAP_NEAR : OVERLAP_NONE;
}

static void overlaps_are_those_of_brute_force(void)
{
    int counts[3] = { 0 };
    for (uint64_t round = 0; round < 6; round++) {
        Philox rng = philox_open(philox_key(9, PHILOX_SAMPLING, 0), round);
        const double share = (double)(round + 1) / 6;
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        GString *lines = g_string_new(NULL);
        for (int i = 0; i < SETS; i++) {
            g_autofree char *text = draw_text(&rng, 1 + (int)philox_below(&rng, WORDS), 6);
            g_auto(GStrv) words = words_of(text);
            g_autofree char *line = g_strjoinv(" ", words);
            g_string_append_printf(lines, "{\"t\": \"%s\"}\n", line);
            g_strv_builder_add(builder, text);
        }
        g_auto(GStrv) sets = g_strv_builder_end(builder);
        g_autofree char *path = file_write(folder, "sets.jsonl", lines->str, lines->len);
        g_string_free(lines, TRUE);
        g_autoptr(GError) error = NULL;
        OverlapIndex *index = overlap_open(
            &(OverlapOptions){ (char *[]){ path, NULL }, (char *[]){ (char *)"t", NULL }, N, share, 0 }, &error);
        g_assert_no_error(error);
        g_assert_cmpint(overlap_documents(index), ==, SETS);
        for (int i = 0; i < DOCUMENTS; i++) {
            g_autofree char *drawn = draw_text(&rng, (int)philox_below(&rng, 2 * WORDS), 6),
                            *around = g_strconcat(drawn, "\n", sets[i % SETS], NULL), *same = g_strdup(sets[i % SETS]);
            const char *text = i % 3 == 0 ? drawn : i % 3 == 1 ? around : g_strdelimit(same, " \t\n", '\n');
            Overlap wanted = brute_force(text, sets, share);
            g_assert_cmpint(overlap_find(index, text, strlen(text)), ==, wanted);
            counts[wanted]++;
        }
        overlap_close(index);
    }
    for (int i = 0; i < 3; i++)
        g_assert_cmpint(counts[i], >, 100);
}

static void marks_are_words_of_their_own(void)
{
    g_autofree char *path = file_write_text(folder, "eval/one.txt", "def f(x):\n    return x + 1\n");
    g_autoptr(GError) error = NULL;
    OverlapIndex *index = overlap_open(&(OverlapOptions){ (char *[]){ path, NULL }, NULL, 5, 1, 0 }, &error);
    g_assert_no_error(error);
    static const struct {
        const char *text;
        Overlap wanted;
    } cases[] = {
        { "def f ( x ) :\n\treturn x+1", OVERLAP_EXACT },
        { "import os\ndef f(x): return x+1  # next", OVERLAP_NEAR },
        { "def f(y): return y + 1", OVERLAP_NONE },
        { "def fx(): return x + 1", OVERLAP_NONE },
        { "", OVERLAP_NONE },
        { " \n", OVERLAP_NONE },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpint(overlap_find(index, cases[i].text, strlen(cases[i].text)), ==, cases[i].wanted);
    overlap_close(index);
    g_assert_null(overlap_open(&(OverlapOptions){ (char *[]){ (char *)"/nowhere", NULL }, NULL, 5, 1, 0 }, &error));
    g_assert_cmpint(error->code, ==, LOAM_ERROR_USER);
}

/* ---- rules about the text alone ---- */

static Dropped check(CleaningRules rules, const char *text)
{
    return cleaning_check(&rules, text, strlen(text));
}

static void each_rule_has_its_limit(void)
{
    g_assert_cmpint(check((CleaningRules){ 0 }, "Do not edit!\n((((("), ==, DROPPED_NOT);
    g_assert_cmpint(check((CleaningRules){ .max_line = 5 }, "abcde\nab\n"), ==, DROPPED_NOT);
    g_assert_cmpint(check((CleaningRules){ .max_line = 5 }, "ab\nabcdef"), ==, DROPPED_LONG_LINE);
    g_assert_cmpint(check((CleaningRules){ .max_line = 5 }, "\xc3\xa9t\xc3\xa9\xc3\xa9t\xe2\x82\xac"), ==,
                    DROPPED_LONG_LINE);
    g_assert_cmpint(check((CleaningRules){ .max_line = 6 }, "\xc3\xa9t\xc3\xa9\xc3\xa9t\xe2\x82\xac"), ==, DROPPED_NOT);
    g_assert_cmpint(check((CleaningRules){ .max_mean = 3 }, "abcde\na\n"), ==, DROPPED_NOT);
    g_assert_cmpint(check((CleaningRules){ .max_mean = 3 }, "abcde\nab\n"), ==, DROPPED_LONG_LINES);
    g_assert_cmpint(check((CleaningRules){ .min_letters = 0.5 }, "a1()"), ==, DROPPED_NOT);
    g_assert_cmpint(check((CleaningRules){ .min_letters = 0.5 }, "a1()\n)"), ==, DROPPED_MARKS);
    g_assert_cmpint(check((CleaningRules){ .min_letters = 0.5, .max_mean = 1 }, ""), ==, DROPPED_NOT);
    g_assert_cmpint(check((CleaningRules){ .generated = true }, "# x\n# DO NOT EDIT\n"), ==, DROPPED_GENERATED);
    g_assert_cmpint(check((CleaningRules){ .generated = true }, "/* Code generated by stringer */"), ==,
                    DROPPED_GENERATED);
    g_assert_cmpint(check((CleaningRules){ .generated = true }, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n# do not edit\n"), ==,
                    DROPPED_NOT);
}

/* ---- repeats within a corpus ---- */

/* A text of n random words, and the same with every word at `period`, 2 period, … (5 apart at least) replaced. */
static void draw_pair(Philox *rng, int n, int changed, GString *one, GString *other)
{
    g_string_set_size(one, 0);
    g_string_set_size(other, 0);
    for (int i = 0; i < n; i++) {
        const uint64_t word = philox_below(rng, UINT64_C(1) << 40), instead = philox_below(rng, UINT64_C(1) << 40);
        g_string_append_printf(one, "%" G_GUINT64_FORMAT " ", word);
        g_string_append_printf(other, "%" G_GUINT64_FORMAT "\n", i % 6 == 4 && i / 6 < changed ? instead : word);
    }
}

static void repeats_are_found_by_their_jaccard_index(void)
{
    enum { N_WORDS = 604, RUNS = N_WORDS - REPEAT_WORDS + 1, PAIRS = 120 };
    static const int changed[] = { 0, 3, 6, 12, 20, 30, 60 };
    Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 0), 0);
    g_autoptr(GString) one = g_string_new(NULL), other = g_string_new(NULL);
    for (size_t k = 0; k < G_N_ELEMENTS(changed); k++) {
        const double common = RUNS - REPEAT_WORDS * changed[k], jaccard = common / (2 * RUNS - common),
                     wanted = 1 - pow(1 - pow(jaccard, REPEAT_ROWS), REPEAT_BANDS);
        int found = 0;
        for (int i = 0; i < PAIRS; i++) {
            RepeatSignature signature;
            bool repeats;
            SeenTable *before = seen_table_open(folder, NULL);
            draw_pair(&rng, N_WORDS, changed[k], one, other);
            repeats_sign(one->str, one->len, &signature);
            g_assert_true(repeats_add(before, &signature, &repeats, NULL) && !repeats);
            repeats_sign(other->str, other->len, &signature);
            g_assert_true(repeats_add(before, &signature, &repeats, NULL));
            found += repeats;
            seen_table_close(before);
        }
        g_assert_cmpfloat(fabs((double)found / PAIRS - wanted), <=, changed[k] == 0 ? 0 : 0.09);
    }
}

static void a_text_of_few_words_repeats_none(void)
{
    SeenTable *before = seen_table_open(folder, NULL);
    for (int i = 0; i < 2; i++) {
        RepeatSignature signature;
        bool repeats;
        repeats_sign("x = y;", 6, &signature);
        g_assert_true(repeats_add(before, &signature, &repeats, NULL) && !repeats);
        repeats_sign("", 0, &signature);
        g_assert_true(repeats_add(before, &signature, &repeats, NULL) && !repeats);
        repeats_sign("x = y+1;", 8, &signature);
        g_assert_true(repeats_add(before, &signature, &repeats, NULL) && repeats == (i == 1));
    }
    seen_table_close(before);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
#define CASE(name) g_test_add_func("/cleaning/" #name, name)
    CASE(overlaps_are_those_of_brute_force);
    CASE(marks_are_words_of_their_own);
    CASE(repeats_are_found_by_their_jaccard_index);
    CASE(a_text_of_few_words_repeats_none);
    CASE(each_rule_has_its_limit);
    int failed = g_test_run();
    folder_remove(folder);
    return failed;
}
