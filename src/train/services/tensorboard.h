/* tensorboard.h: the events of RUN/tb, for TensorBoard: scalars, the options of the run and answers as text. */
#pragma once

#include "run/config/config.h"
#include "train/services/records.h"

typedef struct TensorBoard TensorBoard;

/* Opens DIR/tb for a run that continues after the point `at`, and removes events of later steps. config: the options
 * log.*. */
TensorBoard *tensorboard_open(const char *dir, RunPoint at, const LogConfig *config, GError **error);
void tensorboard_write(TensorBoard *board, const LogRecord *record);
void tensorboard_close(TensorBoard *board);
