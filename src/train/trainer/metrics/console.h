/* console.h: what rank 0 prints at a log line and after an evaluation, in the form that log.format names: loam's own,
 * or the lines of fairseq or Megatron-LM, for scripts that read those. */
#pragma once

#include "train/config/config.h"
#include "train/trainer/metrics/records.h"

/* Prints nothing for LOG_FAIRSEQ, whose lines fairseq_log.h prints. */
void console_train(int format, const TrainRecord *record);
void console_valid(int format, const ValidRecord *record);
