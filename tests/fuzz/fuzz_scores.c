/* Any bytes as the files of a score: an error that says something, or values within their bounds. The first byte
 * chooses the score, the second its options and the form of the files; a 0xff separates predictions from references. */
#include "fuzz_folder.h"
#include "scores/scores.h"

#include <math.h>
#include <string.h>

static const ScoreKind *choose_kind(uint8_t byte)
{
    size_t n = 0;
    while (score_at(n))
        n++;
    return score_at(byte % n);
}

static void check_values(const ScoreKind *kind, const ScoreResult *result)
{
    for (int v = 0; v < result->n_values; v++) {
        double value = result->values[v].value, low = result->values[v].low;
        bool percent = kind->takes != SCORE_LOGPROBS && strcmp(result->values[v].name, "length") != 0 &&
                       strcmp(result->values[v].name, "reference_length") != 0;
        CHECK(isnan(value) || !percent || (value > -100.0001 && value < 100.0001), "%s: %g", kind->name, value);
        CHECK(isnan(low) || low <= result->values[v].high, "%s: %g to %g", kind->name, low, result->values[v].high);
    }
}

static void compute(const ScoreKind *kind, const ScoreInput *in, uint8_t bits)
{
    static const char *const labels[] = { "a", "b", NULL };
    const ScoreOptions options = { .positive = bits & 1 ? "a" : NULL,
                                   .labels = bits & 2 ? labels : NULL,
                                   .stem = bits & 1,
                                   .lowercase = bits & 2,
                                   .tokenizer = (BleuTokenizer)(bits >> 2 & 3),
                                   .smoothing = (BleuSmoothing)(bits >> 4 & 3),
                                   .word_order = bits & 2,
                                   .resamples = 2,
                                   .confidence = 90 };
    g_autoptr(GError) error = NULL;
    ScoreResult result;
    if (score_compute(&result, kind, in, &options, &error)) {
        check_values(kind, &result);
        score_result_clear(&result);
    } else {
        CHECK(error && *error->message, "no word about what is wrong");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 2)
        return 0;
    const ScoreKind *kind = choose_kind(data[0]);
    const uint8_t *cut = memchr(data + 2, 0xff, bytes - 2);
    size_t n = cut ? (size_t)(cut - data) - 2 : bytes - 2;
    const char *suffix = data[1] & 0x40 ? ".jsonl" : ".txt";
    g_autofree char *first = g_strconcat("p", suffix, NULL), *second = g_strconcat("r", suffix, NULL);
    g_autofree char *predictions = g_build_filename(fuzz_folder(), first, NULL),
                    *references = g_build_filename(fuzz_folder(), second, NULL);
    const char *const paths[] = { references, NULL };
    fuzz_keep(first, data + 2, n);
    if (cut)
        fuzz_keep(second, cut + 1, bytes - n - 3);
    g_autoptr(GError) error = NULL;
    ScoreExamples examples;
    const ScoreFiles files = { .predictions = predictions,
                               .references = cut ? paths : NULL,
                               .groups = cut && data[1] & 0x80 ? references : NULL };
    if (score_read(&examples, &files, kind->takes, &error))
        compute(kind, &examples.in, data[1] & 0x3f);
    else
        CHECK(error && *error->message, "no word about what is wrong");
    score_examples_clear(&examples);
    return 0;
}
