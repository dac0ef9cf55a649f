/* Reading the examples of scores from files, and what is said about inputs that a score cannot take. */
#include "scores/scores.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static char *folder;

static char *put(const char *name, const char *content)
{
    char *path = g_build_filename(folder, name, NULL);
    g_assert_true(g_file_set_contents(path, content, -1, NULL));
    return path;
}

/* Reads one file of predictions, and one of references unless that is NULL; `suffix` is of their names. */
static bool read_pair(ScoreExamples *out, const char *suffix, const char *predictions, const char *references,
                      ScoreTakes takes, GError **error)
{
    g_autofree char *p_name = g_strconcat("p", suffix, NULL), *r_name = g_strconcat("r", suffix, NULL);
    g_autofree char *p = put(p_name, predictions), *r = put(r_name, references ? references : "");
    const char *const paths[] = { references ? r : NULL, NULL };
    return score_read(out, &(ScoreFiles){ .predictions = p, .references = paths }, takes, error);
}

static void expect_read_error(const char *suffix, const char *predictions, const char *references, ScoreTakes takes,
                              const char *message)
{
    GError *error = NULL;
    ScoreExamples examples;
    g_assert_false(read_pair(&examples, suffix, predictions, references, takes, &error));
    g_assert_nonnull(strstr(error->message, message));
    g_assert_cmpint(error->code, ==, LOAM_ERROR_USER);
    score_examples_clear(&examples);
    g_error_free(error);
}

static void expect_score_error(const char *name, const char *predictions, const char *references, const char *message)
{
    GError *error = NULL;
    ScoreExamples examples;
    ScoreResult result;
    const ScoreKind *kind = score_find(name);
    const ScoreOptions options = { 0 };
    g_assert_true(read_pair(&examples, ".jsonl", predictions, references, kind->takes, NULL));
    g_assert_false(score_compute(&result, kind, &examples.in, &options, &error));
    if (!strstr(error->message, message))
        g_error("\"%s\" does not say \"%s\"", error->message, message);
    score_examples_clear(&examples);
    g_error_free(error);
}

static void lines_of_text_are_examples(void)
{
    ScoreExamples examples;
    g_assert_true(read_pair(&examples, ".txt", "one\n\n\"three\"", "1\n2\n3\n", SCORE_TEXTS, NULL));
    g_assert_cmpint(examples.in.n, ==, 3);
    g_assert_cmpstr(examples.in.predictions[1], ==, "");
    g_assert_cmpstr(examples.in.predictions[2], ==, "\"three\"");
    g_assert_cmpstr(examples.in.references[2][0], ==, "3");
    g_assert_null(examples.in.references[2][1]);
    g_assert_null(examples.in.groups);
    score_examples_clear(&examples);
}

static void several_files_are_several_references(void)
{
    g_autofree char *p = put("p.txt", "x\ny\n"), *a = put("a.txt", "a1\na2\n"),
                    *b = put("b.jsonl", "[\"b1\", 2, 0.5]\n[]\n"), *g = put("g.txt", "q1\nq1\n");
    const char *const paths[] = { a, b, NULL };
    ScoreExamples examples;
    g_assert_true(score_read(&examples, &(ScoreFiles){ p, paths, g }, SCORE_TEXTS, NULL));
    g_assert_cmpint(g_strv_length((char **)examples.in.references[0]), ==, 4);
    g_assert_cmpstr(examples.in.references[0][1], ==, "b1");
    g_assert_cmpstr(examples.in.references[0][2], ==, "2");
    g_assert_cmpstr(examples.in.references[0][3], ==, "0.5");
    g_assert_cmpint(g_strv_length((char **)examples.in.references[1]), ==, 1);
    g_assert_cmpstr(examples.in.groups[1], ==, "q1");
    score_examples_clear(&examples);
}

static void objects_hold_whole_examples(void)
{
    ScoreExamples examples;
    g_assert_true(read_pair(&examples, ".jsonl",
                            "{\"prediction\":\"a\\nb\",\"reference\":\"c\",\"group\":7}\n"
                            "{\"prediction\":null,\"references\":[],\"group\":\"x\"}\n",
                            NULL, SCORE_TEXTS, NULL));
    g_assert_cmpstr(examples.in.predictions[0], ==, "a\nb");
    g_assert_cmpstr(examples.in.predictions[1], ==, "");
    g_assert_cmpstr(examples.in.references[0][0], ==, "c");
    g_assert_null(examples.in.references[1][0]);
    g_assert_cmpstr(examples.in.groups[0], ==, "7");
    score_examples_clear(&examples);
}

