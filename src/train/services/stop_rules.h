/* stop_rules.h: the options that stop a process of a run before the run ends: train.stop_after, stop_date, stop_file
 * and exit_every. */
#pragma once

#include "train/every.h"

typedef enum StopRule { STOP_NONE, STOP_AFTER, STOP_DATE, STOP_FILE, STOP_EXIT_EVERY } StopRule;

typedef struct StopRules {
    Every exit_every;
    double end;  /* clock_seconds() at which train.stop_after has passed; INFINITY means never */
    double date; /* train.stop_date in seconds since 1970; INFINITY means never */
    const char *file;
    double longest_step, longest_save; /* seconds, so far */
    double last_look;
} StopRules;

/* started: clock_seconds() at the start of the command. The configuration has been checked, and must outlive the rules.
 */
StopRules stop_rules_of(const Config *config, int64_t epoch_samples, bool count_tokens, double started);
/* Called by rank 0 after each step: the rule that stops the process now, or STOP_NONE. STOP_AFTER and STOP_DATE hold as
 * soon as the longest step and 1.2 times the longest save so far would not end in time. STOP_DATE reads the system's
 * clock at each call, so it follows a clock that was set and a machine that slept. */
StopRule stop_rules_look(StopRules *rules, const EveryCounts *counts);
/* The rule for a message, "by train.stop_after=19h50m", or "on request" for STOP_NONE. g_free. */
char *stop_rule_describe(const Config *config, StopRule rule);
