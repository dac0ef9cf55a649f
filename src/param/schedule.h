/* schedule.h: the learning rate and the weight decay of each update, as pure functions of the counters of a run. */
#pragma once

#include "base/amount.h"

#include <stdint.h>

/* WSD: warm-up, stable, decay. */
#define SCHEDULES(X)                                                                                                   \
    X(CONSTANT, constant)                                                                                              \
    X(LINEAR, linear)                                                                                                  \
    X(COSINE, cosine)                                                                                                  \
    X(INVERSE_SQRT, inverse_sqrt)                                                                                      \
    X(POLYNOMIAL, polynomial)                                                                                          \
    X(PLATEAU, plateau)                                                                                                \
    X(WSD, wsd)

#define SCHEDULE_KIND(kind, name) SCHEDULE_##kind,
typedef enum ScheduleKind { SCHEDULES(SCHEDULE_KIND) } ScheduleKind;
extern const char *const schedule_names[]; /* "constant", …, NULL */

/* How the last phase of SCHEDULE_WSD falls. r: the share of this phase that is done. */
typedef enum DecayCurve {
    CURVE_LINEAR,      /* 1 - r */
    CURVE_COSINE,      /* (1 + cos πr)/2 */
    CURVE_EXPONENTIAL, /* 2·0.5^r - 1 */
    CURVE_MINUS_SQRT   /* 1 - √r */
} DecayCurve;
extern const char *const decay_curve_names[];

typedef enum DecayRamp { RAMP_CONSTANT, RAMP_LINEAR, RAMP_COSINE } DecayRamp;
extern const char *const decay_ramp_names[];

/* A length in updates (UNIT_STEPS), in samples of updates (UNIT_SAMPLES), in tokens read (UNIT_TOKENS) or in seconds
 * of training (UNIT_SECONDS). */
typedef struct RunSpan {
    double value; /* 0 means none */
    AmountUnit unit;
} RunSpan;

/* The counters of a run, before or after an update. */
typedef struct ScheduleCounts {
    int64_t updates, samples, tokens; /* updates; samples of updates; tokens read, those of skipped steps too */
    double seconds;                   /* seconds of training; 0 unless a span of the schedule is a time */
} ScheduleCounts;

typedef struct Schedule {
    int kind;              /* ScheduleKind */
    double lr, init_lr;    /* peak; start of the warm-up */
    double min_lr;         /* lower bound after the warm-up; multiplied by cycle_shrink at each restart */
    double power;          /* exponent of the polynomial schedule */
    double scale;          /* plateau schedule: product of the factors of all drops so far, 1 before the first */
    RunSpan warmup, total; /* end of the warm-up, and end of the decay, both from the first update */
    RunSpan decay;         /* SCHEDULE_WSD: length of the last phase, which ends at `total` */
    int curve;             /* SCHEDULE_WSD: DecayCurve */
    RunSpan
        cycle; /* SCHEDULE_COSINE: length of the first period after the warm-up, before the rate restarts at its peak */
    double cycle_growth, cycle_shrink;       /* factors from one period to the next: on its length, and on its rates */
    int ramp;                                /* DecayRamp */
    double weight_decay_start, weight_decay; /* at the start and at the end of the ramp */
    RunSpan ramp_end;
} Schedule;

/* The learning rate of the update that takes the counters of the run from `before` to `after`. In the warm-up it rises
 * from init_lr to lr and goes by `after`, so that the first update already has a rate; then it follows the formula of
 * the schedule (docs/schedules.md) and goes by `before`, so that the last update still has one. The formulas are those
 * of Megatron-LM's OptimizerParamScheduler, fairseq's cosine_lr_scheduler (restarts) and polynomial_decay_schedule; all
 * these programs go by `before` too. */
double schedule_lr(const Schedule *schedule, ScheduleCounts before, ScheduleCounts after);
/* The weight decay of the update that begins at `before`: Megatron-LM's get_wd. */
double schedule_weight_decay(const Schedule *schedule, ScheduleCounts before);
/* Whether the warm-up is over. */
bool schedule_warmed_up(const Schedule *schedule, ScheduleCounts counts);
