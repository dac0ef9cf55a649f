/* recipe.h: defaults that depend on the model: by family and size (objective, lengths, batch, optimizer); by family,
 * size and optimizer (learning rate, warm-up, decay); for continued pre-training; and for fine-tuning on a task.
 * docs/defaults.md gives the source of each number. */
#pragma once

#include "run/config/config.h"

/* All functions below append settings, such as data.objective, to `settings`, a list of OptionSetting *.
 * recipe_add_model appends the defaults by family and size. */
void recipe_add_model(const ModelConfig *model, GPtrArray *settings);
/* Appends the defaults by family, size and optimizer (OptimKind). */
void recipe_add_optimizer(const ModelConfig *model, int optimizer, GPtrArray *settings);
/* For training that starts from a trained model (train.init) without a task. Appends a schedule, the default of
 * optim.rewarm, and the learning rate found in `settings` multiplied by optim.rewarm. rewarm: the value of optim.rewarm
 * that the user gave; NULL means the default. */
void recipe_add_start(const ModelConfig *model, int optimizer, const char *rewarm, GPtrArray *settings);
/* For fine-tuning on a task: appends the objective, the lengths of inputs and targets, and the length of the run. */
void recipe_add_task(const TaskConfig *task, const ModelConfig *model, GPtrArray *settings);
/* For a task with a classifier: appends settings that replace the heads of `model` by a classifier of this kind, built
 * as Hugging Face builds it for models of this shape. */
void recipe_add_classifier(const ModelConfig *model, LabelKind kind, GPtrArray *settings);
/* For fine-tuning on a task: appends the learning rate. */
void recipe_add_task_optimizer(const ModelConfig *model, int optimizer, GPtrArray *settings);
