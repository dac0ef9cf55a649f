/* model_path.h: opens what the user names by a path: a run directory (its newest undamaged checkpoint, or the best
 * one of a run that chose by it; RUN@latest, RUN@best and RUN@12000 choose another), a checkpoint folder, or a Hugging
 * Face folder. */
#pragma once

#include "model/model.h"
#include "text/tokenizer.h"
#include "train/run_dir.h"

/* Opens a model and loads its weights. gradients: whether it is to be trained. *tokenizer_path (may be NULL) is the
 * tokenizer that lies with the model, or NULL where there is none; g_free. */
Model *model_open_path(const char *path, Device *dev, bool gradients, char **tokenizer_path, GError **error);

/* A model on its device and the tokenizer that belongs to it, for verbs that run a trained model; g_auto closes it. */
typedef struct LoadedModel {
    Device *dev;
    Model *model;
    Tokenizer *tok; /* NULL means none */
} LoadedModel;
typedef struct LoadedModelSource {
    const char *path;      /* path of the model */
    const char *tokenizer; /* path of the tokenizer (command line); NULL means the one that lies with the model */
    const char *otherwise; /* tokenizer to use where none lies with the model; NULL and "" mean none */
    const char *advice;    /* end of the error where no tokenizer is found ("give --tokenizer FILE"); NULL means that
                              a model without tokenizer is no error */
    const Precision *precision; /* NULL means that of the run that the model is of, or f32 where it is of none */
    int threads;                /* 0 means one per core */
    const char *device;         /* train/compute_device.h; NULL means "cpu" */
} LoadedModelSource;
/* A tokenizer whose hash is not the one that the model was trained with is an error, or a warning where
 * source->tokenizer names it. */
bool loaded_model_open(LoadedModel *loaded, const LoadedModelSource *source, GError **error);
void loaded_model_close(LoadedModel *loaded);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LoadedModel, loaded_model_close)

/* Reads the configuration of a model without its weights, into zeroed memory (model_config_clear). *tokenizer_path is
 * the tokenizer that lies with the model, NULL where there is none. *run is the run directory of a checkpoint, NULL for
 * a Hugging Face folder. g_free both, also on error. */
bool model_shape_path(const char *path, ModelConfig *config, char **tokenizer_path, char **run, GError **error);
/* Describes the options that determine the shape or the meaning of weights and have other values in `from`: "its
 * model.width is 512, this model's is 256; …". NULL means that none has. g_free. */
char *model_shape_differences(const ModelConfig *to, const ModelConfig *from);
/* Copies every parameter; an error names the first one that differs in name or shape. Adapters (lora.*) are copied to a
 * model that has the same; else they are merged into the weights, and adapters of `to` are left as they are. Parameters
 * of heads (the pooler and the language-model head) that only one of the models has are left as they are, with a
 * warning. */
bool model_copy_weights(Model *to, Model *from, GError **error);

/* Calls `open` for the checkpoint that PATH names: for a run directory the newest undamaged one (run_open_newest).
 * Returns the checkpoint's folder, g_free; NULL on an error, such as a PATH that is a Hugging Face folder. */
char *checkpoint_open(const char *path, RunOpenFn open, void *context, GError **error);