static void tags_are_an_array_or_words(void)
{
    ScoreExamples examples;
    g_assert_true(read_pair(&examples, ".jsonl", "[\"B-X\",\"O\"]\n\"O O\"\n", "[\"B-X\",\"I-X\"]\n[\"O\",\"O\"]\n",
                            SCORE_TAGS, NULL));
    g_assert_cmpstr(examples.in.predictions[0], ==, "B-X O");
    g_assert_cmpstr(examples.in.references[1][0], ==, "O O");
    score_examples_clear(&examples);
}

/* What `loam eval --score` writes: e^(6/3) over both lines. */
static void perplexity_is_of_all_tokens(void)
{
    ScoreExamples examples;
    ScoreResult result;
    const ScoreOptions options = { 0 };
    g_assert_true(
        read_pair(&examples, ".jsonl",
                  "{\"line\":1,\"logprob\":-1,\"tokens\":2,\"greedy\":true}\n{\"logprob\":-5.0,\"tokens\":1}\n", NULL,
                  SCORE_LOGPROBS, NULL));
    g_assert_true(score_compute(&result, score_find("perplexity"), &examples.in, &options, NULL));
    g_assert_cmpfloat_with_epsilon(result.values[0].value, exp(2), 1e-12);
    g_assert_true(isnan(result.values[0].low));
    score_examples_clear(&examples);
}

static void bad_lines_are_named(void)
{
    expect_read_error(".txt", "a\nb\n", "a\n", SCORE_TEXTS, "r.txt has 1 lines, but there are 2 predictions");
    expect_read_error(".txt", "a\n", "a\nb\n", SCORE_TEXTS, "r.txt has 2 lines, but there are 1 predictions");
    expect_read_error(".jsonl", "\"a\"\n{}\n", "\"a\"\n\"b\"\n", SCORE_TEXTS, "p.jsonl:2: the line is something else");
    expect_read_error(".jsonl", "\"a\"\n", "[[\"a\"]]\n", SCORE_TEXTS, "r.jsonl:1: the line is something else");
    expect_read_error(".jsonl", "[\"a\",\"b\"]\n", "\"a\"\n", SCORE_TEXTS, "p.jsonl:1: 2 texts, want one prediction");
    expect_read_error(".jsonl", "a\n", "\"a\"\n", SCORE_TEXTS, "p.jsonl:1: not JSON");
    expect_read_error(".jsonl", "[\"O O\"]\n", "[\"O\"]\n", SCORE_TAGS, "tag 1 is no text without white space");
    expect_read_error(".jsonl", "\"a\"\n", NULL, SCORE_TEXTS, "no object with \"prediction\" and \"reference\"");
    expect_read_error(".jsonl", "{\"prediction\":\"a\"}\n", NULL, SCORE_TEXTS, "reference is missing");
    expect_read_error(".jsonl", "{\"logprob\":-1}\n", NULL, SCORE_LOGPROBS, "tokens is missing");
    expect_read_error(".jsonl", "{\"prediction\":1,\"reference\":1,\"group\":1}\n{\"prediction\":1,\"reference\":1}\n",
                      NULL, SCORE_LABELS, "1 of 2 lines have a \"group\"");
}

static void inputs_that_a_score_cannot_take_are_errors(void)
{
    expect_score_error("accuracy", "", "", "no examples");
    expect_score_error("accuracy", "\"a\"\n", "[\"a\",\"b\"]\n", "example 1 has 2 references; accuracy takes one");
    expect_score_error("f1", "1\n0\n0\n", "1\n2\n3\n", "three labels or more, such as \"2\" and \"3\"");
    expect_score_error("f1", "2\n2\n", "3\n2\n", "no example has the label \"1\", which f1 takes for the positive one");
    expect_score_error("multirc", "1\n", "1\n", "needs the group of each example");
    expect_score_error("pearson", "1\n", "1\n", "takes two or more");
    expect_score_error("pearson", "1\n2\n", "1\n\"x\"\n", "the reference of example 2 is \"x\", no number");
    expect_score_error("perplexity", "1\n", "1\n", "want at most 0");
    expect_score_error("squad", "1\n", "[]\n", "example 1 has no reference");
    expect_score_error("rouge", "1\n", "[]\n", "example 1 has no reference");
    expect_score_error("bleu", "1\n", "[]\n", "example 1 has no reference");
    expect_score_error("chrf", "1\n", "[]\n", "example 1 has no reference");
    expect_score_error("seqeval", "\"O\"\n", "\"O O\"\n", "example 1 has 1 predicted tags, its reference 2");
    expect_score_error("seqeval_iob2", "\"O\"\n", "\"S-X\"\n", "1 tags that do not begin with B, I or O");
}

