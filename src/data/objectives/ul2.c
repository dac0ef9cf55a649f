#include "data/objectives/ul2.h"

#include "base/check.h"
#include "data/objectives/span_corruption.h"

#include <inttypes.h>
#include <math.h>

/* A third of the samples each: R, S, X. */
const Ul2Denoiser ul2_denoisers[UL2_DENOISERS] = {
    { UL2_REGULAR, 3, 0.15, 1.0 / 6 },  { UL2_REGULAR, 8, 0.15, 1.0 / 6 }, { UL2_SEQUENTIAL, 0, 0.25, 1.0 / 3 },
    { UL2_EXTREME, 3, 0.5, 1.0 / 12 },  { UL2_EXTREME, 8, 0.5, 1.0 / 12 }, { UL2_EXTREME, 64, 0.15, 1.0 / 12 },
    { UL2_EXTREME, 64, 0.5, 1.0 / 12 },
};

int32_t ul2_mode_token(const ObjectiveConfig *config, int mode)
{
    return objective_sentinel(config, config->n_sentinels + UL2_MODES - 1 - mode);
}

/* Spans of n tokens: as many as the mask has, whose spans and non-noise tokens alternate. */
static int64_t count_spans(const Ul2Denoiser *denoiser, int64_t n, int64_t noise)
{
    if (denoiser->mean_span_length == 0)
        return 1;
    return MIN(span_corruption_spans(noise, denoiser->mean_span_length), MAX(n, 2) - noise);
}

/* Of n tokens, mode token and EOS included. A single token is never masked away: it is its own input. */
static void count_tokens(const Ul2Denoiser *denoiser, int64_t n, int64_t *n_inputs, int64_t *n_targets)
{
    int64_t noise = MIN(span_corruption_noise(n, denoiser->noise_density), n - 1);
    int64_t spans = noise > 0 ? count_spans(denoiser, n, noise) : 0;
    *n_inputs = 1 + n - noise + spans + 1;
    *n_targets = noise + MAX(spans, 1) + 1;
}

/* ---- rows ---- */

/* Rows are filled by design: a group of four samples has one whose targets are as long as its inputs, and three of
 * which they are short; three groups hold every denoiser by its share of twelve. The texts are so long that a group
 * fills its part of either stream. */
enum { GROUP = 4, GROUPS = 3 };
static const int groups[GROUPS][GROUP] = { { 3, 1, 5, 2 }, { 4, 0, 0, 2 }, { 6, 1, 2, 2 } };

#define MIN_GROUP_INPUTS 48 /* for texts of a dozen tokens */

