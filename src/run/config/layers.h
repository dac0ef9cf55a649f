/* layers.h: the layers of a configuration are its sources of settings; each layer overrides those before it: 1. the
 * model that train.init names or, if run.dir already holds a run, the values that the run saved for the options in
 * recipe_options (with train.init also for model.* and tokenizer.path); 2. the preset; 3. the YAML file; 4. the command
 * line. Options that no layer sets get the defaults of recipe.c. */
#pragma once

#include "run/config/config.h"

/* config.yaml as the last start wrote it; nobody edits it, so that edits are found. */
#define STARTED "started.yaml"
/* Appends the settings of a YAML file, under the present names of options that were renamed. In the config.yaml of a
 * run that was moved or copied, paths in the run's folder are those of the folder that it lies in now. */
bool layers_read_file(GPtrArray *settings, const char *path, GError **error);
/* All layers as one list of OptionSetting *, in which later settings override earlier ones; NULL on error. path: the
 * YAML file; NULL means none. *names (g_strfreev) becomes the names of the options that the user chose: those in
 * overrides and in `path`, except in a file that sets more than half of all options, such as a run's config.yaml. */
GPtrArray *layers_read(const char *path, char **overrides, int n_overrides, char ***names, GError **error);

/* recipe.c: defaults that depend on the model: by family and size (objective, lengths, batch, optimizer); by family,
 * size and optimizer (learning rate, warm-up, decay); for continued pre-training; and for fine-tuning on a task.
 * docs/defaults.md gives the source of each number. */

/* Applies these defaults to options that no layer sets. config: the layers have been applied to it. */
bool recipe_apply(Config *config, const GPtrArray *layers, GError **error);
/* All functions below append settings, such as data.objective, to `settings`, a list of OptionSetting *: the defaults
 * by family, size and optimizer (OptimKind). */
void recipe_add_optimizer(const ModelConfig *model, int optimizer, GPtrArray *settings);
/* For continued pre-training, from a trained model (train.init) and without task, classifier or adapters: a schedule,
 * the default of optim.rewarm, and the learning rate found in `settings` multiplied by optim.rewarm. rewarm: the value
 * of optim.rewarm that the user gave; NULL means the default. */
void recipe_add_start(const ModelConfig *model, int optimizer, const char *rewarm, GPtrArray *settings);
/* For fine-tuning on a task: the objective, the lengths of inputs and targets, and the length of the run. */
void recipe_add_task(const TaskConfig *task, const ModelConfig *model, GPtrArray *settings);
/* For a task with a classifier: settings that replace the heads of `model` by a classifier of this kind, built as
 * Hugging Face builds it for models of this shape. */
void recipe_add_classifier(const ModelConfig *model, LabelKind kind, GPtrArray *settings);
