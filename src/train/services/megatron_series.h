/* megatron_series.h: the series that Megatron-LM writes for TensorBoard, by its names: each against the iteration, and
 * again, with " vs samples" after its name, against the samples read so far. Losses are in nats. */
#pragma once

#include "format/events.h"
#include "train/services/records.h"

/* Append the series of a record to an event file; numbers that are not finite are left out. */
bool megatron_series_train(IoFile *events, const TrainRecord *record, GError **error);
/* A held-out set without a name has "lm loss validation", a set NAME "lm-loss-validation/NAME/lm loss validation". */
bool megatron_series_valid(IoFile *events, const ValidRecord *record, GError **error);
