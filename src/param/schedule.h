/* schedule.h: the learning rate as a pure function of the update u = 1, 2, … and of the tokens read so far. */
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
    int kind;
    double lr, min_lr, power;
    double warmup, total; /* updates, or tokens: */
    bool warmup_in_tokens, total_in_tokens;
} Schedule;

/* lr·u/w for u <= w, then the formula of the kind (docs/options.md); never below min_lr after the warm-up. tokens: read
 * up to the end of this update; u is the tokens where the schedule counts them. */
double schedule_lr(const Schedule *schedule, int64_t update, int64_t tokens);
