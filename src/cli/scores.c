/* scores.c: `loam scores`: predictions against references, by the scores of src/scores. */
#include "cli/scores.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define USAGE "loam scores [NAME[,NAME…]] PREDICTIONS [REFERENCES…]"

static const char about[] =
    "Compares predictions with references: accuracy, F1, correlations, SQuAD, ROUGE, BLEU, chrF, seqeval and others\n"
    "(see --list). Each score equals that of the Python package that docs/scores.md names; shares are in percent.\n"
    "Each line of PREDICTIONS is one example, and the same line in each file of REFERENCES is a reference for it. "
    "Files\n"
    "are text, or JSON lines if their name ends in .jsonl: texts, numbers, arrays of references or of tags. Without\n"
    "REFERENCES each line of PREDICTIONS is an object with \"prediction\" and \"reference\" or \"references\".\n"
    "A file that `loam eval --task --out` wrote contains the names of its scores, so NAME can be left out.\n"
    "\n"
    "  loam scores answers.jsonl --bootstrap 1000\n"
    "  loam scores rouge,bleu predictions.txt references.txt --bootstrap 1000\n";

#define MOST_RESAMPLES 1000000

static gboolean list, as_json;
static char *groups;
static const char *labels, *tokenizer, *smoothing;
static int64_t seed = 1;
static ScoreOptions options = { .confidence = 95 };
static const GOptionEntry entries[] = {
    CLI_SWITCH("list", list, "print all scores and the kind of input of each"),
    CLI_VALUE("bootstrap", options.resamples, "N",
              "confidence intervals from N bootstrap resamples; 0 means none (default)"),
    CLI_VALUE("confidence", options.confidence, "PERCENT",
              "share of resamples within the interval, in percent (default 95)"),
    CLI_VALUE("seed", seed, "N", "seed of the resamples (default 1)"),
    CLI_VALUE("positive", options.positive, "LABEL", "f1, multirc: the positive label (default 1)"),
    CLI_VALUE("labels", labels, "A,B,…", "f1_macro, f1_micro: labels to average over (default: all that occur)"),
    CLI_PATH("groups", groups, "FILE", "multirc: file with the question of each example"),
    CLI_SWITCH("stem", options.stem, "ROUGE: stem words, as rouge_score does with use_stemmer=True"),
    CLI_SWITCH("lowercase", options.lowercase, "BLEU, chrF: ignore case"),
    CLI_VALUE("tokenizer", tokenizer, "13a|intl|char|none", "BLEU (default 13a)"),
    CLI_VALUE("smoothing", smoothing, "exp|floor|add-k|none", "BLEU (default exp)"),
    CLI_VALUE("smooth-value", options.smooth_value, "X",
              "value for --smoothing floor (default 0.1) or add-k (default 1)"),
    CLI_VALUE("language", options.language, "java|c_sharp|c|javascript|go|python", "CodeBLEU: programming language"),
    CLI_VALUE("word-order", options.word_order, "N", "chrF: also n-grams of up to N words; 2 means chrF++ (default 0)"),
    CLI_SWITCH("json", as_json, "print one JSON object per score"),
    { 0 },
};

/* ---- options ---- */

static bool find_choice(const char *option, const char *name, const char *const *names, int *out, GError **error)
{
    for (*out = 0; name && names[*out]; (*out)++)
        if (strcmp(names[*out], name) == 0)
            return true;
    if (name == NULL)
        return true;
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    return fail_user(error, "--%s is %s, want one of %s", option, name, all);
}

/* Takes options that the command line does not set from the settings stored in the file of predictions. */
static void take_score_settings(const json_t *settings)
{
    static const struct {
        const char *name;
        const char **option;
    } rows[] = { { "positive", &options.positive },
                 { "labels", &labels },
                 { "tokenizer", &tokenizer },
                 { "language", &options.language } };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *value = json_string_value(json_object_get(settings, rows[i].name));
        if (value && *rows[i].option == NULL)
            *rows[i].option = g_strdup(value);
    }
}

