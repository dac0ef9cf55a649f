/* every.h: things that are done periodically, every so many steps, tokens or seconds: train.log_every, eval_every,
 * save_every, save_within. */
#pragma once

#include "train/config/config.h"

typedef struct Every {
    AmountUnit unit; /* UNIT_STEPS, UNIT_TOKENS or UNIT_SECONDS */
    double value;    /* period; 0 means never */
    double last;     /* clock_seconds() of the last occurrence */
} Every;

/* The period of an amount. Amounts in samples and epochs are converted to steps; amounts in tokens are converted too,
 * unless count_tokens is set. epoch_samples: samples of an epoch of the training set. A period in time starts at the
 * call. */
Every every_of(const Config *config, Amount amount, int64_t epoch_samples, bool count_tokens);
/* Whether a period ends after `steps` steps and `tokens` tokens, step_tokens of them read by the last step. */
bool every_due(const Every *every, int64_t steps, int64_t tokens, int64_t step_tokens);
/* To be called after each occurrence: the next period in time starts at the call. */
void every_done(Every *every);
