/* ul2.c: UL2's mixture of denoisers (Tay et al. 2022, table 1): regular (R), sequential (S) and extreme (X) denoising.
 * The first token of the inputs, a mode token, says which of these three kinds of denoising the sample has. */
#include "base/check.h"
#include "data/objectives/objectives.h"

#include <inttypes.h>
#include <math.h>

/* The kinds of denoising (modes). The mode tokens [NLU] (R), [S2S] (S) and [NLG] (X) are the last three sentinels;
 * masked spans use the other sentinels. */
enum { UL2_REGULAR, UL2_SEQUENTIAL, UL2_EXTREME, UL2_MODES };

/* One denoiser of the mixture. */
typedef struct Denoiser {
    int mode;                /* UL2_REGULAR, UL2_SEQUENTIAL or UL2_EXTREME */
    double mean_span_length; /* average number of tokens per masked span; 0 means one span at the end of the text */
    double noise_density;    /* fraction of the tokens that is masked */
    double weight;           /* fraction of the samples that use this denoiser */
} Denoiser;

/* R, S and X get a third of the samples each. */
#define DENOISERS 7
static const Denoiser denoisers[DENOISERS] = {
    { UL2_REGULAR, 3, 0.15, 1.0 / 6 },  { UL2_REGULAR, 8, 0.15, 1.0 / 6 }, { UL2_SEQUENTIAL, 0, 0.25, 1.0 / 3 },
    { UL2_EXTREME, 3, 0.5, 1.0 / 12 },  { UL2_EXTREME, 8, 0.5, 1.0 / 12 }, { UL2_EXTREME, 64, 0.15, 1.0 / 12 },
    { UL2_EXTREME, 64, 0.5, 1.0 / 12 },
};

/* Masked spans of n tokens; spans and kept tokens alternate. */
static int64_t count_spans(const Denoiser *denoiser, int64_t n, int64_t noise)
{
    if (denoiser->mean_span_length == 0)
        return 1;
    return MIN(span_corruption_spans(noise, denoiser->mean_span_length), MAX(n, 2) - noise);
}

/* Lengths of inputs and targets of n tokens of text, mode token and EOS included. A text of one token is not masked. */
static void count_tokens(const Denoiser *denoiser, int64_t n, int64_t *n_inputs, int64_t *n_targets)
{
    int64_t noise = MIN(span_corruption_noise(n, denoiser->noise_density), n - 1);
    int64_t spans = noise > 0 ? count_spans(denoiser, n, noise) : 0;
    *n_inputs = 1 + n - noise + spans + 1;
    *n_targets = noise + MAX(spans, 1) + 1;
}

/* ---- packed sequences by groups ---- */

/* Packed sequences are filled by design, from groups of four consecutive samples: the first has targets about as long
 * as its inputs, the other three have short targets. Three kinds of groups hold every denoiser by its weight.
 * groups[g]: indices into denoisers. The texts' lengths are such that a group fills its part of both streams. */
enum { GROUP = 4, GROUPS = 3 };
static const int groups[GROUPS][GROUP] = { { 3, 1, 5, 2 }, { 4, 0, 0, 2 }, { 6, 1, 2, 2 } };

/* Tokens of text of the first sample of a group, and of each other sample; set if config->packed_samples > 0. */
typedef struct Ul2Plan {
    struct {
        int64_t first, other;
    } texts[GROUPS];
} Ul2Plan;

#define MIN_GROUP_INPUTS 48 /* below it texts would have fewer than a dozen tokens */

static void count_group(int group, int64_t first, int64_t other, int64_t *n_inputs, int64_t *n_targets)
{
    *n_inputs = *n_targets = 0;
    for (int i = 0; i < GROUP; i++) {
        int64_t inputs, targets;
        count_tokens(&denoisers[groups[group][i]], i == 0 ? first : other, &inputs, &targets);
        *n_inputs += inputs;
        *n_targets += targets;
    }
}

static void count_groups(int64_t n, int64_t *n_inputs, int64_t *n_targets)
{
    *n_inputs = *n_targets = 0;
    for (int group = 0; group < GROUPS; group++) {
        int64_t inputs, targets;
        count_group(group, n, n, &inputs, &targets);
        *n_inputs += inputs;
        *n_targets += targets;
    }
}

