#include "data/objectives/objectives.h"

#include "base/check.h"

#include <inttypes.h>
#include <math.h>

/* Shares of the predicted tokens that stay unchanged or become a random token; the others become [MASK]. */
#define KEEP_SHARE   0.1
#define RANDOM_SHARE 0.1

/* A word of more tokens, such as a link or a gene, is hidden in parts of at least so many. */
#define LONGEST_WORD 16
#define PART_OF_WORD 3

const char *const sentence_pairs_names[] = {
    [PAIRS_NONE] = "none", [PAIRS_ORDER] = "order", [PAIRS_NEXT] = "next", NULL
};

#define AT(field) offsetof(MlmSettings, field)
static const OptionRow mlm_options[] = {
    { "data.whole_word", OPT_BOOL, AT(whole_word), "true", 0, 0, OPT_IDENTITY, NULL,
      "mlm: all pieces of a word are masked together" },
    { "data.max_ngram", OPT_I64, AT(max_ngram), "1", 1, 100, OPT_IDENTITY, NULL,
      "mlm: maximum words masked together; n words with a probability proportional to 1/n" },
    { "data.sentence_pairs", OPT_ENUM, AT(sentence_pairs), "none", 0, 0, OPT_IDENTITY, sentence_pairs_names,
      "mlm: sentence pairs with a label: order (SOP: half of the pairs are swapped) or next (NSP: half of the second "
      "parts are from another document)" },
    { "data.short_sequence_probability", OPT_F64, AT(short_sequence_probability), "0", 0, 1, OPT_IDENTITY, NULL,
      "mlm: fraction of samples cut to a random length; it is 0.1 in BERT" },
};
#undef AT

/* Random decisions for one sample, drawn before its tokens are read. */
typedef struct MlmChoice {
    int64_t n_text;   /* tokens of text */
    int64_t cut;      /* about how many of these are in the first half of a pair */
    bool random_next; /* the second half is from another document */
} MlmChoice;

const MlmSettings *mlm_settings(const ObjectiveConfig *config)
{
    return (const void *)&config->own;
}

/* [CLS] and [SEP] of a sample. */
static int64_t count_specials(const ObjectiveConfig *config)
{
    return mlm_settings(config)->sentence_pairs == PAIRS_NONE ? 2 : 3;
}

bool mlm_is_special(const ObjectiveConfig *config, int32_t id)
{
    return id == config->cls || id == config->sep;
}

static bool plan_mlm(ObjectiveConfig *config, GError **error)
{
    const MlmSettings *settings = mlm_settings(config);
    int64_t longest = config->input_length - count_specials(config);
    if (config->target_length != 0)
        return fail_user(error, "data.target_length=%" PRId64 ": data.objective=mlm predicts in place; leave it out",
                         config->target_length);
    if (longest < 2)
        return fail_user(error,
                         "data.input_length=%" PRId64 " leaves no text between the special tokens; use 5 or more",
                         config->input_length);
    if (config->raw_length == 0 || config->raw_length > longest)
        config->raw_length = longest;
    if (settings->sentence_pairs != PAIRS_NONE || settings->short_sequence_probability > 0)
        config->side = dataset_sentence_starts;
    config->takes_others = settings->sentence_pairs == PAIRS_NEXT;
    return config->raw_length >= 2 ||
           fail_user(error, "data.raw_length=%" PRId64 ": data.objective=mlm takes texts of 2 tokens or more",
                     config->raw_length);
}

static void choose_mlm(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    const MlmSettings *settings = mlm_settings(config);
    Philox rng = choice->rng;
    MlmChoice own = { .n_text = n };
    if (philox_uniform(&rng) < settings->short_sequence_probability) {
        int64_t drawn = 2 + (int64_t)philox_below(&rng, (uint64_t)config->raw_length - 1);
        own.n_text = MIN(n, drawn);
    }
    own.cut = 1 + (int64_t)philox_below(&rng, (uint64_t)own.n_text - 1);
    own.random_next = settings->sentence_pairs == PAIRS_NEXT && philox_below(&rng, 2) == 1;
    choice->n_inputs = own.n_text + count_specials(config);
    choice->other_tokens = own.random_next ? own.n_text - own.cut : 0;
    choice->own = objective_own(&own, sizeof own);
}