static void count_group(int group, int64_t first, int64_t other, int64_t *n_inputs, int64_t *n_targets)
{
    *n_inputs = *n_targets = 0;
    for (int i = 0; i < GROUP; i++) {
        int64_t inputs, targets;
        count_tokens(&ul2_denoisers[groups[group][i]], i == 0 ? first : other, &inputs, &targets);
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

/* The texts, none above `longest`, that leave least of both streams free. */
static void fit_group(ObjectiveConfig *config, int group, int64_t longest, int64_t enc, int64_t dec)
{
    int64_t other = longest, most = 0;
    for (int64_t first = 1; first <= longest; first++) {
        int64_t n_inputs, n_targets;
        count_group(group, first, other, &n_inputs, &n_targets);
        while (other > 1 && (n_inputs > enc || n_targets > dec))
            count_group(group, first, --other, &n_inputs, &n_targets);
        if (n_inputs <= enc && n_targets <= dec && n_inputs + n_targets > most) {
            most = n_inputs + n_targets;
            config->tiles[group].first = first;
            config->tiles[group].other = other;
        }
    }
}

/* Fills in row_samples, target_length, raw_length and tiles; false where inputs are too short for that. */
static bool plan_tiles(ObjectiveConfig *config, int64_t longest)
{
    int64_t n_inputs, n_targets, n = longest, memory = config->memory_rows;
    count_groups(longest, &n_inputs, &n_targets);
    int64_t group_inputs = n_inputs / GROUPS + GROUP * memory;
    int64_t in_row = MAX(1, (config->input_length + memory + group_inputs - 1) / group_inputs);
    int64_t enc = (config->input_length + memory) / in_row - GROUP * memory;
    if (enc < MIN_GROUP_INPUTS)
        return false;
    for (count_groups(n, &n_inputs, &n_targets); n_inputs > GROUPS * enc; count_groups(n, &n_inputs, &n_targets))
        n--;
    int64_t dec = (n_targets + GROUPS - 1) / GROUPS;
    config->raw_length = 0;
    config->row_samples = GROUP * in_row;
    config->target_length = dec * in_row;
    for (int group = 0; group < GROUPS; group++) {
        fit_group(config, group, longest, enc, dec);
        config->raw_length = MAX(config->raw_length, MAX(config->tiles[group].first, config->tiles[group].other));
    }
    return true;
}

/* The place of a sample among the groups of its row, and the denoisers of the row. */
static int row_group(const ObjectiveConfig *config, int64_t sample)
{
    return (int)(sample / config->row_samples % GROUPS);
}

static int64_t group_length(const ObjectiveConfig *config, int group)
{
    return config->tiles[group].first + (GROUP - 1) * config->tiles[group].other;
}

/* Row r repeats group r mod 3. */
void ul2_cut(const ObjectiveConfig *config, int64_t sample, int64_t *begin, int64_t *n)
{
    int group = row_group(config, sample);
    int64_t first = config->tiles[group].first, other = config->tiles[group].other, rows = 0;
    int64_t slot = sample % config->row_samples, in_row = config->row_samples / GROUP;
    for (int i = 0; i < GROUPS; i++) {
        int64_t before = sample / config->row_samples / GROUPS + (i < group);
        rows += before * in_row * group_length(config, i);
    }
    *n = slot % GROUP == 0 ? first : other;
    *begin = rows + slot / GROUP * group_length(config, group) +
             (slot % GROUP == 0 ? 0 : first + (slot % GROUP - 1) * other);
}

/* ---- the plan ---- */

/* The largest text that every denoiser can take. */
static int64_t find_raw_length(const ObjectiveConfig *config)
{
    int64_t raw = config->input_length - 2;
    for (;; raw++)
        for (int i = 0; i < UL2_DENOISERS; i++) {
            const Ul2Denoiser *denoiser = &ul2_denoisers[i];
            int64_t n_inputs, n_targets, noise = span_corruption_noise(raw + 1, denoiser->noise_density);
            count_tokens(denoiser, raw + 1, &n_inputs, &n_targets);
            if (n_inputs > config->input_length || count_spans(denoiser, raw + 1, noise) > config->n_sentinels)
                return raw;
        }
}

/* The longest text with a sentinel for every span; no longer than inputs. */
static int64_t longest_text(const ObjectiveConfig *config)
{
    for (int64_t n = 2; n < config->input_length; n++)
        for (int i = 0; i < UL2_DENOISERS; i++) {
            const Ul2Denoiser *denoiser = &ul2_denoisers[i];
            if (count_spans(denoiser, n, span_corruption_noise(n, denoiser->noise_density)) > config->n_sentinels)
                return n - 1;
        }
    return config->input_length;
}

/* target_length: what the longest targets take, or what keeps both streams equally full where that is more. */
bool ul2_plan(ObjectiveConfig *config, GError **error)
{
    config->n_sentinels -= UL2_MODES;
    if (config->input_length < 8 || config->n_sentinels < 1)
        return fail_user(error,
                         "data.objective=ul2 needs data.input_length of 8 or more, not %" PRId64
                         ", and a tokenizer with "
                         "4 sentinels or more",
                         config->input_length);
    int64_t text = longest_text(config), raw = find_raw_length(config), longest = 0;
    if (config->target_length == 0 && plan_tiles(config, config->raw_length > 0 ? MIN(config->raw_length, text) : text))
        return true;
    if (config->raw_length == 0 || config->raw_length > raw)
        config->raw_length = raw;
    double inputs = 0, targets = 0;
    for (int i = 0; i < UL2_DENOISERS; i++) {
        int64_t n_inputs, n_targets;
        count_tokens(&ul2_denoisers[i], config->raw_length, &n_inputs, &n_targets);
        longest = MAX(longest, n_targets);
        inputs += ul2_denoisers[i].weight * (double)n_inputs;
        targets += ul2_denoisers[i].weight * (double)n_targets;
    }
    if (config->target_length == 0)
        config->target_length = MAX(longest, (int64_t)ceil((double)config->input_length * targets / inputs));
    return config->target_length >= longest || fail_user(error,
                                                         "data.target_length=%" PRId64 " cannot hold the %" PRId64
                                                         " target tokens of ul2's longest denoiser; leave it out "
                                                         "or set it to %" PRId64,
                                                         config->target_length, longest, longest);
}

void ul2_choose(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    Philox rng = choice->rng;
    double u = philox_uniform(&rng);
    int i = 0;
    CHECK(n > 0 && n <= config->raw_length, "%" PRId64 " tokens, at most %" PRId64, n, config->raw_length);
    while (i < UL2_DENOISERS - 1 && u >= ul2_denoisers[i].weight)
        u -= ul2_denoisers[i++].weight;
    if (config->row_samples > 0)
        i = groups[row_group(config, choice->sample)][choice->sample % GROUP];
    choice->value = i;
    count_tokens(&ul2_denoisers[i], n, &choice->n_inputs, &choice->n_targets);
}

static void draw_mask(const Ul2Denoiser *denoiser, Philox *rng, int64_t n, bool *mask)
{
    int64_t kept = n - MIN(span_corruption_noise(n, denoiser->noise_density), n - 1);
    if (denoiser->mean_span_length > 0 && n > 1) {
        span_corruption_mask(rng, n, denoiser->noise_density, denoiser->mean_span_length, mask);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        mask[i] = i >= kept;
}

void ul2_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens, int64_t n,
                 Example *out)
{
    const Ul2Denoiser *denoiser = &ul2_denoisers[choice->value];
    g_autofree bool *mask = g_new(bool, (gsize)n);
    ObjectiveConfig behind_mode = *config;
    Example rest = { .inputs = out->inputs + 1, .targets = out->targets };

    draw_mask(denoiser, rng, n, mask);
    behind_mode.input_length--;
    span_corruption_apply(&behind_mode, mask, tokens, n, &rest);
    out->inputs[0] = ul2_mode_token(config, denoiser->mode);
    out->n_inputs = rest.n_inputs + 1;
    out->n_targets = rest.n_targets;
}