static void invalid_predictions_are_counted(void)
{
    static const struct {
        const char *name, *predictions, *references;
    } cases[] = {
        { "f1", "1\n\"?\"\n0\n", "1\n1\n0\n" },
        { "f1_macro", "1\n\"?\"\n0\n", "1\n1\n0\n" },
        { "spearman", "1\n\"?\"\n0\n", "1\n1\n0\n" },
        { "seqeval", "\"O ? B-X\"\n", "\"O O B-X\"\n" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const ScoreKind *kind = score_find(cases[i].name);
        const ScoreOptions options = { 0 };
        ScoreExamples examples;
        ScoreResult result;
        g_assert_true(read_pair(&examples, ".jsonl", cases[i].predictions, cases[i].references, kind->takes, NULL));
        g_assert_true(score_compute(&result, kind, &examples.in, &options, NULL));
        g_assert_cmpint(result.n_invalid, ==, 1);
        score_examples_clear(&examples);
    }
}

/* What is known of a share: its interval is about 2 × 1.96 √(p (1 - p) / n) wide, and the seed decides it. */
static void the_interval_of_a_share_is_as_wide_as_theory_has_it(void)
{
    enum { N = 1000 };
    const char *predictions[N], *one[] = { "1", NULL };
    const char *const *references[N];
    for (int i = 0; i < N; i++) {
        predictions[i] = i % 5 ? "1" : "0";
        references[i] = one;
    }
    const ScoreInput in = { N, predictions, references, NULL };
    ScoreOptions options = { .resamples = 2000, .confidence = 95, .seed = 3 };
    ScoreResult a, b, c;
    g_assert_true(score_compute(&a, score_find("accuracy"), &in, &options, NULL));
    g_assert_true(score_compute(&b, score_find("accuracy"), &in, &options, NULL));
    options.seed = 4;
    g_assert_true(score_compute(&c, score_find("accuracy"), &in, &options, NULL));
    double width = a.values[0].high - a.values[0].low;
    g_assert_cmpfloat_with_epsilon(width, 100 * 2 * 1.96 * sqrt(0.8 * 0.2 / N), 0.3);
    g_assert_cmpfloat_with_epsilon((a.values[0].high + a.values[0].low) / 2, 80, 0.3);
    g_assert_true(memcmp(&a.values[0].low, &b.values[0].low, 2 * sizeof(double)) == 0);
    g_assert_true(memcmp(&a.values[0].low, &c.values[0].low, 2 * sizeof(double)) != 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-scores-XXXXXX", NULL);
    g_test_add_func("/scores/lines_of_text_are_examples", lines_of_text_are_examples);
    g_test_add_func("/scores/several_files_are_several_references", several_files_are_several_references);
    g_test_add_func("/scores/objects_hold_whole_examples", objects_hold_whole_examples);
    g_test_add_func("/scores/tags_are_an_array_or_words", tags_are_an_array_or_words);
    g_test_add_func("/scores/perplexity_is_of_all_tokens", perplexity_is_of_all_tokens);
    g_test_add_func("/scores/bad_lines_are_named", bad_lines_are_named);
    g_test_add_func("/scores/inputs_that_a_score_cannot_take_are_errors", inputs_that_a_score_cannot_take_are_errors);
    g_test_add_func("/scores/invalid_predictions_are_counted", invalid_predictions_are_counted);
    g_test_add_func("/scores/the_interval_of_a_share_is_as_wide_as_theory_has_it",
                    the_interval_of_a_share_is_as_wide_as_theory_has_it);
    int status = g_test_run();
    GDir *dir = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir));) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_dir_close(dir);
    g_rmdir(folder);
    g_free(folder);
    return status;
}
