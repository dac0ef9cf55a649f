/* every.h: periodic actions of the trainer, with a period in steps, samples, tokens or seconds: train.log_every,
 * eval_every, save_every, save_within, exit_every. */
#pragma once

#include "run/config/config.h"

typedef struct Every {
    AmountUnit unit; /* UNIT_STEPS, UNIT_SAMPLES, UNIT_TOKENS or UNIT_SECONDS */
    double value;    /* period; 0 means never */
    double last;     /* clock_seconds() of the last occurrence */
} Every;

/* Counters of a run, and what its last step read. */
typedef struct EveryCounts {
    int64_t steps, samples, tokens;
    int64_t step_samples, step_tokens;
} EveryCounts;

/* Makes a period from an option's amount. An amount in samples, epochs or tokens is converted to steps, with two
 * exceptions: if the size of the batch changes during the run, it is converted to samples; with count_tokens an amount
 * in tokens stays in tokens. epoch_samples: samples in an epoch of the training set. A period in seconds starts at this
 * call. */
Every every_of(const Config *config, Amount amount, int64_t epoch_samples, bool count_tokens);
/* Whether a period has ended in the last step. */
bool every_due(const Every *every, const EveryCounts *counts);
/* To be called after each action: the next period in seconds starts at this call. */
void every_done(Every *every);

/* A period that changes during the run: train.save_phases, then train.save_every. */
typedef struct Phases {
    RunSpan until[SAVE_PHASES]; /* value 0 means to the end of the run */
    Every every[SAVE_PHASES + 1];
    int n; /* phases; every[n] holds after them */
} Phases;
/* The phases of a configuration that config_check has accepted. */
Phases phases_of(const Config *config, int64_t epoch_samples, bool count_tokens);
/* The period that applies at these counters. The last step of a phase still belongs to it. */
const Every *phases_at(const Phases *phases, const EveryCounts *counts);
void phases_done(Phases *phases); /* every_done for all */
/* Whether the counter that the span is compared with has reached it; false for an empty span. */
bool span_reached(RunSpan span, const EveryCounts *counts);
