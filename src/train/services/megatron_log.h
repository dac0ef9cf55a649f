/* megatron_log.h: lines as Megatron-LM prints them, of the branch that trained BigScience's models: fields, order,
 * widths and digits. Losses are in nats. */
#pragma once

#include "train/services/records.h"

/* " iteration  10/ 60 | consumed samples: … | …", which begins with the time and ends with samples and FLOP per second.
 * Fields whose value is unknown are left out. g_free. */
char *megatron_train_line(const TrainRecord *record);
/* exp(loss), at most exp(20), as Megatron-LM has it. */
double megatron_perplexity(double loss);
/* " time (ms) | batch-generator: 0.12 | forward-backward: 480.11 | optimizer: 20.02": its line of timers, means per
 * step. g_free. */
char *megatron_timers_line(const TrainRecord *record);
/* " validation loss at iteration 10 | lm loss value: 2.901234E+00 | lm loss PPL: 1.819679E+01 | ". The name of a set
 * that has one comes after "loss at iteration 10 on". g_free. */
char *megatron_valid_line(const ValidRecord *record);
