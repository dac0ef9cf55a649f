/* schedule.c: the learning rate as a pure function of the updates and the tokens so far. */
#include "base/check.h"
#include "param/optim.h"

#include <math.h>

const char *const schedule_names[] = { [SCHEDULE_CONSTANT] = "constant",
                                       [SCHEDULE_LINEAR] = "linear",
                                       [SCHEDULE_COSINE] = "cosine",
                                       [SCHEDULE_INVERSE_SQRT] = "inverse_sqrt",
                                       [SCHEDULE_POLYNOMIAL] = "polynomial",
                                       [SCHEDULE_PLATEAU] = "plateau",
                                       NULL };

/* Fraction of the decay that is done, 0 to 1. If the warm-up is counted in updates and the length in tokens, or the
 * reverse, the length of the warm-up is converted by the mean number of tokens per update so far. */
static double decay_done(const Schedule *schedule, double updates, double tokens)
{
    double u = schedule->total_in_tokens ? tokens : updates, w = schedule->warmup;
    if (schedule->warmup_in_tokens != schedule->total_in_tokens)
        w *= schedule->total_in_tokens ? tokens / updates : updates / tokens;
    return schedule->total > w ? fmin(1, (u - w) / (schedule->total - w)) : 1;
}

double schedule_lr(const Schedule *schedule, int64_t update, int64_t tokens)
{
    double u = schedule->warmup_in_tokens ? (double)tokens : (double)update;
    double w = schedule->warmup, peak = schedule->lr, floor = schedule->min_lr;
    CHECK(update >= 1, "update %lld", (long long)update);
    if (u <= w)
        return peak * u / w;

    double r = decay_done(schedule, (double)update, (double)tokens);
    switch ((ScheduleKind)schedule->kind) {
    case SCHEDULE_CONSTANT:
        return peak;
    case SCHEDULE_LINEAR:
        return floor + (peak - floor) * (1 - r);
    case SCHEDULE_COSINE:
        return floor + (peak - floor) * 0.5 * (1 + cos(M_PI * r));
    case SCHEDULE_POLYNOMIAL:
        return floor + (peak - floor) * pow(1 - r, schedule->power);
    case SCHEDULE_PLATEAU:
        return fmax(floor, peak * schedule->scale);
    case SCHEDULE_INVERSE_SQRT:
        return fmax(floor, peak * sqrt(fmax(1, w) / u));
    }
    CHECK(false, "schedule %d", schedule->kind);
    return 0;
}

bool schedule_warmed_up(const Schedule *schedule, int64_t update, int64_t tokens)
{
    return (schedule->warmup_in_tokens ? (double)tokens : (double)update) >= schedule->warmup;
}
