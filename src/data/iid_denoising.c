#include "data/iid_denoising.h"

#include "base/check.h"

#include <math.h>

/* Room for targets: this many deviations of their number above its mean. */
#define TARGET_DEVIATIONS 5

bool iid_denoising_plan(ObjectiveConfig *config, GError **error)
{
    int64_t longest = config->input_length - 1;
    if (config->raw_length == 0 || config->raw_length > longest)
        config->raw_length = longest;
    double n = (double)config->raw_length, p = config->noise_density;
    double mean = n * p * (2 - p) + 3, deviation = 2 * sqrt(n * p * (1 - p));
    if (config->target_length == 0)
        config->target_length = (int64_t)MIN(ceil(mean + TARGET_DEVIATIONS * deviation), 2 * n + 1);
    if (config->target_length < 3)
        return fail_user(error,
                         "data.target_length=%ld cannot hold a masked token, its sentinel and EOS; use 3 or more",
                         config->target_length);
    return true;
}

/* How many sentinels the masked text has. */
typedef struct Runs {
    int64_t noise, n_inputs, n_targets; /* masked tokens; sentinels of either side */
} Runs;

/* Noise from the left while sentinels and room for the targets are left. The first token is kept, so that sentinels of
 * both sides agree; a text that ends unmasked has a closing sentinel in its targets. */
static Runs draw_mask(const ObjectiveConfig *config, Philox rng, int64_t n, bool *mask)
{
    double log_kept = log1p(-config->noise_density);
    int64_t last = -1;
    Runs runs = { 0 };
    for (int64_t i = 0; i < n; i++)
        mask[i] = false;
    for (int64_t i = 1; i < n; i++) { /* the gap to the next noise token is geometric */
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

void iid_denoising_choose(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    g_autofree bool *mask = g_new(bool, (gsize)n);
    Runs runs = draw_mask(config, choice->rng, n, mask);
    choice->n_inputs = n - runs.noise + runs.n_inputs + 1;
    choice->n_targets = runs.noise + runs.n_targets + 1;
}

void iid_denoising_example(const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng,
                           const int32_t *tokens, int64_t n, Example *out)
{
    g_autofree bool *mask = g_new(bool, (gsize)n);
    draw_mask(config, choice->rng, n, mask);
    span_corruption_apply(config, mask, tokens, n, out);
}
