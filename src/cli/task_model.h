/* task_model.h: what `loam eval --task` and `loam predict` share: the task of a loaded model, and its inputs as the
 * model was trained on them. */
#pragma once

#include "eval/answer_batch.h"
#include "train/config/config.h"
#include "train/model_path.h"

/* Gives the classes of the loaded model the names of an override, such as model.labels=negative,positive. */
bool task_name_classes(const LoadedModel *loaded, char **overrides, int n_overrides, GError **error);
/* The task of the configuration. An error where it names none, or the model writes no text. */
bool task_of_model(Task *task, const Config *config, const LoadedModel *loaded, const char *model_path, GError **error);
/* What decides about the answers to a task's inputs besides the model, as text for model_hash: the options task.* but
 * its files, the lengths and the number of beams. g_free. */
char *task_settings(const Config *config, const TaskEncoder *encoder, int64_t beams);
TaskEncoder task_encoder(const Task *task, const Config *config, const LoadedModel *loaded);
