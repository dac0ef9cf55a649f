/* changes.h: the options of a run that were changed on the way, as the events in its metrics.jsonl tell. */
#pragma once

#include <glib.h>

/* The changed options that decide what is learnt, "optim.lr from 0.001 to 0.002 at step 40, train.batch from …"; NULL
 * means none. Changes before the first step count for nothing. settings: the options in RUN/config.yaml. g_free. */
char *run_changes_read(const char *dir, const GPtrArray *settings);
