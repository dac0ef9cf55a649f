/* iid_denoising.c: denoising with independent masking: every token is masked independently with probability
 * noise_density; each run of consecutive masked tokens is replaced by one sentinel, as in span corruption. */
#include "data/objectives/objectives.h"

#include <inttypes.h>
#include <math.h>

/* Capacity is planned for this many standard deviations above the mean: sentinels of a text; targets of a packed
 * sequence with one text; inputs of a packed sequence. */
#define SENTINEL_DEVIATIONS 4
#define TARGET_DEVIATIONS   5
#define INPUT_DEVIATIONS    0.5
#define SLACK               0.01 /* fraction of a packed sequence that is not planned for if it has more than two texts */

/* Means over masks of n tokens, each of which but the first is masked with probability p: runs of masked tokens, tokens
 * of the inputs, tokens of the targets. */
static double mean_runs(double n, double p)
{
    return p + (n - 2) * p * (1 - p);
}

static double mean_inputs(double n, double p)
{
    return n - (n - 1) * p + mean_runs(n, p) + 1;
}

static double mean_targets(double n, double p)
{
    return (n - 1) * p + mean_runs(n, p) + (1 - p) + 1;
}

/* Standard deviation of the input length: neighbouring masked tokens share a sentinel, so the input is shorter. */
static double input_deviation(double n, double p)
{
    return sqrt(n * p * p * (1 - p * p + 2 * p * (1 - p)));
}

/* The longest text that seldom needs more sentinels than there are, and of which `texts` texts fit one packed sequence;
 * texts 0 means that only the sentinels limit the length. */
static int64_t longest_text(const ObjectiveConfig *config, int64_t texts)
{
    double p = config->noise_density, many = (double)texts;
    double memory = (double)config->memory_tokens;
    double room = ((double)config->input_length + memory) * (texts > 2 ? 1 - SLACK : 1);
    int64_t n = 2;
    while (n < config->input_length - 1) {
        double next = (double)(n + 1), runs = mean_runs(next, p);
        double inputs =
            many * (mean_inputs(next, p) + memory) + INPUT_DEVIATIONS * sqrt(many) * input_deviation(next, p);
        if (inputs > room || runs + SENTINEL_DEVIATIONS * sqrt(runs) > config->n_sentinels)
            break;
        n++;
    }
    return n;
}

/* Plans lengths such that two texts share a packed sequence, or more if texts must be shorter because there are few
 * sentinels. The target capacity is the sum of their mean lengths, since a text with more targets than the mean is
 * packed with one that has fewer. */
static bool plan_iid(ObjectiveConfig *config, GError **error)
{
    double p = config->noise_density, memory = (double)config->memory_tokens;
    double room = (double)config->input_length + memory;
    if (config->raw_length == 0) {
        double alone = mean_inputs((double)longest_text(config, 0), p) + memory;
        config->raw_length = longest_text(config, MAX(2, (int64_t)ceil(room / alone)));
    }
    config->raw_length = MIN(config->raw_length, config->input_length - 1);
    double n = (double)config->raw_length, targets = mean_targets(n, p);
    int64_t texts = MAX(1, (int64_t)(room / (mean_inputs(n, p) + memory)));
    if (config->target_length == 0)
        config->target_length =
            (int64_t)ceil(texts > 1 ? (double)texts * targets * (texts > 2 ? 1 + SLACK : 1)
                                    : MIN(targets + TARGET_DEVIATIONS * 2 * sqrt(n * p * (1 - p)), 2 * n + 1));
    if (config->target_length < 3)
        return fail_user(
            error, "data.target_length=%" PRId64 " cannot hold a masked token, its sentinel and EOS; use 3 or more",
            config->target_length);
    return true;
}

typedef struct Runs {
    int64_t noise;               /* masked tokens */
    int64_t n_inputs, n_targets; /* sentinels in the inputs and in the targets */
} Runs;

/* Draws the mask from left to right, until no sentinel is left or the targets are full. The first token is never
 * masked, so that inputs and targets use the same sentinels; a text whose last token is kept has one more sentinel at
 * the end of its targets. */
static Runs draw_mask(const ObjectiveConfig *config, Philox rng, int64_t n, bool *mask)
{
    double log_kept = log1p(-config->noise_density);
    int64_t last = -1;
    Runs runs = { 0 };
    for (int64_t i = 0; i < n; i++)
        mask[i] = false;
    for (int64_t i = 1; i < n; i++) { /* the gap to the next masked token has a geometric distribution */
        double gap = floor(log1p(-philox_uniform(&rng)) / log_kept);
        if (gap >= (double)(n - i))
            break;
        i += (int64_t)gap;
        bool opens = i != last + 1 || last < 0;
        if (runs.n_inputs + opens + 1 > config->n_sentinels ||
            runs.noise + runs.n_inputs + opens + 3 > config->target_length)
            break;
        mask[i] = true;
        runs.n_inputs += opens;
        runs.noise++;
        last = i;
    }
    runs.n_targets = runs.n_inputs + !mask[n - 1];
    return runs;
}

static void choose_mask(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    g_autofree bool *mask = g_new(bool, (gsize)n);
    Runs runs = draw_mask(config, choice->rng, n, mask);
    choice->n_inputs = n - runs.noise + runs.n_inputs + 1;
    choice->n_targets = runs.noise + runs.n_targets + 1;
}

/* Draws the mask a second time from the same random numbers. */
static void apply_iid(const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng, const Text *texts,
                      Example *out)
{
    g_autofree bool *mask = g_new(bool, (gsize)texts->n);
    draw_mask(config, choice->rng, texts->n, mask);
    span_corruption_apply(config, mask, texts->tokens, texts->n, out);
}

const Objective iid_denoising_objective = { OBJECTIVE("iid_denoising", STREAMS_BOTH, TEXT_CONCATENATED, 1),
                                            OBJECTIVE_STEPS(plan_iid, choose_mask, apply_iid) };
