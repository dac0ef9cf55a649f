/* schedule.h: the learning rate as a pure function of the updates and the tokens so far. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum ScheduleKind {
    SCHEDULE_CONSTANT,
    SCHEDULE_LINEAR,
    SCHEDULE_COSINE,
    SCHEDULE_INVERSE_SQRT,
    SCHEDULE_POLYNOMIAL
} ScheduleKind;
extern const char *const schedule_names[]; /* "constant", …, NULL */

typedef struct Schedule {
    int kind;          /* ScheduleKind */
    double lr, min_lr; /* peak learning rate; lower bound after the warm-up */
    double power;      /* of the polynomial schedule */
    double warmup;     /* length of the warm-up in updates, or in tokens if warmup_in_tokens */
    double total;      /* length of training in updates, or in tokens if total_in_tokens */
    bool warmup_in_tokens, total_in_tokens;
} Schedule;

/* With u the updates, or tokens, done and w the warm-up: lr·u/w for u <= w, then the formula of the schedule
 * (docs/options.md), never below min_lr. tokens: tokens read up to the end of this update. */
double schedule_lr(const Schedule *schedule, int64_t update, int64_t tokens);
