#include "train/services/services.h"

#include "base/clock.h"

Every every_of(const Config *config, Amount amount, int64_t epoch_samples, bool count_tokens)
{
    Every every = { .unit = amount.unit, .value = amount.value, .last = clock_seconds() };
    if (amount.unit == UNIT_PERCENT && config->train.length.unit == UNIT_SECONDS) {
        every.unit = UNIT_SECONDS;
        every.value *= config->train.length.value / 100;
    }
    if (every.unit == UNIT_SECONDS)
        return every;
    const double tokens = count_tokens ? config_tokens(config, amount) : 0;
    const int64_t samples = config_batch_varies(config) ? config_samples(config, amount, epoch_samples) : 0;
    every.unit = tokens > 0 ? UNIT_TOKENS : samples > 0 ? UNIT_SAMPLES : UNIT_STEPS;
    every.value = tokens > 0    ? tokens
                  : samples > 0 ? (double)samples
                                : (double)config_steps(config, amount, epoch_samples);
    return every;
}

/* Whether a count reached or passed a multiple of the period when it last grew by `more`. */
static bool passes(double value, int64_t count, int64_t more)
{
    return floor((double)count / value) > floor((double)(count - more) / value);
}

bool every_due(const Every *every, const EveryCounts *counts)
{
    if (every->value <= 0)
        return false;
    if (every->unit == UNIT_SECONDS)
        return clock_seconds() - every->last >= every->value;
    if (every->unit == UNIT_TOKENS)
        return passes(every->value, counts->tokens, counts->step_tokens);
    if (every->unit == UNIT_SAMPLES)
        return passes(every->value, counts->samples, counts->step_samples);
    return counts->steps % (int64_t)every->value == 0;
}

void every_done(Every *every)
{
    every->last = clock_seconds();
}

void every_begun(Every *every, double seconds)
{
    if (every->unit == UNIT_SECONDS && every->value > 0)
        every->last -= fmod(seconds, every->value);
}

static double count_in_unit(AmountUnit unit, const EveryCounts *counts)
{
    return (double)(unit == UNIT_TOKENS ? counts->tokens : unit == UNIT_SAMPLES ? counts->samples : counts->steps);
}

Phases phases_of(const Config *config, int64_t epoch_samples, bool count_tokens)
{
    SavePhase given[SAVE_PHASES];
    Phases phases = { 0 };
    config_save_phases(config, given, &phases.n, NULL);
    for (int i = 0; i < phases.n; i++) {
        phases.until[i] = config_span(config, given[i].until, epoch_samples, count_tokens);
        phases.every[i] = every_of(config, given[i].every, epoch_samples, count_tokens);
    }
    phases.every[phases.n] = every_of(config, config->train.save_every, epoch_samples, count_tokens);
    return phases;
}

const Every *phases_at(const Phases *phases, const EveryCounts *counts)
{
    int i = 0;
    while (i < phases->n && phases->until[i].value > 0 &&
           count_in_unit(phases->until[i].unit, counts) > phases->until[i].value)
        i++;
    return &phases->every[i];
}

void phases_done(Phases *phases)
{
    for (int i = 0; i <= phases->n; i++)
        every_done(&phases->every[i]);
}

bool span_reached(RunSpan span, const EveryCounts *counts)
{
    return span.value > 0 && count_in_unit(span.unit, counts) >= span.value;
}