/* Finds the lengths of texts, none above `longest`, with which a group leaves least free of enc and dec tokens. */
static void fit_group(Ul2Plan *plan, int group, int64_t longest, int64_t enc, int64_t dec)
{
    int64_t other = longest, most = 0;
    for (int64_t first = 1; first <= longest; first++) {
        int64_t n_inputs, n_targets;
        count_group(group, first, other, &n_inputs, &n_targets);
        while (other > 1 && (n_inputs > enc || n_targets > dec))
            count_group(group, first, --other, &n_inputs, &n_targets);
        if (n_inputs <= enc && n_targets <= dec && n_inputs + n_targets > most) {
            most = n_inputs + n_targets;
            plan->texts[group].first = first;
            plan->texts[group].other = other;
        }
    }
}

/* Sets packed_samples, target_length, raw_length and the Ul2Plan; false if inputs are too short for groups. */
static bool plan_groups(ObjectiveConfig *config, int64_t longest)
{
    int64_t n_inputs, n_targets, n = longest, memory = config->memory_tokens;
    count_groups(longest, &n_inputs, &n_targets);
    int64_t group_inputs = n_inputs / GROUPS + GROUP * memory;
    int64_t in_packed = MAX(1, (config->input_length + memory + group_inputs - 1) / group_inputs);
    int64_t enc = (config->input_length + memory) / in_packed - GROUP * memory;
    if (enc < MIN_GROUP_INPUTS)
        return false;
    for (count_groups(n, &n_inputs, &n_targets); n_inputs > GROUPS * enc; count_groups(n, &n_inputs, &n_targets))
        n--;
    int64_t dec = (n_targets + GROUPS - 1) / GROUPS;
    Ul2Plan plan = { 0 };
    config->raw_length = 0;
    config->packed_samples = GROUP * in_packed;
    config->target_length = dec * in_packed;
    for (int group = 0; group < GROUPS; group++) {
        fit_group(&plan, group, longest, enc, dec);
        config->raw_length = MAX(config->raw_length, MAX(plan.texts[group].first, plan.texts[group].other));
    }
    config->own = objective_own(&plan, sizeof plan);
    return true;
}

/* Packed sequence r repeats group r mod 3. */
static int group_of(const ObjectiveConfig *config, int64_t sample)
{
    return (int)(sample / config->packed_samples % GROUPS);
}

static int64_t group_length(const Ul2Plan *plan, int group)
{
    return plan->texts[group].first + (GROUP - 1) * plan->texts[group].other;
}

static void cut_sample(const ObjectiveConfig *config, int64_t sample, int64_t *begin, int64_t *n)
{
    const Ul2Plan *plan = (const void *)&config->own;
    int group = group_of(config, sample);
    int64_t first = plan->texts[group].first, other = plan->texts[group].other, before = 0;
    int64_t slot = sample % config->packed_samples, in_packed = config->packed_samples / GROUP;
    for (int i = 0; i < GROUPS; i++) {
        int64_t packed = sample / config->packed_samples / GROUPS + (i < group);
        before += packed * in_packed * group_length(plan, i);
    }
    *n = slot % GROUP == 0 ? first : other;
    *begin = before + slot / GROUP * group_length(plan, group) +
             (slot % GROUP == 0 ? 0 : first + (slot % GROUP - 1) * other);
}

/* ---- the plan ---- */

/* The longest text that fits input_length with every denoiser, and with a sentinel for every span. */
static int64_t find_raw_length(const ObjectiveConfig *config)
{
    int64_t raw = config->input_length - 2;
    for (;; raw++)
        for (int i = 0; i < DENOISERS; i++) {
            const Denoiser *denoiser = &denoisers[i];
            int64_t n_inputs, n_targets, noise = span_corruption_noise(raw + 1, denoiser->noise_density);
            count_tokens(denoiser, raw + 1, &n_inputs, &n_targets);
            if (n_inputs > config->input_length || count_spans(denoiser, raw + 1, noise) > config->n_sentinels)
                return raw;
        }
}

