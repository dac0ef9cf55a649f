/* task_model.h: shared by `loam eval --task` and `loam predict`: the task of a loaded model, and the encoding of its
 * inputs as in training. */
#pragma once

#include "eval/answer_batch.h"
#include "run/config/config.h"
#include "run/model_path.h"

/* If an override sets model.labels (model.labels=negative,positive), renames the classes of the loaded model. */
bool task_name_classes(const LoadedModel *loaded, char **overrides, int n_overrides, GError **error);
/* Reads the configured task. Fails if none is configured, or if the model can neither generate text nor classify. */
bool task_of_model(Task *task, const Config *config, const LoadedModel *loaded, const char *model_path, GError **error);
/* All settings that determine the answers to a task's inputs, besides the model, as text for model_hash: the options
 * task.* except its files, the lengths and the number of beams. g_free. */
char *task_settings(const Config *config, const TaskEncoder *encoder, int64_t beams);
/* Calls config_task_encoder for the loaded model. */
TaskEncoder task_encoder(const Task *task, const Config *config, const LoadedModel *loaded);
