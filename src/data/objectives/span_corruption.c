#include "data/objectives/objectives.h"

#include "base/check.h"

#include <inttypes.h>
#include <math.h>

#define MAX_RAW_LENGTH (1 << 24) /* lengths above it are no longer exact in f32 */

static const OptionRow span_corruption_options[] = {
    { "data.mean_span_length", OPT_F64, offsetof(SpanCorruptionSettings, mean_span_length), "3", 1, 1e4, OPT_IDENTITY,
      NULL, "mean length of a masked span, in tokens" },
};

static double mean_span_length(const ObjectiveConfig *config)
{
    return ((const SpanCorruptionSettings *)(const void *)&config->own)->mean_span_length;
}

int64_t span_corruption_noise(int64_t length, double density)
{
    int64_t n = MAX(length, 2);
    int64_t noise = (int64_t)rintf((float)n * (float)density);
    return CLAMP(noise, 1, n - 1);
}

int64_t span_corruption_spans(int64_t n_noise, double mean_span_length)
{
    int64_t spans = (int64_t)rintf((float)n_noise / (float)mean_span_length);
    return CLAMP(spans, 1, n_noise);
}

/* Masked tokens and spans of a text. Masked spans alternate with kept ones, so there are no more spans than kept
 * tokens, which matters only at densities far above one half. */
typedef struct Counts {
    int64_t noise, spans;
} Counts;

static Counts count_noise(int64_t length, double density, double mean_span_length)
{
    int64_t noise = span_corruption_noise(length, density);
    int64_t spans = span_corruption_spans(noise, mean_span_length);
    return (Counts){ noise, MIN(spans, MAX(length, 2) - noise) };
}

static int64_t input_tokens(int64_t length, Counts counts)
{
    return length - counts.noise + counts.spans + 1;
}

static int64_t target_tokens(Counts counts)
{
    return counts.noise + counts.spans + 1;
}

/* The longest input for whose spans there are sentinels enough. */
static int64_t longest_input(const ObjectiveConfig *config)
{
    for (int64_t length = 2;; length++) {
        Counts counts = count_noise(length, config->noise_density, mean_span_length(config));
        if (counts.spans > config->n_sentinels)
            return input_tokens(length, counts) - 1;
    }
}

/* The largest raw_length, up to the given one, whose inputs fit input_length. T5 counts in f64 here and masks in f32,
 * so it cuts targets off at lengths such as 190; here both count in f32 and everything fits. */
static bool find_raw_length(ObjectiveConfig *config, GError **error)
{
    double density = config->noise_density, span = mean_span_length(config);
    int64_t raw = config->input_length - 1;
    while (raw < MAX_RAW_LENGTH && input_tokens(raw + 1, count_noise(raw + 1, density, span)) <= config->input_length)
        raw++;
    if (raw >= MAX_RAW_LENGTH)
        return fail_user(error,
                         "data.noise_density=%g: one sample of data.input_length=%" PRId64 " would take more "
                         "than %d tokens of text; lower one of them",
                         density, config->input_length, MAX_RAW_LENGTH);
    Counts counts = count_noise(raw, density, span);
    if (density == 0.5 && target_tokens(counts) > input_tokens(raw, counts))
        raw = MAX(raw - 1, 1);
    config->raw_length = config->raw_length > 0 ? MIN(config->raw_length, raw) : raw;
    return true;
}

static bool plan_spans(ObjectiveConfig *config, GError **error)
{
    CHECK(config->input_length >= 2 && config->noise_density > 0 && config->noise_density < 1 &&
              mean_span_length(config) >= 1,
          "input_length %" PRId64 ", density %g, span %g", config->input_length, config->noise_density,
          mean_span_length(config));
    if (!find_raw_length(config, error))
        return false;
    Counts counts = count_noise(config->raw_length, config->noise_density, mean_span_length(config));
    if (counts.spans > config->n_sentinels)
        return fail_user(error,
                         "data.input_length=%" PRId64 " needs %" PRId64 " sentinels, one for each span (%" PRId64
                         " tokens of text, %" PRId64
                         " of them noise), but the tokenizer has %d, enough for inputs of up to %" PRId64
                         " tokens: shorten data.input_length or raise data.mean_span_length=%g",
                         config->input_length, counts.spans, config->raw_length, counts.noise, config->n_sentinels,
                         longest_input(config), mean_span_length(config));
    int64_t targets = target_tokens(counts);
    if (config->target_length == 0)
        config->target_length = targets;
    if (config->target_length < targets)
        return fail_user(error,
                         "data.target_length=%" PRId64 " cannot hold the %" PRId64
                         " target tokens of data.input_length=%" PRId64 "; leave it out or set it to %" PRId64,
                         config->target_length, targets, config->input_length, targets);
    return true;
}

/* A uniformly random composition of `total` into `parts` positive integers: parts - 1 cuts among total - 1 gaps, where
 * a gap is cut with probability (cuts still needed) / (gaps left), Knuth's algorithm S. */
static void draw_composition(Philox *rng, int64_t total, int64_t parts, int64_t *lengths)
{
    int64_t part = 0, cuts = parts - 1;
    lengths[0] = 1;
    for (int64_t gaps = total - 1; gaps > 0; gaps--) {
        if (cuts > 0 && (int64_t)philox_below(rng, (uint64_t)gaps) < cuts) {
            cuts--;
            lengths[++part] = 0;
        }
        lengths[part]++;
    }
    CHECK(part == parts - 1, "%" PRId64 " tokens in %" PRId64 " spans", total, parts);
}

