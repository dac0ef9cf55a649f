/* schedule.c: the learning rate and the weight decay as pure functions of updates, samples and tokens so far. */
#include "param/schedule.h"

#include "base/check.h"

#include <math.h>

#define SCHEDULE_NAME(kind, name) #name,
const char *const schedule_names[] = { SCHEDULES(SCHEDULE_NAME) NULL };
const char *const decay_curve_names[] = { [CURVE_LINEAR] = "linear",
                                          [CURVE_COSINE] = "cosine",
                                          [CURVE_EXPONENTIAL] = "exponential",
                                          [CURVE_MINUS_SQRT] = "minus_sqrt",
                                          NULL };
const char *const decay_ramp_names[] = {
    [RAMP_CONSTANT] = "constant", [RAMP_LINEAR] = "linear", [RAMP_COSINE] = "cosine", NULL
};

static double amount_of(ScheduleCounts counts, AmountUnit unit)
{
    if (unit == UNIT_SECONDS)
        return counts.seconds;
    int64_t count = unit == UNIT_TOKENS ? counts.tokens : unit == UNIT_SAMPLES ? counts.samples : counts.updates;
    return (double)count;
}

/* The span in another unit, by the mean size of the updates up to `after`. */
static double span_in(RunSpan span, AmountUnit unit, ScheduleCounts after)
{
    return span.unit == unit ? span.value : span.value * (amount_of(after, unit) / amount_of(after, span.unit));
}

/* Share, 0 to 1, of the way from `begin` to `end` that is done. */
static double share_done(double now, double begin, double end)
{
    return end > begin ? fmin(1, fmax(0, (now - begin) / (end - begin))) : 1;
}

/* Share of the way from the end of the warm-up to schedule.total. */
static double decay_done(const Schedule *schedule, ScheduleCounts before, ScheduleCounts after)
{
    const RunSpan total = schedule->total;
    return share_done(amount_of(before, total.unit), span_in(schedule->warmup, total.unit, after), total.value);
}

static double stable_then_decay(const Schedule *schedule, ScheduleCounts before, ScheduleCounts after)
{
    const RunSpan total = schedule->total;
    const double begin = total.value - span_in(schedule->decay, total.unit, after);
    const double now = amount_of(before, total.unit), r = share_done(now, begin, total.value);
    if (now <= begin)
        return 1;
    switch ((DecayCurve)schedule->curve) {
    case CURVE_LINEAR:
        return 1 - r;
    case CURVE_COSINE:
        return 0.5 * (1 + cos(M_PI * r));
    case CURVE_EXPONENTIAL:
        return 2 * pow(0.5, r) - 1;
    case CURVE_MINUS_SQRT:
        return 1 - sqrt(r);
    }
    CHECK(false, "curve %d", schedule->curve);
}

/* Period i begins where the periods before it end: after cycle (1 - growth^i) / (1 - growth), or i cycles. */
static double restarted_cosine(const Schedule *schedule, ScheduleCounts before, ScheduleCounts after)
{
    const RunSpan cycle = schedule->cycle;
    const double growth = schedule->cycle_growth,
                 u = fmax(0, amount_of(before, cycle.unit) - span_in(schedule->warmup, cycle.unit, after));
    double i = floor(growth == 1 ? u / cycle.value : log(1 - u / cycle.value * (1 - growth)) / log(growth));
    double length = cycle.value * pow(growth, i),
           begin = growth == 1 ? i * cycle.value : (1 - pow(growth, i)) / (1 - growth) * cycle.value;
    double shrink = pow(schedule->cycle_shrink, i);
    return shrink * (schedule->min_lr +
                     (schedule->lr - schedule->min_lr) * 0.5 * (1 + cos(M_PI * share_done(u, begin, begin + length))));
}

double schedule_lr(const Schedule *schedule, ScheduleCounts before, ScheduleCounts after)
{
    const AmountUnit unit = schedule->warmup.unit;
    const double w = schedule->warmup.value, peak = schedule->lr, floor = schedule->min_lr;
    CHECK(before.updates < after.updates, "from update %lld to %lld", (long long)before.updates,
          (long long)after.updates);
    if (amount_of(after, unit) <= w)
        return schedule->init_lr + (peak - schedule->init_lr) * amount_of(after, unit) / w;

    double r = decay_done(schedule, before, after);
    switch ((ScheduleKind)schedule->kind) {
    case SCHEDULE_CONSTANT:
        return peak;
    case SCHEDULE_LINEAR:
        return floor + (peak - floor) * (1 - r);
    case SCHEDULE_COSINE:
        return schedule->cycle.value > 0 ? restarted_cosine(schedule, before, after)
                                         : floor + (peak - floor) * 0.5 * (1 + cos(M_PI * r));
    case SCHEDULE_POLYNOMIAL:
        return floor + (peak - floor) * pow(1 - r, schedule->power);
    case SCHEDULE_PLATEAU:
        return fmax(floor, peak * schedule->scale);
    case SCHEDULE_INVERSE_SQRT:
        return fmax(floor, peak * sqrt(fmax(1, w) / fmax(fmax(1, w), amount_of(before, unit))));
    case SCHEDULE_WSD:
        return floor + (peak - floor) * stable_then_decay(schedule, before, after);
    }
    CHECK(false, "schedule %d", schedule->kind);
    return 0;
}

double schedule_weight_decay(const Schedule *schedule, ScheduleCounts before)
{
    const RunSpan end = schedule->ramp_end;
    const double from = schedule->weight_decay_start, to = schedule->weight_decay,
                 r = share_done(amount_of(before, end.unit), 0, end.value);
    if (schedule->ramp == RAMP_CONSTANT)
        return to;
    return from + (to - from) * (schedule->ramp == RAMP_LINEAR ? r : 0.5 * (1 + cos(M_PI * (1 - r))));
}

bool schedule_warmed_up(const Schedule *schedule, ScheduleCounts counts)
{
    return amount_of(counts, schedule->warmup.unit) >= schedule->warmup.value;
}
