/* model_path.h: opens the model that a path names: a run directory, a checkpoint folder, or a Hugging Face folder. A
 * run directory means its newest valid checkpoint, or its best one if run_means_best; RUN@latest, RUN@best and
 * RUN@12000 (a step) choose a checkpoint explicitly. */
#pragma once

#include "model/model.h"
#include "run/run_dir.h"

/* Opens a model and loads its weights. gradients: allocate memory for gradients. Unless tokenizer_path is NULL,
 * *tokenizer_path becomes the tokenizer beside the model, or NULL if there is none; g_free. */
Model *model_open_path(const char *path, Device *dev, bool gradients, char **tokenizer_path, GError **error);

/* A trained model on its device, with its tokenizer. g_auto(LoadedModel) closes it. */
typedef struct LoadedModel {
    Device *dev;
    Model *model;
    Tokenizer *tok; /* NULL means none */
} LoadedModel;
typedef struct LoadedModelSource {
    const char *path;      /* path of the model */
    const char *tokenizer; /* path of the tokenizer given by the user; NULL means the tokenizer beside the model */
    const char *otherwise; /* path of the tokenizer to use if there is none beside the model; NULL and "" mean none */
    const char *blanks;    /* see tokenizer_set_blanks; NULL and "" mean as the tokenizer's folder says */
    const char *advice; /* end of the error message if no tokenizer is found ("give --tokenizer FILE"); NULL means that
                           a tokenizer is optional */
    const char *precision_name; /* --precision; NULL means `precision` */
    const Precision
        *precision; /* NULL means the precision that the model was trained in, or f32 if it does not belong to a run */
    int threads;    /* compute threads; 0 means OMP_NUM_THREADS if it is set, else one per core */
    const char *device; /* name as in compute_device_check; NULL means "cpu" */
} LoadedModelSource;
/* If the tokenizer is not the one that the model was trained with, as its hash shows, this is an error, or a warning if
 * source->tokenizer names it. */
bool loaded_model_open(LoadedModel *loaded, const LoadedModelSource *source, GError **error);
void loaded_model_close(LoadedModel *loaded);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LoadedModel, loaded_model_close)

/* Tells how many ids of another program's model with a decoder, from PATH, are none of its tokenizer's, unless its
 * suppress_tokens has some, as an export of loam has all of them. */
void model_tell_padding(Model *model, const Tokenizer *tok, const char *path);

/* *run becomes the run directory whose options are those of the model: of a run, of RUN@best, or of a checkpoint in
 * RUN/checkpoints; NULL otherwise. g_free. Fails if PATH names a run that lost its config.yaml. */
bool model_find_run(char **run, const char *path, GError **error);

/* Reads only the configuration of a model, into zeroed memory; free with model_config_clear. *tokenizer_path becomes
 * the tokenizer beside the model, or NULL; g_free, also after an error. */
bool model_shape_path(const char *path, ModelConfig *config, char **tokenizer_path, GError **error);
/* Describes the differences of two configurations in options that determine the shape or the meaning of weights: "its
 * model.width is 512, this model's is 256; …", where "its" means `from`. NULL means no difference. g_free. */
char *model_shape_differences(const ModelConfig *to, const ModelConfig *from);
/* Copies every parameter; an error names the first parameter that differs in name or shape. If both models have the
 * same adapters (lora.*), these are copied; otherwise those of `from` are merged into the copied weights, and those of
 * `to` stay. Parameters of the pooler or the language-model head that only one model has are skipped with a warning. */
bool model_copy_weights(Model *to, Model *from, GError **error);
/* If PATH names a checkpoint or a Hugging Face folder of a model with the same parameters, loads from it the weights
 * that `to` holds, and sets *loaded and *tokenizer_path (as model_open_path does): a rank then has no copy of the whole
 * model. For any other model *loaded becomes false, and nothing changes. */
bool model_load_path(Model *to, const char *path, bool *loaded, char **tokenizer_path, GError **error);

/* Calls `open` for the checkpoint that PATH names; for a run directory, the best one if run_means_best, else the newest
 * valid one (run_open_newest). Returns its folder (g_free), or NULL on error, as for a Hugging Face folder. */
char *checkpoint_open(const char *path, RunOpenFn open, void *context, GError **error);
