#include "train/trainer/every.h"

#include "base/clock.h"
#include <math.h>

Every every_of(const Config *config, Amount amount, int64_t epoch_samples, bool count_tokens)
{
    Every every = { .unit = amount.unit, .value = amount.value, .last = clock_seconds() };
    if (amount.unit == UNIT_SECONDS)
        return every;
    double tokens = count_tokens ? config_tokens(config, amount) : 0;
    every.unit = tokens > 0 ? UNIT_TOKENS : UNIT_STEPS;
    every.value = tokens > 0 ? tokens : (double)config_steps(config, amount, epoch_samples);
    return every;
}

bool every_due(const Every *every, int64_t steps, int64_t tokens, int64_t step_tokens)
{
    if (every->value <= 0)
        return false;
    if (every->unit == UNIT_SECONDS)
        return clock_seconds() - every->last >= every->value;
    if (every->unit == UNIT_TOKENS)
        return floor((double)tokens / every->value) > floor((double)(tokens - step_tokens) / every->value);
    return steps % (int64_t)every->value == 0;
}

void every_done(Every *every)
{
    every->last = clock_seconds();
}