/* *split becomes the array of labels that the options refer to; the caller frees it. */
static bool read_options(GStrv *split, GError **error)
{
    int chosen_tokenizer, chosen_smoothing;
    if (!find_choice("tokenizer", tokenizer, bleu_tokenizers, &chosen_tokenizer, error) ||
        !find_choice("smoothing", smoothing, bleu_smoothings, &chosen_smoothing, error))
        return false;
    if (options.resamples < 0 || options.resamples > MOST_RESAMPLES)
        return fail_user(error, "--bootstrap is %" PRId64 ", want 0 to %d", options.resamples, MOST_RESAMPLES);
    if (!(options.confidence > 0 && options.confidence < 100))
        return fail_user(error, "--confidence is %g, want a share between 0 and 100 percent", options.confidence);
    if (!(options.smooth_value >= 0 && isfinite(options.smooth_value)))
        return fail_user(error, "--smooth-value is %g, want more than 0", options.smooth_value);
    if (options.word_order < 0 || options.word_order > 2)
        return fail_user(error, "--word-order is %d, want 0, 1 or 2", options.word_order);
    *split = labels ? text_list(labels) : NULL;
    options.labels = (const char *const *)*split;
    options.tokenizer = (BleuTokenizer)chosen_tokenizer;
    options.smoothing = (BleuSmoothing)chosen_smoothing;
    options.seed = (uint64_t)seed;
    return true;
}

/* ---- names ---- */

/* Indexed by ScoreTakes: the kind of predictions that a score compares. */
static const char *const takes_names[] = { "texts", "labels", "numbers", "tags", "log-probabilities" };

static void print_list(void)
{
    const ScoreKind *kind;
    for (size_t i = 0; (kind = score_at(i)); i++)
        printf("%-20s %-18s %s%s\n", kind->name, takes_names[kind->takes], kind->does,
               kind->groups ? " (--groups)" : "");
}

static bool unknown_score(const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    const ScoreKind *kind;
    for (size_t i = 0; (kind = score_at(i)); i++)
        g_ptr_array_add(names, (char *)kind->name);
    g_ptr_array_add(names, NULL);
    const char *nearest = text_nearest(name, (const char *const *)names->pdata);
    if (nearest)
        return fail_user(error, "no score is called %s, did you mean %s?", name, nearest);
    return fail_user(error, "no score is called %s; `loam scores --list` lists them", name);
}

/* Whether two scores read files in the same way. Scores of tags and of log-probabilities each have their own format. */
static bool read_alike(const ScoreKind *a, const ScoreKind *b)
{
    const ScoreTakes x = a->takes, y = b->takes;
    return x == y || (x != SCORE_TAGS && x != SCORE_LOGPROBS && y != SCORE_TAGS && y != SCORE_LOGPROBS);
}

/* The scores (const ScoreKind *) that `names` names, separated by commas. */
static bool find_scores(GPtrArray *kinds, const char *names, GError **error)
{
    g_auto(GStrv) split = text_list(names);
    for (char **name = split; *name; name++) {
        const ScoreKind *kind = score_find(*name);
        if (kind == NULL)
            return unknown_score(*name, error);
        const ScoreKind *first = kinds->len > 0 ? kinds->pdata[0] : kind;
        if (!read_alike(first, kind))
            return fail_user(error, "%s takes %s and %s takes %s: ask for them one after the other", first->name,
                             takes_names[first->takes], *name, takes_names[kind->takes]);
        g_ptr_array_add(kinds, (gpointer)kind);
    }
    return true;
}

/* ---- printing ---- */

/* Indexed by ScoreTakes: the end of the message about predictions that are invalid for a score. */
static const char *const invalid_names[] = { "too long or deep to be parsed, or their references are",
                                             "labels that no reference has", "no numbers, and count as -1",
                                             "no tags, and count as O", "none" };

