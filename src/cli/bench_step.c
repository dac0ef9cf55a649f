#include "base/text.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "device/peak.h"
#include "device/profile.h"
#include "model/model.h"
#include "train/run.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define USAGE        "loam bench step CONFIG.yaml [--seconds S] [--profile] [--json] [group.key=value]…"
#define PEAK_SECONDS 1.0

static const char about[] =
    "Times the training step of a configuration on random tokens (forward, backward, update; no dataset is needed) "
    "and\n"
    "compares it with this machine's matrix-product peak, measured before and after in the same run.\n\n"
    "  loam bench step configs/t5-1.1-small.yaml\n";

static double seconds = 20;
static gboolean as_json, profile;
static const GOptionEntry entries[] = {
    { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "how long to measure (default 20)", "S" },
    { "profile", 0, 0, G_OPTION_ARG_NONE, &profile, "where the time goes, by operation", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "one JSON object", NULL },
    { 0 },
};

typedef struct Bench {
    Config config;
    const Objective *objective;
    ObjectiveConfig planned;
    Device *dev;
    Model *model;
    Optimizer *optimizer;
    Batch *batch;
    int64_t micro, accum, updates;
    int32_t enc, dec; /* tokens of a sample in either stream; 0: the objective does without it */
    Profile profile;
    double profiled_s; /* wall time that the profile covers */
} Bench;

typedef struct BenchResult {
    double micro_s, update_s, step_s; /* one microbatch forward and backward; norm and update; a whole step */
    double tokens_per_s, flops_per_s, peak;
} BenchResult;

/* A single stream has targets where the objective would have about as many: anywhere in an encoder, behind a prefix in
 * a decoder. */
static void fill_batch(Bench *b)
{
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    int32_t n = b->enc + b->dec;
    double share = objective_target_share(b->objective, &b->planned);
    int32_t prefix = b->enc > 0 ? 0 : (int32_t)((1 - share) * n);
    g_autofree int32_t *ids = g_new(int32_t, n);
    g_autofree float *weights = g_new(float, n);
    for (int64_t sample = 0; sample < b->micro; sample++) {
        const BatchSequence sequence = {
            .sample = sample, .n = n, .ids = ids, .targets = ids, .weights = weights, .prefix = prefix
        };
        for (int32_t i = 0; i < n; i++) {
            ids[i] = (int32_t)philox_below(&rng, (uint64_t)b->config.model.vocab);
            weights[i] = prefix > 0 ? i >= prefix : philox_uniform(&rng) < share;
        }
        if (b->enc > 0 && b->dec > 0)
            batch_add(b->batch, sample, ids, b->enc, ids + b->enc, b->dec, 0);
        else
            batch_add_sequence(b->batch, &sequence);
    }
}

/* A number in the configuration needs no tokenizer. */
static bool resolve_vocab(Config *config, GError **error)
{
    if (config->model.vocab > 0)
        return true;
    if (*config->tokenizer.path == '\0')
        return config_resolve_vocab(config, NULL, error);
    Tokenizer *tok = config_open_tokenizer(config, error);
    bool resolved = tok && config_resolve_vocab(config, tok, error);
    g_clear_pointer(&tok, tokenizer_close);
    return resolved;
}

static bool open_bench(Bench *b, GError **error)
{
    Config *config = &b->config;
    if (!resolve_vocab(config, error))
        return false;
    b->objective = data_objective_row(&config->data);
    b->planned = data_objective(&config->data);
    b->planned.n_sentinels = TOKENIZER_SENTINELS;
    if (!config_check_objective(&config->data, &config->model, error) || !b->objective->plan(&b->planned, error))
        return false;
    b->dev = device_open_cpu((int)config->train.threads);
    b->micro = config_micro_samples(config);
    b->accum = (config_batch_samples(config) + b->micro - 1) / b->micro;
    b->enc = objective_enc_length(b->objective, &b->planned);
    b->dec = objective_dec_length(b->objective, &b->planned);
    b->batch = batch_new((int32_t)b->micro, b->enc, b->dec);
    fill_batch(b);
    if (!(b->model = model_open(b->dev, &config->model, true, error)))
        return false;
    params_init(model_params(b->model), 1);
    b->optimizer = optimizer_open(model_params(b->model), &config->optim, error);
    return b->optimizer != NULL;
}

static ModelLoss step_loss(const Bench *b)
{
    return (ModelLoss){ .z_loss = (float)b->config.train.z_loss,
                        .label_smoothing = (float)b->config.train.label_smoothing,
                        .n_targets = (double)b->batch->n_targets,
                        .train = true,
                        .grad = true,
                        .recompute = b->config.train.recompute == RECOMPUTE_BLOCK };
}

static double since(gint64 start)
{
    return (double)(g_get_monotonic_time() - start) / 1e6;
}

static double time_micro(Bench *b, const ModelLoss *loss)
{
    gint64 start = g_get_monotonic_time();
    model_pass(b->model, b->batch, loss);
    device_synchronise(b->dev);
    return since(start);
}

static double time_update(Bench *b)
{
    gint64 start = g_get_monotonic_time();
    double norm = grads_norm(model_params(b->model));
    optimizer_step(b->optimizer, ++b->updates, 1e-6, norm);
    device_synchronise(b->dev);
    return since(start);
}

