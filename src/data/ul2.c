#include "data/ul2.h"

#include "base/check.h"

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

/* target_length: what the longest targets take, or what keeps both streams equally full where that is more. */
bool ul2_plan(ObjectiveConfig *config, GError **error)
{
    config->n_sentinels -= UL2_MODES;
    if (config->input_length < 8 || config->n_sentinels < 1)
        return fail_user(error,
                         "data.objective=ul2 needs data.input_length of 8 or more, not %ld, and a tokenizer with "
                         "4 sentinels or more",
                         config->input_length);
    int64_t raw = find_raw_length(config), longest = 0;
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
    return config->target_length >= longest ||
           fail_user(error,
                     "data.target_length=%ld cannot hold the %ld target tokens of ul2's longest denoiser; leave it out "
                     "or set it to %ld",
                     config->target_length, longest, longest);
}

void ul2_choose(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    Philox rng = choice->rng;
    double u = philox_uniform(&rng);
    int i = 0;
    CHECK(n > 0 && n <= config->raw_length, "%ld tokens, at most %ld", n, config->raw_length);
    while (i < UL2_DENOISERS - 1 && u >= ul2_denoisers[i].weight)
        u -= ul2_denoisers[i++].weight;
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
