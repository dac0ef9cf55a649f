#include "plan/micro_batch.h"

#include "base/log.h"
#include "plan/memory.h"
#include "run/run_dir.h"

#include <inttypes.h>

#define STAGE_MICRO_BATCHES 4   /* of a step, per stage of a pipeline: with p stages they wait (p-1)/(5p-1) of a step */
#define CPU_SHARE           0.5 /* of the machine's free memory, which other programs use, too */

static void set_samples(Config *config, int64_t samples)
{
    config->train.micro_batch = (Amount){ .value = (double)samples, .unit = UNIT_SAMPLES };
}

/* The size of microbatches if a rank's samples are divided into as few as possible of at most `most` samples. */
static int64_t even_part(const Config *config, int64_t most)
{
    const int64_t own = config_rank_samples(config), n = (own + most - 1) / most;
    return (own + n - 1) / n;
}

/* The largest microbatch of at most `most` samples that fits, by bisection: a smaller one never takes more memory. */
static int64_t find_largest(const Config *config, int64_t most, int32_t input_length, int32_t target_length,
                            MicroBatchFits *fits, void *context)
{
    Config trial = *config; /* shallow copy */
    int64_t fitting = 1, next = most;
    while (fitting < most) {
        set_samples(&trial, next);
        if (fits(&trial, input_length, target_length, context))
            fitting = next;
        else
            most = next - 1;
        next = fitting + (most - fitting + 1) / 2;
    }
    return fitting;
}

static void choose_fitting(Config *config, int64_t most_tokens, int32_t input_length, int32_t target_length,
                           MicroBatchFits *fits, void *context)
{
    const int64_t stages = config->parallel.pipeline, own = config_rank_samples(config);
    int64_t most = MIN(own, MAX(most_tokens / MAX(input_length + target_length, 1), 1));
    if (stages > 1)
        most = MIN(most, MAX(own / (STAGE_MICRO_BATCHES * stages), 1));
    set_samples(config, even_part(config, find_largest(config, most, input_length, target_length, fits, context)));
}

void micro_batch_choose_for(Config *config, int32_t input_length, int32_t target_length, MicroBatchFits *fits,
                            void *context)
{
    if (config_micro_is_auto(config))
        choose_fitting(config, CONFIG_MICRO_TOKENS, input_length, target_length, fits, context);
}

static bool fits_here(const Config *config, int32_t input_length, int32_t target_length, void *context)
{
    Device *dev = context;
    return memory_fits(config, input_length, target_length, dev, *dev->gpu.name ? 1 : CPU_SHARE);
}

/* The saved run's microbatch in samples; 0 means none, or more than a rank's samples are now, or more than fits. */
static bool find_saved(const Config *config, int32_t input_length, int32_t target_length, Device *dev, int64_t *samples,
                       GError **error)
{
    static const char *const names[] = { "train.micro_batch", NULL };
    Config trial = *config; /* shallow copy */
    g_auto(Config) saved = { 0 };
    *samples = 0;
    if (*config->run.dir == '\0' || !run_has_config(config->run.dir))
        return true;
    if (!config_read_saved(&saved, config->run.dir, names, error))
        return false;
    trial.train.micro_batch = saved.train.micro_batch;
    *samples = config_micro_is_auto(&trial) ? 0 : config_micro_samples(&trial);
    if (*samples == 0 || fits_here(&trial, input_length, target_length, dev))
        return true;
    log_warning("train.micro_batch=auto: the microbatch of %" PRId64 " samples that this run has had does not fit now",
                *samples);
    *samples = 0;
    return true;
}

bool micro_batch_choose(Config *config, int32_t input_length, int32_t target_length, Device *dev, GError **error)
{
    int64_t saved = 0;
    if (!config_micro_is_auto(config))
        return true;
    if (!find_saved(config, input_length, target_length, dev, &saved, error))
        return false;
    if (saved > 0)
        set_samples(config, saved);
    else
        choose_fitting(config, *dev->gpu.name ? CONFIG_MICRO_TOKENS : MICRO_CPU_TOKENS, input_length, target_length,
                       fits_here, dev);
    return true;
}