void span_corruption_mask(Philox *rng, int64_t length, double density, double mean_span_length, bool *mask)
{
    Counts counts = count_noise(length, density, mean_span_length);
    g_autofree int64_t *noise = g_new(int64_t, counts.spans);
    g_autofree int64_t *kept = g_new(int64_t, counts.spans);
    draw_composition(rng, counts.noise, counts.spans, noise);
    draw_composition(rng, MAX(length, 2) - counts.noise, counts.spans, kept);

    int64_t i = 0;
    for (int64_t span = 0; span < counts.spans; span++) {
        for (int64_t end = i + kept[span]; i < end && i < length; i++)
            mask[i] = false;
        for (int64_t end = i + noise[span]; i < end && i < length; i++)
            mask[i] = true;
    }
}

/* Copies tokens, each run of mask == hidden replaced by the next sentinel, and EOS after them. Returns how many. */
static int64_t replace_runs(const ObjectiveConfig *config, const bool *mask, bool hidden, const int32_t *tokens,
                            int64_t n, int32_t *out, int64_t capacity)
{
    int64_t n_out = 0;
    int32_t runs = 0;
    for (int64_t i = 0; i < n; i++) {
        if (mask[i] == hidden && i > 0 && mask[i - 1] == hidden)
            continue;
        CHECK(n_out < capacity - 1, "%" PRId64 " tokens do not fit into %" PRId64, n, capacity);
        out[n_out++] = mask[i] == hidden ? objective_sentinel(config, runs++) : tokens[i];
    }
    CHECK(runs <= config->n_sentinels, "%d spans, %d sentinels", runs, config->n_sentinels);
    out[n_out++] = config->eos;
    return n_out;
}

void span_corruption_apply(const ObjectiveConfig *config, const bool *mask, const int32_t *tokens, int64_t n,
                           Example *out)
{
    out->n_inputs = replace_runs(config, mask, true, tokens, n, out->inputs, config->input_length);
    out->n_targets = replace_runs(config, mask, false, tokens, n, out->targets, config->target_length);
}

static void apply_spans(const ObjectiveConfig *config, G_GNUC_UNUSED const Choice *choice, Philox *rng,
                        const Text *texts, Example *out)
{
    int64_t n = texts->n;
    CHECK(n > 0 && n <= config->raw_length, "%" PRId64 " tokens, at most %" PRId64, n, config->raw_length);
    g_autofree bool *mask = g_new(bool, n);
    span_corruption_mask(rng, n, config->noise_density, mean_span_length(config), mask);
    span_corruption_apply(config, mask, texts->tokens, n, out);
}

/* The index of a sentinel; -1 for other tokens. */
static int32_t sentinel_index(const ObjectiveConfig *config, int32_t id)
{
    int32_t index = config->sentinels_rise ? id - config->first_sentinel : config->first_sentinel - id;
    return index >= 0 && index < config->n_sentinels ? index : -1;
}

/* Fills `starts` (n_sentinels) with the index in the targets at which the tokens of each sentinel's span start, which
 * must name sentinels 0, 1, 2, … in order, first of all. Returns how many they name; -1 if they are malformed. */
static int32_t find_starts(const ObjectiveConfig *config, const int32_t *targets, int64_t n, int64_t *starts)
{
    int32_t named = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t index = sentinel_index(config, targets[i]);
        if ((index >= 0 || i == 0) && index != named)
            return -1;
        if (index >= 0)
            starts[named++] = i + 1;
    }
    return named;
}

/* New sentinels of the inputs are 0, 1, 2, … in order; an earlier one may come again. */
int64_t span_corruption_splice(const ObjectiveConfig *config, const Example *example, int32_t *out, int32_t *spans)
{
    const int32_t *inputs = example->inputs, *targets = example->targets;
    int64_t n_inputs = example->n_inputs - 1, n_targets = example->n_targets - 1, n = 0; /* without EOS */
    g_autofree int64_t *starts = g_new(int64_t, config->n_sentinels);
    if (n_inputs < 0 || n_targets < 0 || inputs[n_inputs] != config->eos ||
        (targets[n_targets] != config->eos && targets[n_targets] != objective_target_end(config)))
        return -1;
    int32_t named = find_starts(config, targets, n_targets, starts), used = 0;
    for (int64_t i = 0; i < n_inputs; i++) {
        int32_t index = sentinel_index(config, inputs[i]);
        if (named < 0 || index >= named || index > used || (index < 0 && n == config->raw_length))
            return -1;
        used += index == used;
        if (index < 0 && spans)
            spans[n] = -1;
        if (index < 0)
            out[n++] = inputs[i];
        for (int64_t t = index < 0 ? n_targets : starts[index]; t < n_targets && sentinel_index(config, targets[t]) < 0;
             t++) {
            if (n == config->raw_length)
                return -1;
            if (spans)
                spans[n] = index;
            out[n++] = targets[t];
        }
    }
    bool ends_outside = used == named - 1 && starts[used] == n_targets; /* T5 names the text's end too */
    return used == named || ends_outside ? n : -1;
}

const Objective span_corruption_objective = { OBJECTIVE("span_corruption", STREAMS_BOTH, TEXT_CONCATENATED, 1),
                                              OBJECTIVE_OPTIONS(span_corruption_options),
                                              OBJECTIVE_STEPS(plan_spans, NULL, apply_spans) };