static void print_lines(const ScoreKind *kind, const ScoreResult *result)
{
    for (int i = 0; i < result->n_values; i++) {
        const ScoreValue *value = &result->values[i];
        const char *name = i == 0 ? kind->name : "";
        const int over = MAX((int)strlen(name) - 13, 0); /* a long name uses some of the next column's width */
        g_autofree char *text = text_fixed(value->value, 4), *low = text_fixed(value->low, 4),
                        *high = text_fixed(value->high, 4);
        printf("%-13s %-*s %10s", name, 23 - over, value->name, text);
        if (!isnan(value->low))
            printf("   %s to %s", low, high);
        putchar('\n');
    }
    if (result->signature)
        printf("%-13s %s\n", "", result->signature);
}

static bool print_object(const ScoreKind *kind, const ScoreResult *result, GError **error)
{
    json_t *object = json_pack("{s:s, s:I, s:I}", "name", kind->name, "examples", (json_int_t)result->n_units,
                               "invalid", (json_int_t)result->n_invalid);
    for (int i = 0; i < result->n_values; i++)
        json_object_set_new(object, result->values[i].name, json_finite(result->values[i].value));
    json_t *intervals = result->intervals ? json_object() : NULL;
    for (int i = 0; intervals && i < result->n_values; i++)
        json_object_set_new(
            intervals, result->values[i].name,
            json_pack("[o, o]", json_finite(result->values[i].low), json_finite(result->values[i].high)));
    json_object_update_new(object, json_pack("{s:o*, s:s*}", "intervals", intervals, "signature", result->signature));
    return print_json_line(object, error);
}

bool print_score(const ScoreKind *kind, const ScoreResult *result, bool json, GError **error)
{
    bool good = true;
    if (json)
        good = print_object(kind, result, error);
    else
        print_lines(kind, result);
    if (result->n_invalid > 0)
        log_warning("%s: %" PRId64 " predictions are %s", kind->name, result->n_invalid, invalid_names[kind->takes]);
    return good;
}

static bool compute_score(const ScoreKind *kind, const ScoreInput *in, GError **error)
{
    g_auto(ScoreResult) result = { 0 };
    return score_compute(&result, kind, in, &options, error) && print_score(kind, &result, as_json, error);
}

static bool print_scores(const GPtrArray *kinds, const ScoreFiles *files, GError **error)
{
    ScoreExamples examples;
    bool good = score_read(&examples, files, ((const ScoreKind *)kinds->pdata[0])->takes, error);
    if (good && examples.n_unknown > 0)
        log_info("%s: %" PRId64 " lines have no right answer, and are not scored", files->predictions,
                 examples.n_unknown);
    for (guint i = 0; good && i < kinds->len; i++)
        good = compute_score(kinds->pdata[i], &examples.in, error);
    score_examples_clear(&examples);
    return good;
}

bool verb_scores(int argc, char **argv, GError **error)
{
    g_auto(GStrv) split = NULL;
    g_autoptr(GPtrArray) kinds = g_ptr_array_new();
    json_auto_t *settings = NULL;
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (list) {
        print_list();
        return true;
    }
    if (argc < 2)
        return fail_user(error, "say which scores and of what; usage: " USAGE);
    char **words = argv + (argc == 2 ? 1 : 2); /* PREDICTIONS and REFERENCES */
    if (words[1] == NULL && !score_read_settings(&settings, words[0], error))
        return false;
    take_score_settings(settings);
    const char *names = argc == 2 ? json_string_value(json_object_get(settings, "names")) : argv[1];
    if (names == NULL)
        return fail_user(error, "say which scores and of what: %s does not say it; usage: " USAGE, words[0]);
    ScoreFiles files = { .predictions = words[0], .references = (const char *const *)words + 1, .groups = groups };
    return read_options(&split, error) && find_scores(kinds, names, error) && print_scores(kinds, &files, error);
}
