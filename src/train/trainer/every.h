/* every.h: what is done every so many steps, tokens or seconds: train.log_every, eval_every, save_every, save_within.
 */
#pragma once

#include "train/config/config.h"

typedef struct Every {
    AmountUnit unit; /* UNIT_STEPS, UNIT_TOKENS or UNIT_SECONDS */
    double value;    /* 0: never */
    double last;     /* clock_seconds() when it was last done, or at the start */
} Every;

/* Samples and epochs become steps, as do tokens unless count_tokens. A time counts from now. */
Every every_of(const Config *config, Amount amount, int64_t epoch_samples, bool count_tokens);
/* After `steps` steps and `tokens` tokens, of which the last step read step_tokens. */
bool every_due(const Every *every, int64_t steps, int64_t tokens, int64_t step_tokens);
/* It was done: a time counts from now. */
void every_done(Every *every);
