#include "data/mlm.h"

#include "base/check.h"

#include <math.h>
#include <string.h>

/* Of the tokens that are predicted, these stay as they are or become any token; the rest become [MASK]. */
#define KEEP_SHARE   0.1
#define RANDOM_SHARE 0.1

static int64_t count_specials(const ObjectiveConfig *config)
{
    return config->sentence_order ? 3 : 2;
}

bool mlm_plan(ObjectiveConfig *config, GError **error)
{
    int64_t longest = config->input_length - count_specials(config);
    if (config->target_length != 0)
        return fail_user(error, "data.target_length=%ld: data.objective=mlm predicts in place; leave it out",
                         config->target_length);
    if (longest < 2)
        return fail_user(error, "data.input_length=%ld leaves no text between the special tokens; use 5 or more",
                         config->input_length);
    if (config->raw_length == 0 || config->raw_length > longest)
        config->raw_length = longest;
    return true;
}

void mlm_choose(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    choice->n_inputs = n + count_specials(config);
}

static bool continues(const ObjectiveConfig *config, int32_t id)
{
    return config->continues && config->continues[id];
}

/* ---- the text between its special tokens ---- */

static void append(Example *out, const int32_t *tokens, int64_t n, int32_t segment)
{
    for (int64_t i = 0; i < n; i++, out->n_inputs++) {
        out->inputs[out->n_inputs] = tokens[i];
        out->segment[out->n_inputs] = segment;
    }
}

/* The start of a word near a random place, so that neither half is empty. */
static int64_t find_cut(const ObjectiveConfig *config, Philox *rng, const int32_t *tokens, int64_t n)
{
    int64_t drawn = 1 + (int64_t)philox_below(rng, (uint64_t)(n - 1)), cut = drawn;
    while (cut > 1 && continues(config, tokens[cut]))
        cut--;
    return continues(config, tokens[cut]) ? drawn : cut;
}

static void build_inputs(const ObjectiveConfig *config, Philox *rng, const int32_t *tokens, int64_t n, Example *out)
{
    out->n_inputs = 0;
    out->label = -1;
    append(out, &config->cls, 1, 0);
    if (config->sentence_order) {
        int64_t cut = find_cut(config, rng, tokens, n);
        bool swapped = philox_below(rng, 2) == 1;
        append(out, swapped ? tokens + cut : tokens, swapped ? n - cut : cut, 0);
        append(out, &config->sep, 1, 0);
        append(out, swapped ? tokens : tokens + cut, swapped ? cut : n - cut, 1);
        out->label = swapped;
    } else {
        append(out, tokens, n, 0);
    }
    append(out, &config->sep, 1, config->sentence_order);
    out->n_targets = out->n_inputs;
    for (int64_t i = 0; i < out->n_inputs; i++) {
        out->targets[i] = out->inputs[i];
        out->weights[i] = 0;
        out->place[i] = (int32_t)i;
        out->begins[i] = i == 0;
    }
}

/* ---- what is predicted ---- */

/* Words as runs of tokens: word w is rows [starts[w], starts[w + 1]) and no special token. Returns their number. */
static int64_t find_words(const ObjectiveConfig *config, const Example *out, int64_t *starts, int64_t *ends)
{
    int64_t words = 0;
    bool inside = false;
    for (int64_t i = 0; i < out->n_inputs; i++) {
        int32_t id = out->inputs[i];
        bool special = id == config->cls || id == config->sep;
        if (!special && !(inside && config->whole_word && continues(config, id)))
            starts[words++] = i;
        if (!special)
            ends[words - 1] = i + 1;
        inside = !special;
    }
    return words;
}

/* 1 … max_ngram words with p(n) proportional to 1/n. */
static int64_t draw_ngram(const ObjectiveConfig *config, Philox *rng)
{
    double total = 0;
    for (int64_t n = 1; n <= config->max_ngram; n++)
        total += 1 / (double)n;
    double u = philox_uniform(rng) * total;
    for (int64_t n = 1; n < config->max_ngram; n++) {
        if (u < 1 / (double)n)
            return n;
        u -= 1 / (double)n;
    }
    return config->max_ngram;
}

static void hide(const ObjectiveConfig *config, Philox *rng, Example *out, int64_t row)
{
    double u = philox_uniform(rng);
    int32_t any = (int32_t)philox_below(rng, (uint64_t)config->vocab);
    out->weights[row] = 1;
    if (u >= KEEP_SHARE + RANDOM_SHARE)
        out->inputs[row] = config->mask;
    else if (u >= KEEP_SHARE)
        out->inputs[row] = any;
}

/* Hides n-grams of words from random places until `budget` tokens are hidden; one that is too long loses its last
 * words. */
static void hide_ngrams(const ObjectiveConfig *config, Philox *rng, Example *out, int64_t budget)
{
    g_autofree int64_t *starts = g_new(int64_t, (gsize)out->n_inputs);
    g_autofree int64_t *ends = g_new(int64_t, (gsize)out->n_inputs);
    g_autofree int64_t *order = g_new(int64_t, (gsize)out->n_inputs);
    int64_t words = find_words(config, out, starts, ends), hidden = 0;
    for (int64_t i = 0; i < words; i++) {
        int64_t j = (int64_t)philox_below(rng, (uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int64_t i = 0; i < words && hidden < budget; i++) {
        int64_t first = order[i], drawn = draw_ngram(config, rng), n = MIN(drawn, words - first);
        while (n > 0 && hidden + ends[first + n - 1] - starts[first] > budget)
            n--;
        bool taken = n == 0;
        for (int64_t word = first; word < first + n; word++)
            taken |= out->weights[starts[word]] > 0;
        for (int64_t word = first; !taken && word < first + n; word++)
            for (int64_t row = starts[word]; row < ends[word]; row++, hidden++)
                hide(config, rng, out, row);
    }
    if (hidden == 0) /* every word is longer than the budget: the first token of one stands for it */
        hide(config, rng, out, starts[order[0]]);
}

void mlm_example(const ObjectiveConfig *config, G_GNUC_UNUSED const Choice *choice, Philox *rng, const int32_t *tokens,
                 int64_t n, Example *out)
{
    CHECK(n >= 2 && n <= config->raw_length, "%ld tokens, at most %ld", n, config->raw_length);
    build_inputs(config, rng, tokens, n, out);
    hide_ngrams(config, rng, out, MAX(1, (int64_t)rint((double)n * config->noise_density)));
}