static PieceStart piece_start(const ObjectiveConfig *config, int32_t id)
{
    return config->piece_starts ? config->piece_starts[id] : PIECE_CHAR;
}

/* Whether a piece continues the word before it. */
static bool continues(const ObjectiveConfig *config, int32_t id)
{
    return config->continues && config->continues[id] && piece_start(config, id) != PIECE_UNSPACED;
}

/* ---- the text between its special tokens ---- */

static void append_masked(Example *out, int64_t *at, const int32_t *tokens, int64_t n, int32_t token_type)
{
    for (int64_t i = 0; i < n; i++, ++*at) {
        out->inputs[*at] = out->targets[*at] = tokens[i];
        out->token_types[*at] = token_type;
        out->weights[*at] = 0;
    }
}

void mlm_join(const ObjectiveConfig *config, Text a, Text b, Example *out)
{
    bool pair = mlm_settings(config)->sentence_pairs != PAIRS_NONE;
    int64_t n = 0;
    example_begin(out, a.n + 2 + (pair ? b.n + 1 : 0));
    append_masked(out, &n, &config->cls, 1, 0);
    append_masked(out, &n, a.tokens, a.n, 0);
    append_masked(out, &n, &config->sep, 1, 0);
    if (pair) {
        append_masked(out, &n, b.tokens, b.n, 1);
        append_masked(out, &n, &config->sep, 1, 1);
    }
}

/* *starts becomes the indices of tokens that start a sentence, except the first sentence; returns their number. */
static int64_t sentence_starts(const Text *text, const int64_t **starts)
{
    *starts = text->side;
    return (int64_t)(text->side_bytes / sizeof **starts);
}

/* The index of the last token at or before `at` that starts a sentence or, if the text is one sentence, a word. */
static int64_t start_before(const ObjectiveConfig *config, const Text *text, int64_t at)
{
    const int64_t *sentences;
    int64_t n = sentence_starts(text, &sentences), start = 0;
    for (int64_t i = 0; i < n && sentences[i] <= at; i++)
        start = sentences[i];
    if (n > 0)
        return start;
    for (start = at; start > 0 && continues(config, text->tokens[start]);)
        start--;
    return start;
}

/* An index near `at` where tokens [first, end) of a text can be cut in two non-empty parts. */
static int64_t find_cut(const ObjectiveConfig *config, const Text *text, int64_t first, int64_t end, int64_t at)
{
    const int64_t *sentences;
    int64_t n = sentence_starts(text, &sentences), start = start_before(config, text, at);
    for (int64_t i = 0; i < n && start <= first; i++)
        start = sentences[i];
    return start > first && start < end ? start : at;
}

static Text part(const Text *text, int64_t first, int64_t end)
{
    return (Text){ .tokens = text->tokens + first, .n = end - first };
}

/* Builds the input. A sample that is shorter than its chunk starts at a random token of it. With random_next, the
 * second half is the end of another document's chunk. */
static void build_inputs(const ObjectiveConfig *config, const MlmChoice *choice, Philox *rng, const Text *texts,
                         Example *out)
{
    const int pairs = mlm_settings(config)->sentence_pairs;
    int64_t spare = texts->n - choice->n_text, first = 0;
    if (spare > 0)
        first = start_before(config, texts, (int64_t)philox_below(rng, (uint64_t)spare + 1));
    int64_t end = first + choice->n_text;
    int64_t cut = pairs == PAIRS_NONE ? end : find_cut(config, texts, first, end, first + choice->cut);
    Text a = part(texts, first, cut), b = part(texts, cut, end);
    bool swapped = pairs == PAIRS_ORDER && philox_below(rng, 2) == 1;
    if (choice->random_next) {
        const Text *other = &texts[1];
        int64_t n = MIN(b.n, other->n), start = start_before(config, other, other->n - n);
        b = part(other, start, start + n);
    }
    mlm_join(config, swapped ? b : a, swapped ? a : b, out);
    if (pairs != PAIRS_NONE)
        out->label = swapped || choice->random_next;
}

/* ---- masks ---- */

