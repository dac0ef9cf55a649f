/* config_json.h: config.json and generation_config.json of Hugging Face, as transformers 4 and 5 write them. */
#pragma once

#include "model/hf/architecture.h"

/* Reads FOLDER/config.json into *config, which is zeroed. NULL with an error if loam cannot represent the model.
 * tie_embeddings is the file's value; import.c replaces it after comparing the tensors. */
const HfArchitecture *hf_config_read(const char *folder, ModelConfig *config, GError **error);
/* A config.json from which transformers 4 and 5 build this model. dtype: of the tensors, as "BF16". json_decref. */
json_t *hf_config_json(const HfArchitecture *arch, const ModelConfig *config, const TokenRoles *roles,
                       const char *dtype);
/* The architecture of model_config_architecture, even if it cannot hold the model exactly. */
const HfArchitecture *hf_architecture(const ModelConfig *config);
/* The end of a message that the stored architecture does not fit a model: "; model.architecture=auto chooses llama", if
 * that one can hold the model, else "". g_free. */
char *hf_remedy(const ModelConfig *config);
/* The architecture that a model is exported as. *fitted becomes the configuration without the heads for which the
 * architecture has no class; its strings are borrowed from `config`. NULL with an error that says why, if no
 * architecture can hold the model. */
const HfArchitecture *hf_architecture_of(const ModelConfig *config, ModelConfig *fitted, GError **error);
/* The names of the parameters of a model of this configuration, as a set. g_hash_table_unref. */
GHashTable *hf_parameter_names(const ModelConfig *fitted);

/* Reads special tokens and generation settings of a folder into *roles, which is initialized. generation_config.json,
 * if present, takes precedence over config.json. An id beyond the vocabulary is left out, with a warning. */
bool hf_roles_read(const char *folder, const HfArchitecture *arch, const ModelConfig *config, TokenRoles *roles,
                   GError **error);
/* Sets *sentence to the files of sentence-transformers in a folder (TokenRoles.sentence), if it has them; the limits
 * have the name HF_SENTENCE_LIMITS. */
bool hf_sentence_read(const char *folder, json_t **sentence, GError **error);
/* Writes these files; NULL writes none, and if they need a module that an export does not have, a warning says so. */
bool hf_sentence_write(const char *folder, const json_t *sentence, GError **error);
/* Contents of generation_config.json for a model with a decoder. n_ids: number of ids of the tokenizer; suppress_tokens
 * excludes the ids from n_ids on, which only pad the vocabulary. json_decref. */
json_t *hf_roles_generation(const TokenRoles *roles, const ModelConfig *config, int64_t n_ids);

/* ---- classifiers of fine-tuned encoders ---- */

/* hf_classifier_shape adds a classifier to the configuration of a model without one; hf_classifier_name then names its
 * n outputs LABEL_0, LABEL_1, … It returns false if a classifier of this kind cannot have n outputs. */
void hf_classifier_shape(const HfArchitecture *arch, LabelKind kind, ModelConfig *config);
bool hf_classifier_name(ModelConfig *config, int64_t n);
