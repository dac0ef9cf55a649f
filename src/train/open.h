/* open.h: models by path: a run directory (its newest sound checkpoint; RUN@best and RUN@12000 choose), a checkpoint
 * folder, or a Hugging Face folder. */
#pragma once

#include "model/model.h"
#include "text/tokenizer.h"

/* Opens the model and loads its weights. *tokenizer_path: the tokenizer that belongs to it, or NULL where none was
 * found; g_free. */
Model *model_open_path(const char *path, Device *dev, bool gradients, char **tokenizer_path, GError **error);
/* Opens a tokenizer for the model. Another one than it was trained with, where a checkpoint says which that was, is an
 * error; a warning where the user asked for this one (`given`). */
Tokenizer *model_open_tokenizer(const Model *model, const char *path, bool given, GError **error);
/* Its shape without its weights, in zeroed memory (model_config_clear); *tokenizer_path as above; *run: the folder that
 * would be its run directory, or NULL. Both to g_free, whatever the result. */
bool model_shape_path(const char *path, ModelConfig *config, char **tokenizer_path, char **run, GError **error);
/* "its model.width is 512, this model's is 256; …": every option that decides about weights and differs; NULL: none
 * does. g_free. */
char *model_shape_differences(const ModelConfig *to, const ModelConfig *from);
/* Copies every parameter; an error names the first tensor that differs in name or shape. What stands on the last stack
 * (BERT's heads, untied logits' bias) may be missing on either side: it is left as it is, with a warning. */
bool model_copy_weights(Model *to, Model *from, GError **error);
/* The checkpoint folder that PATH (run directory or checkpoint, @ allowed) means; NULL and an error if there is none.
 * Damaged ones are passed over with a warning unless asked for by name. g_free. */
char *checkpoint_find(const char *path, GError **error);
