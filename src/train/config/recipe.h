/* recipe.h: defaults that depend on the model, as two tables: by family and size (objective, lengths, batch,
 * optimizer), and by family, size and optimizer (learning rate, warm-up, decay); those of going on from a trained
 * model; and those of fine-tuning on a task.
 * docs/defaults.md gives the source of each number. */
#pragma once

#include "train/config/config.h"

/* Append settings such as "data.objective" to a list of OptionSetting *. */
void recipe_add_model(const ModelConfig *model, GPtrArray *settings);
/* optimizer: an OptimKind. timed: train.length is a time, so that the number of steps is unknown; a schedule and a
 * warm-up that need it are replaced. */
void recipe_add_optimizer(const ModelConfig *model, int optimizer, bool timed, GPtrArray *settings);
/* Where training goes on from a trained model (train.init), without a task: appends a schedule, optim.rewarm unless
 * `rewarm` is that option's value as it was given (NULL means that it was not), and the learning rate that `settings`
 * have, multiplied by optim.rewarm. timed: as in recipe_add_optimizer. */
void recipe_add_start(const ModelConfig *model, int optimizer, bool timed, const char *rewarm, GPtrArray *settings);
/* Where a task is set: the objective and the lengths of the task, the length of the run. */
void recipe_add_task(const TaskConfig *task, const ModelConfig *model, GPtrArray *settings);
/* Where a classifier is to learn a task: the head of this kind that Hugging Face puts on models of this shape, in place
 * of the heads that `model` has. */
void recipe_add_classifier(const ModelConfig *model, LabelKind kind, GPtrArray *settings);
/* The same of the optimizer: the learning rate of fine-tuning. timed: as in recipe_add_optimizer. */
void recipe_add_task_optimizer(const ModelConfig *model, int optimizer, bool timed, GPtrArray *settings);
