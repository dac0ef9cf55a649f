/* amounts.c: amounts of a configuration in steps, samples and tokens, its loss and its schedule. */
#include "base/text.h"
#include "run/config/config.h"

#include <string.h>

/* Calls config_batch_schedule for a configuration that config_check has accepted, so it cannot fail. */
static BatchSchedule batches_of(const Config *config, bool count_tokens)
{
    BatchSchedule batches;
    config_batch_schedule(config, count_tokens, &batches, NULL);
    return batches;
}

int64_t config_batch_samples(const Config *config)
{
    return batches_of(config, true).largest;
}

bool config_batch_varies(const Config *config)
{
    const BatchSchedule batches = batches_of(config, true);
    return batch_varies(&batches);
}

int config_ranks(const Config *config)
{
    const ParallelConfig *parallel = &config->parallel;
    return parallel->mesh        ? comm_size(parallel->mesh->world)
           : parallel->ranks > 0 ? (int)parallel->ranks
                                 : (int)(parallel->tensor * parallel->context * parallel->pipeline);
}

int config_data_ranks(const Config *config)
{
    const ParallelConfig *parallel = &config->parallel;
    return MAX(config_ranks(config) / (int)(parallel->tensor * parallel->context * parallel->pipeline), 1);
}

int64_t config_rank_samples(const Config *config)
{
    int64_t ranks = config_data_ranks(config);
    return (config_batch_samples(config) + ranks - 1) / ranks;
}

bool config_micro_is_auto(const Config *config)
{
    return config->train.micro_batch.value == 0;
}

int64_t config_micro_samples(const Config *config)
{
    enum { BY_DEFAULT = 8 };
    double samples = config_micro_is_auto(config) ? BY_DEFAULT : config->train.micro_batch.value;
    if (config->train.micro_batch.unit == UNIT_TOKENS && !config_micro_is_auto(config))
        samples /= (double)config->data.input_length;
    return CLAMP((int64_t)samples, 1, config_batch_samples(config));
}

#define MOST_COUNTS 4096

int *config_microbatches(const Config *config, int *n)
{
    const BatchSchedule batches = batches_of(config, true);
    const int64_t ranks = config_data_ranks(config), most = config_micro_samples(config);
    int *counts = g_new(int, MOST_COUNTS);
    *n = 0;
    for (int64_t i = 0, batch; (batch = batch_listed(&batches, i)) > 0; i++) {
        const int64_t own[] = { batch / ranks, (batch + ranks - 1) / ranks }, micro = MIN(most, own[1]);
        if (2 * (i + 1) > MOST_COUNTS) {
            *n = 0;
            g_clear_pointer(&counts, g_free);
            break;
        }
        for (int j = own[0] == own[1] || own[0] == 0; j < 2; j++)
            counts[(*n)++] = (int)((own[j] + micro - 1) / micro);
    }
    return counts;
}

int64_t config_samples(const Config *config, Amount amount, int64_t epoch_samples)
{
    switch (amount.unit) {
    case UNIT_SAMPLES:
    case UNIT_EXAMPLES:
        return (int64_t)ceil(amount.value);
    case UNIT_TOKENS:
        return (int64_t)ceil(amount.value / (double)config->data.input_length);
    case UNIT_EPOCHS:
        return (int64_t)ceil(amount.value * (double)epoch_samples);
    default:
        return -1;
    }
}

int64_t config_share(Amount amount, int64_t total)
{
    return (int64_t)ceil(amount.value * (double)total / 100);
}

bool config_drops_rest(const Config *config)
{
    return config->data.compat == COMPAT_MEGATRON && config_batch_varies(config);
}

int64_t config_steps(const Config *config, Amount amount, int64_t epoch_samples)
{
    int64_t samples = config_samples(config, amount, epoch_samples);
    const BatchSchedule batches = batches_of(config, true);
    if (amount.unit == UNIT_STEPS)
        return (int64_t)amount.value;
    if (amount.unit == UNIT_PERCENT)
        return config_share(amount, config_length_steps(config, epoch_samples));
    return samples < 0 ? -1 : batch_steps(&batches, 0, samples, false);
}

int64_t config_length_steps(const Config *config, int64_t epoch_samples)
{
    const int64_t samples = config_samples(config, config->train.length, epoch_samples);
    const BatchSchedule batches = batches_of(config, true);
    return samples < 0 ? config_steps(config, config->train.length, epoch_samples)
                       : batch_steps(&batches, 0, samples, config_drops_rest(config));
}