/* The end of the word that starts at token `at`. */
static int64_t word_end(const ObjectiveConfig *config, const Example *out, int64_t at)
{
    const bool whole_word = mlm_settings(config)->whole_word;
    while (++at < out->n_inputs && whole_word && continues(config, out->inputs[at]))
        if (mlm_is_special(config, out->inputs[at]))
            break;
    return at;
}

/* The words of an example: word w is tokens [starts[w], ends[w]); special tokens are part of none. One of more than
 * LONGEST_WORD tokens, maybe longer than the budget, is cut between characters. Returns their number. */
static int64_t find_words(const ObjectiveConfig *config, const Example *out, int64_t *starts, int64_t *ends)
{
    int64_t words = 0;
    for (int64_t i = 0, end; i < out->n_inputs; i = end) {
        const bool special = mlm_is_special(config, out->inputs[i]);
        end = special ? i + 1 : word_end(config, out, i);
        const int64_t most = end - i > LONGEST_WORD ? PART_OF_WORD : end - i;
        for (int64_t stop; !special && i < end; i = stop) {
            for (stop = MIN(i + most, end); stop < end && piece_start(config, out->inputs[stop]) == PIECE_INSIDE;)
                stop++;
            starts[words] = i;
            ends[words++] = stop;
        }
    }
    return words;
}

/* Draws n of 1 … max_ngram with probability proportional to 1/n. */
static int64_t draw_ngram(int64_t max_ngram, Philox *rng)
{
    double total = 0;
    for (int64_t n = 1; n <= max_ngram; n++)
        total += 1 / (double)n;
    double u = philox_uniform(rng) * total;
    for (int64_t n = 1; n < max_ngram; n++) {
        if (u < 1 / (double)n)
            return n;
        u -= 1 / (double)n;
    }
    return max_ngram;
}

static void hide(const ObjectiveConfig *config, Philox *rng, Example *out, int64_t at)
{
    double u = philox_uniform(rng);
    int32_t any = (int32_t)philox_below(rng, (uint64_t)(config->vocab - config->n_appended));
    out->weights[at] = 1;
    if (u >= KEEP_SHARE + RANDOM_SHARE)
        out->inputs[at] = config->mask;
    else if (u >= KEEP_SHARE)
        out->inputs[at] = any;
}

/* Hides n-grams of words that start at random words until `budget` tokens are hidden. An n-gram that exceeds the budget
 * loses its last words; one that meets a hidden word is left out. */
static void hide_ngrams(const ObjectiveConfig *config, Philox *rng, Example *out, int64_t budget)
{
    const int64_t max_ngram = mlm_settings(config)->max_ngram;
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
        int64_t first = order[i], drawn = draw_ngram(max_ngram, rng), n = MIN(drawn, words - first);
        while (n > 0 && hidden + ends[first + n - 1] - starts[first] > budget)
            n--;
        bool taken = n == 0;
        for (int64_t word = first; word < first + n; word++)
            taken |= out->weights[starts[word]] > 0;
        for (int64_t word = first; !taken && word < first + n; word++)
            for (int64_t at = starts[word]; at < ends[word]; at++, hidden++)
                hide(config, rng, out, at);
    }
    if (hidden == 0 && words > 0) /* if every word is longer than the budget, the first token of one word is hidden */
        hide(config, rng, out, starts[order[0]]);
}

static void apply_mlm(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const Text *texts, Example *out)
{
    const MlmChoice *own = (const void *)&choice->own;
    CHECK(texts->n >= own->n_text && texts->n <= config->raw_length,
          "%" PRId64 " tokens of %" PRId64 ", at most %" PRId64, own->n_text, texts->n, config->raw_length);
    CHECK(!own->random_next || texts[1].n > 0, "no text of another document");
    build_inputs(config, own, rng, texts, out);
    int64_t n_text = out->n_inputs - count_specials(config);
    hide_ngrams(config, rng, out, MAX(1, (int64_t)rint((double)n_text * config->noise_density)));
}

const Objective mlm_objective = { OBJECTIVE("mlm", STREAMS_ENCODER, TEXT_DOCUMENTS, 2), OBJECTIVE_OPTIONS(mlm_options),
                                  OBJECTIVE_STEPS(plan_mlm, choose_mlm, apply_mlm) };