/* The median, so that a moment's other work on the machine does not count. */
static double median(GArray *times)
{
    for (guint i = 1; i < times->len; i++)
        for (guint j = i; j > 0 && g_array_index(times, double, j) < g_array_index(times, double, j - 1); j--) {
            double swap = g_array_index(times, double, j);
            g_array_index(times, double, j) = g_array_index(times, double, j - 1);
            g_array_index(times, double, j - 1) = swap;
        }
    return g_array_index(times, double, times->len / 2);
}

/* Tokens that a sample is made of. */
static int32_t inputs(const Bench *b)
{
    return b->enc > 0 ? b->enc : b->dec;
}

static bool measure(Bench *b, BenchResult *r, GError **error)
{
    ModelLoss loss = step_loss(b);
    int32_t micro = (int32_t)b->micro;
    if (!model_reserve(b->model, micro, b->enc, b->dec, &loss, NULL, error))
        return false;
    g_autoptr(GArray) micros = g_array_new(false, false, sizeof(double));
    g_autoptr(GArray) updates = g_array_new(false, false, sizeof(double));
    r->peak = device_gemm_peak(b->dev, PEAK_SECONDS);
    grads_begin(model_params(b->model));
    time_micro(b, &loss); /* makes primitives and touches memory */
    time_update(b);
    b->dev->profile = profile ? &b->profile : NULL;
    gint64 start = g_get_monotonic_time();
    do {
        grads_begin(model_params(b->model));
        double micro_s = time_micro(b, &loss), update_s = time_update(b);
        g_array_append_val(micros, micro_s);
        g_array_append_val(updates, update_s);
    } while (since(start) < seconds);
    b->profiled_s = since(start);
    b->dev->profile = NULL;
    r->peak = MAX(r->peak, device_gemm_peak(b->dev, PEAK_SECONDS));
    r->micro_s = median(micros);
    r->update_s = median(updates);
    r->step_s = r->micro_s * (double)b->accum + r->update_s;
    r->tokens_per_s = (double)(b->micro * b->accum * inputs(b)) / r->step_s;
    double share = (double)b->batch->n_targets / (double)(b->micro * (b->dec > 0 ? b->dec : b->enc));
    r->flops_per_s = model_step_flops(&b->config.model, micro, b->enc, b->dec, share) * (double)b->accum / r->step_s;
    return true;
}

static bool print_json(const Bench *b, const BenchResult *r, GError **error)
{
    return print_json_line(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:i}", "tokens_per_s",
                                     json_finite(r->tokens_per_s), "step_s", json_finite(r->step_s), "micro_batch_s",
                                     json_finite(r->micro_s), "update_s", json_finite(r->update_s), "flops_per_s",
                                     json_finite(r->flops_per_s), "peak_flops_per_s", json_finite(r->peak),
                                     "share_of_peak", json_finite(r->flops_per_s / r->peak), "isa", device_isa(b->dev),
                                     "threads", device_threads(b->dev)),
                           error);
}

static void print_text(const Bench *b, const BenchResult *r)
{
    g_autofree char *params = text_grouped(params_elements(model_params(b->model)));
    printf("model        %s parameters, %d/%d tokens a sample, %d threads, %s\n", params, b->enc, b->dec,
           device_threads(b->dev), device_isa(b->dev));
    printf("step         %.3f s: %" PRId64 " x %.3f s forward and backward of %" PRId64 " samples, %.3f s update\n",
           r->step_s, b->accum, r->micro_s, b->micro, r->update_s);
    printf("speed        %.0f input tokens/s, %.1f samples/s\n", r->tokens_per_s, r->tokens_per_s / (double)inputs(b));
    printf("work         %.0f GFLOP/s of a measured matrix-product peak of %.0f GFLOP/s: %.1f %%\n",
           r->flops_per_s / 1e9, r->peak / 1e9, 100 * r->flops_per_s / r->peak);
}

static int longest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Shares of the time of microbatch and update together, as they were run: one update a microbatch. */
static void print_profile(Bench *b)
{
    struct {
        double seconds;
        int row;
    } order[PROFILE_OPS];
    double known = 0;
    for (int i = 0; i < b->profile.n; i++) {
        order[i].seconds = b->profile.rows[i].seconds;
        order[i].row = i;
        known += order[i].seconds;
    }
    qsort(order, (size_t)b->profile.n, sizeof *order, longest_first);
    for (int i = 0; i < b->profile.n; i++)
        printf("%12s %-14s %5.2f %% of the time, %" PRId64 " calls\n", "", b->profile.rows[order[i].row].op,
               100 * order[i].seconds / b->profiled_s, b->profile.rows[order[i].row].calls);
    printf("%12s %-14s %5.2f %%\n", "", "between them", 100 * (1 - known / b->profiled_s));
}

bool bench_step(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: " USAGE);
    Bench b = { 0 };
    BenchResult result;
    bool done = run_config_load(&b.config, argv[1], argv + 2, argc - 2, error) && open_bench(&b, error) &&
                measure(&b, &result, error);
    if (done && as_json)
        done = print_json(&b, &result, error);
    else if (done)
        print_text(&b, &result);
    if (done && profile && !as_json)
        print_profile(&b);
    g_clear_pointer(&b.optimizer, optimizer_close);
    g_clear_pointer(&b.model, model_close);
    g_clear_pointer(&b.batch, batch_free);
    g_clear_pointer(&b.dev, device_close);
    config_clear(&b.config);
    return done;
}