double config_tokens(const Config *config, Amount amount)
{
    Amount length = config->train.length;
    if (amount.unit == UNIT_PERCENT && length.unit == UNIT_TOKENS)
        return ceil(amount.value * length.value / 100);
    return amount.unit == UNIT_TOKENS ? amount.value : 0;
}

ModelLoss config_loss(const Config *config)
{
    return (ModelLoss){ .label_smoothing = (float)config->train.label_smoothing,
                        .z_loss = (float)config->train.z_loss,
                        .seed = (uint64_t)config->run.seed,
                        .train = true,
                        .grad = true,
                        .divided = true,
                        .recompute = config->train.recompute == RECOMPUTE_BLOCK };
}

bool config_balances_classes(const Config *config)
{
    return strcmp(config->train.class_weights, "balanced") == 0;
}

float *config_class_weights(const Config *config, GError **error)
{
    const char *text = config->train.class_weights;
    int64_t n = model_config_outputs(&config->model);
    g_auto(GStrv) parts = text_list(text);
    bool classes = labels_have_names((LabelKind)config->model.classifier);
    if (*text == '\0' || (classes && config_balances_classes(config)))
        return NULL;
    if (!classes)
        return fail_user(error,
                         "train.class_weights: \"%s\": only a classifier of texts or tags has classes to weigh "
                         "(model.classifier=sequence or tokens), and this model has model.classifier=%s: leave it out",
                         text, label_kind_names[config->model.classifier]);
    if ((int64_t)g_strv_length(parts) != n)
        return fail_user(error,
                         "train.class_weights: \"%s\": want one number for each class of model.labels (%s), or "
                         "balanced",
                         text, config->model.labels);
    g_autofree float *weights = g_new(float, (gsize)n);
    for (int64_t i = 0; i < n; i++) {
        char *end;
        weights[i] = (float)g_ascii_strtod(parts[i], &end);
        if (end == parts[i] || end[strspn(end, " ")] || !(weights[i] >= 0 && weights[i] <= 1e6f))
            return fail_user(error, "train.class_weights: \"%s\" is not a number from 0 to 1e6", parts[i]);
    }
    return g_steal_pointer(&weights);
}

bool config_counts_time(const Config *config)
{
    return config->train.length.unit == UNIT_SECONDS || config->train.eval_every.unit == UNIT_SECONDS;
}

RunSpan config_span(const Config *config, Amount amount, int64_t epoch_samples, bool count_tokens)
{
    const Amount length = config->train.length;
    const double tokens = count_tokens ? config_tokens(config, amount) : 0;
    if (amount.unit == UNIT_SECONDS)
        return (RunSpan){ amount.value, UNIT_SECONDS };
    if (amount.unit == UNIT_PERCENT && length.unit == UNIT_SECONDS)
        return (RunSpan){ amount.value / 100 * length.value, UNIT_SECONDS };
    if (tokens > 0)
        return (RunSpan){ tokens, UNIT_TOKENS };
    if (amount.unit == UNIT_PERCENT && length.unit != UNIT_STEPS && config_batch_varies(config)) {
        double samples = (double)config_samples(config, length, epoch_samples);
        return (RunSpan){ ceil(samples * amount.value / 100), UNIT_SAMPLES };
    }
    const int64_t samples = config_samples(config, amount, epoch_samples);
    if (samples > 0 && config_batch_varies(config))
        return (RunSpan){ (double)samples, UNIT_SAMPLES };
    return (RunSpan){ (double)config_steps(config, amount, epoch_samples), UNIT_STEPS };
}

Schedule config_schedule(const Config *config, int64_t epoch_samples, bool count_tokens)
{
    const OptimConfig *optim = &config->optim;
    const RunSpan run = config_span(config, config->train.length, epoch_samples, count_tokens);
    Schedule schedule = { .kind = optim->schedule,
                          .lr = optim->lr,
                          .min_lr = optim->min_lr,
                          .init_lr = optim->init_lr,
                          .power = optim->power,
                          .scale = 1,
                          .warmup = config_span(config, optim->warmup, epoch_samples, count_tokens),
                          .total = run,
                          .decay = config_span(config, optim->decay_length, epoch_samples, count_tokens),
                          .curve = optim->decay_curve,
                          .cycle = config_span(config, optim->cycle, epoch_samples, count_tokens),
                          .cycle_growth = optim->cycle_growth,
                          .cycle_shrink = optim->cycle_shrink,
                          .ramp = optim->weight_decay_ramp,
                          .weight_decay_start = optim->weight_decay_start,
                          .weight_decay = optim->weight_decay,
                          .ramp_end = run };
    if (optim->decay_until.value > 0)
        schedule.total = config_span(config, optim->decay_until, epoch_samples, count_tokens);
    return schedule;
}
