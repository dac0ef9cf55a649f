#include "data/objectives/mlm.h"

#include "base/check.h"

#include <inttypes.h>
#include <math.h>

/* Of the tokens that are predicted, these stay as they are or become any token; the rest become [MASK]. */
#define KEEP_SHARE   0.1
#define RANDOM_SHARE 0.1

int64_t mlm_specials(const ObjectiveConfig *config)
{
    return config->sentence_pairs == PAIRS_NONE ? 2 : 3;
}

bool mlm_is_special(const ObjectiveConfig *config, int32_t id)
{
    return id == config->cls || id == config->sep;
}

bool mlm_plan(ObjectiveConfig *config, GError **error)
{
    int64_t longest = config->input_length - mlm_specials(config);
    if (config->target_length != 0)
        return fail_user(error, "data.target_length=%" PRId64 ": data.objective=mlm predicts in place; leave it out",
                         config->target_length);
    if (longest < 2)
        return fail_user(error,
                         "data.input_length=%" PRId64 " leaves no text between the special tokens; use 5 or more",
                         config->input_length);
    if (config->raw_length == 0 || config->raw_length > longest)
        config->raw_length = longest;
    return config->raw_length >= 2 ||
           fail_user(error, "data.raw_length=%" PRId64 ": data.objective=mlm takes texts of 2 tokens or more",
                     config->raw_length);
}

void mlm_choose(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    Philox rng = choice->rng;
    choice->n_text = n;
    if (philox_uniform(&rng) < config->short_sequence_probability) {
        int64_t drawn = 2 + (int64_t)philox_below(&rng, (uint64_t)config->raw_length - 1);
        choice->n_text = MIN(n, drawn);
    }
    choice->cut = 1 + (int64_t)philox_below(&rng, (uint64_t)choice->n_text - 1);
    choice->strange = config->sentence_pairs == PAIRS_NEXT && philox_below(&rng, 2) == 1;
    choice->n_inputs = choice->n_text + mlm_specials(config);
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
        out->token_types[out->n_inputs] = segment;
    }
}

void mlm_join(const ObjectiveConfig *config, Text a, Text b, Example *out)
{
    out->n_inputs = 0;
    out->label = -1;
    append(out, &config->cls, 1, 0);
    append(out, a.tokens, a.n, 0);
    append(out, &config->sep, 1, 0);
    if (config->sentence_pairs != PAIRS_NONE) {
        append(out, b.tokens, b.n, 1);
        append(out, &config->sep, 1, 1);
    }
    out->n_targets = out->n_inputs;
    for (int64_t i = 0; i < out->n_inputs; i++) {
        out->targets[i] = out->inputs[i];
        out->weights[i] = 0;
        out->position_ids[i] = (int32_t)i;
        out->starts_sequence[i] = i == 0;
    }
}

/* The last place up to `at` where a sentence begins or, in a text of one, a word. */
static int64_t begin_before(const ObjectiveConfig *config, Text text, int64_t at)
{
    int64_t begin = 0;
    for (int64_t i = 0; i < text.n_sentences && text.sentences[i] <= at; i++)
        begin = text.sentences[i];
    if (text.n_sentences > 0)
        return begin;
    for (begin = at; begin > 0 && continues(config, text.tokens[begin]);)
        begin--;
    return begin;
}

/* A place near `at` to cut tokens [first, end) of a text: neither part is empty. */
static int64_t find_cut(const ObjectiveConfig *config, Text text, int64_t first, int64_t end, int64_t at)
{
    int64_t begin = begin_before(config, text, at);
    for (int64_t i = 0; i < text.n_sentences && begin <= first; i++)
        begin = text.sentences[i];
    return begin > first && begin < end ? begin : at;
}

static Text part(Text text, int64_t first, int64_t end)
{
    return (Text){ .tokens = text.tokens + first, .n = end - first };
}

/* A sample shorter than its text begins anywhere in it. The end of another text stands for what would follow. */
static void build_inputs(const ObjectiveConfig *config, const Choice *choice, Philox *rng, Text text, Example *out)
{
    int64_t spare = text.n - choice->n_text, first = 0;
    if (spare > 0)
        first = begin_before(config, text, (int64_t)philox_below(rng, (uint64_t)spare + 1));
    int64_t end = first + choice->n_text;
    int64_t cut = config->sentence_pairs == PAIRS_NONE ? end : find_cut(config, text, first, end, first + choice->cut);
    Text a = part(text, first, cut), b = part(text, cut, end);
    bool swapped = config->sentence_pairs == PAIRS_ORDER && philox_below(rng, 2) == 1;
    if (choice->strange) {
        int64_t n = MIN(b.n, choice->other.n), begin = begin_before(config, choice->other, choice->other.n - n);
        b = part(choice->other, begin, begin + n);
    }
    mlm_join(config, swapped ? b : a, swapped ? a : b, out);
    if (config->sentence_pairs != PAIRS_NONE)
        out->label = swapped || choice->strange;
}

/* ---- what is predicted ---- */

/* Words as runs of tokens: word w is rows [starts[w], starts[w + 1]) and no special token. Returns their number. */
static int64_t find_words(const ObjectiveConfig *config, const Example *out, int64_t *starts, int64_t *ends)
{
    int64_t words = 0;
    bool inside = false;
    for (int64_t i = 0; i < out->n_inputs; i++) {
        int32_t id = out->inputs[i];
        bool special = mlm_is_special(config, id);
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
 * words. A text of special tokens alone has no word to hide. */
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
    if (hidden == 0 && words > 0) /* every word is longer than the budget: the first token of one stands for it */
        hide(config, rng, out, starts[order[0]]);
}

void mlm_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens, int64_t n,
                 Example *out)
{
    CHECK(n >= choice->n_text && n <= config->raw_length, "%" PRId64 " tokens of %" PRId64 ", at most %" PRId64,
          choice->n_text, n, config->raw_length);
    CHECK(!choice->strange || choice->other.n > 0, "no other text");
    Text text = { tokens, n, choice->text.sentences, choice->text.n_sentences };
    build_inputs(config, choice, rng, text, out);
    int64_t n_text = out->n_inputs - mlm_specials(config);
    hide_ngrams(config, rng, out, MAX(1, (int64_t)rint((double)n_text * config->noise_density)));
}
