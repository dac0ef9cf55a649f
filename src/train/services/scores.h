/* scores.h: the examples that evaluations answer: those of the run's task, or of held-out sets that were made from
 * tasks (task_set.h). */
#pragma once

#include "train/trainer.h"

guint scores_count(const Trainer *t); /* tasks whose examples are answered */
/* The score that train.best names; NULL means the held-out loss. */
const char *scores_best_name(const Trainer *t);
/* A hash of the examples that are answered and their right answers. */
uint64_t scores_hash(const Trainer *t);
/* Answers the examples. */
bool scores_run(const Trainer *t, GError **error);
/* Records the metrics of the last scores_run, for the logs. */
void scores_report(const Trainer *t);
/* The score scores_best_name of the last scores_run; NaN if it has none. */
double scores_best(const Trainer *t);
