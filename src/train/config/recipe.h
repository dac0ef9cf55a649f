/* recipe.h: defaults that depend on the model: by family and size (objective, lengths, batch, optimizer); by family,
 * size and optimizer (learning rate, warm-up, decay); for continued pre-training; and for fine-tuning on a task.
 * docs/defaults.md gives the source of each number. */
#pragma once

#include "train/config/config.h"

/* All functions append settings, such as data.objective, to a list of OptionSetting *. This one: the defaults by family
 * and size. */
void recipe_add_model(const ModelConfig *model, GPtrArray *settings);
/* The defaults by family, size and optimizer (OptimKind). timed: train.length is a time, so the number of steps is
 * unknown; a schedule or warm-up that needs it is replaced. */
void recipe_add_optimizer(const ModelConfig *model, int optimizer, bool timed, GPtrArray *settings);
/* For training from a trained model (train.init) without a task: a schedule, optim.rewarm unless the user set it
 * (rewarm: the given value; NULL means not set), and the learning rate already in `settings`, multiplied by
 * optim.rewarm. timed: as in recipe_add_optimizer. */
void recipe_add_start(const ModelConfig *model, int optimizer, bool timed, const char *rewarm, GPtrArray *settings);
/* For fine-tuning on a task: its objective and lengths, and the length of the run. */
void recipe_add_task(const TaskConfig *task, const ModelConfig *model, GPtrArray *settings);
/* For a task that a classifier learns: the classifier of this kind that Hugging Face uses for models of this shape,
 * instead of the heads of `model`. */
void recipe_add_classifier(const ModelConfig *model, LabelKind kind, GPtrArray *settings);
/* For fine-tuning on a task: the learning rate. timed: as in recipe_add_optimizer. */
void recipe_add_task_optimizer(const ModelConfig *model, int optimizer, bool timed, GPtrArray *settings);