/* The longest text with a sentinel for every span; at most input_length. */
static int64_t longest_text(const ObjectiveConfig *config)
{
    for (int64_t n = 2; n < config->input_length; n++)
        for (int i = 0; i < DENOISERS; i++) {
            const Denoiser *denoiser = &denoisers[i];
            if (count_spans(denoiser, n, span_corruption_noise(n, denoiser->noise_density)) > config->n_sentinels)
                return n - 1;
        }
    return config->input_length;
}

/* A target_length of 0 becomes that of the longest targets, or one that fills both streams alike if that is more. */
static bool plan_ul2(ObjectiveConfig *config, GError **error)
{
    config->n_sentinels = MIN(config->n_sentinels, TOKENIZER_SENTINELS) - UL2_MODES; /* modes are T5's last ones */
    if (config->input_length < 8 || config->n_sentinels < 1)
        return fail_user(error,
                         "data.objective=ul2 needs data.input_length of 8 or more, not %" PRId64
                         ", and a tokenizer with 4 sentinels or more",
                         config->input_length);
    int64_t text = longest_text(config), raw = find_raw_length(config), longest = 0;
    if (config->target_length == 0 && !config->alone &&
        plan_groups(config, config->raw_length > 0 ? MIN(config->raw_length, text) : text))
        return true;
    if (config->raw_length == 0 || config->raw_length > raw)
        config->raw_length = raw;
    double inputs = 0, targets = 0;
    for (int i = 0; i < DENOISERS; i++) {
        int64_t n_inputs, n_targets;
        count_tokens(&denoisers[i], config->raw_length, &n_inputs, &n_targets);
        longest = MAX(longest, n_targets);
        inputs += denoisers[i].weight * (double)n_inputs;
        targets += denoisers[i].weight * (double)n_targets;
    }
    if (config->target_length == 0)
        config->target_length = MAX(longest, (int64_t)ceil((double)config->input_length * targets / inputs));
    return config->target_length >= longest || fail_user(error,
                                                         "data.target_length=%" PRId64 " cannot hold the %" PRId64
                                                         " target tokens of ul2's longest denoiser; leave it out "
                                                         "or set it to %" PRId64,
                                                         config->target_length, longest, longest);
}

static void choose_denoiser(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    Philox rng = choice->rng;
    double u = philox_uniform(&rng);
    int64_t i = 0;
    CHECK(n > 0 && n <= config->raw_length, "%" PRId64 " tokens, at most %" PRId64, n, config->raw_length);
    while (i < DENOISERS - 1 && u >= denoisers[i].weight)
        u -= denoisers[i++].weight;
    if (config->packed_samples > 0)
        i = groups[group_of(config, choice->sample)][choice->sample % GROUP];
    choice->own = objective_own(&i, sizeof i);
    count_tokens(&denoisers[i], n, &choice->n_inputs, &choice->n_targets);
}

static void draw_mask(const Denoiser *denoiser, Philox *rng, int64_t n, bool *mask)
{
    int64_t kept = n - MIN(span_corruption_noise(n, denoiser->noise_density), n - 1);
    if (denoiser->mean_span_length > 0 && n > 1) {
        span_corruption_mask(rng, n, denoiser->noise_density, denoiser->mean_span_length, mask);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        mask[i] = i >= kept;
}

static void apply_ul2(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const Text *texts, Example *out)
{
    const Denoiser *denoiser = &denoisers[*(const int64_t *)(const void *)&choice->own];
    g_autofree bool *mask = g_new(bool, (gsize)texts->n);
    ObjectiveConfig after_mode = *config; /* the mode token is the first token of the inputs */
    Example rest = { .inputs = out->inputs + 1, .targets = out->targets };

    draw_mask(denoiser, rng, texts->n, mask);
    after_mode.input_length--;
    span_corruption_apply(&after_mode, mask, texts->tokens, texts->n, &rest);
    out->inputs[0] = objective_sentinel(config, config->n_sentinels + UL2_MODES - 1 - denoiser->mode);
    out->n_inputs = rest.n_inputs + 1;
    out->n_targets = rest.n_targets;
}

const Objective ul2_objective = { OBJECTIVE("ul2", STREAMS_BOTH, TEXT_CONCATENATED, 1),
                                  OBJECTIVE_STEPS(plan_ul2, choose_denoiser, apply_ul2), .cut = cut_sample };
