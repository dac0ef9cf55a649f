/* hf.h: model folders of Hugging Face: config.json, model.safetensors (or shards), tokenizer files. transformers 4 and
 * 5 read the folders that loam exports; loam imports folders that either version wrote. This is the header of
 * src/model/hf for the rest of the program. */
#pragma once

#include "model/model.h"

typedef struct HfForm {
    const char *dtype;   /* dtype of the tensors in the file: "F32", "BF16" or "F16" */
    bool replace;        /* the folder may hold an earlier export, which is replaced as a whole */
    int64_t shard_bytes; /* limit on the tensors' bytes per file; 0 means all tensors in one file */
    int64_t longest;     /* as in hf_write_tokenizer */
} HfForm;

/* Writes config.json, generation_config.json, model.safetensors (or shards) and, unless tok is NULL, the tokenizer's
 * files. FOLDER must be absent or empty, unless form.replace is set; after an error it is not created. */
bool hf_export(Model *model, const Tokenizer *tok, HfForm form, const char *folder, GError **error);

/* Whether hf_export can write models of this configuration; the error says why not. */
bool hf_can_export(const ModelConfig *config, GError **error);

/* Writes the adapters of a model (lora.*) as a folder that PEFT reads: adapter_config.json, adapter_model.safetensors
 * with the adapters and, if present, the trained classifier, and, unless tok is NULL, the tokenizer's files. base:
 * folder or name of the base model, for the key base_model_name_or_path; NULL writes null. If it is a folder with a
 * model, it is an error that names the parameter if one outside the adapters has other values there. */
bool hf_export_adapter(Model *model, const Tokenizer *tok, const char *base, const char *folder, GError **error);

/* Gives a bare encoder (BertModel) the layers before the projection to the vocabulary that its class with a
 * language-model head (BertForMaskedLM) has. */
void hf_add_language_head(ModelConfig *config);

/* Whether a folder holds a model of Hugging Face or a PEFT adapter. hf_import and hf_shape open an adapter with its
 * base model: the folder base_model_name_or_path, relative to the working directory or the adapter's folder. */
bool hf_is_folder(const char *folder);
/* The path of a folder's tokenizer; for an adapter without one, that of the base model. NULL means none. g_free.
 * opened: as of tokenizer_find. */
char *hf_find_tokenizer(const char *folder, Tokenizer **opened);
/* Says why a folder has no tokenizer, if it has none. */
void hf_warn_missing_tokenizer(const char *folder);
/* Replaces config->lora.targets, module names as PEFT's target_modules ("" means PEFT's default), by names of
 * lora_layers (model/lora/lora.h). */
bool hf_resolve_targets(ModelConfig *config, GError **error);

/* Opens the model in a folder. gradients: allocate memory for gradients. A missing tensor, an unexpected one, or one of
 * a wrong shape is an error that names it; buffers that older releases of transformers stored are ignored. Embeddings
 * are tied, whatever config.json says, unless the file has an lm_head that differs from the embedding. */
Model *hf_import(Device *dev, const char *folder, bool gradients, GError **error);
/* Whether a folder's model, of the second configuration, has the parameters of a model of the first. */
typedef bool (*HfSameFn)(const ModelConfig *to, const ModelConfig *folder);
/* Reads the folder's weights and token roles into `to`, of which this rank may hold a part; of the tensors only those
 * rows are read. Nothing is read, and *loaded is false, if its parameters are others (`same`). Errors: as hf_import. */
bool hf_load(Model *to, const char *folder, HfSameFn same, bool *loaded, GError **error);
/* Reads only the configuration of the model in FOLDER. Free with model_config_clear. */
bool hf_shape(const char *folder, ModelConfig *config, GError **error);

/* Names of TokenRoles.sentence beside "modules.json": the limit on a text, and the prompts before it. */
#define HF_SENTENCE_LIMITS  "sentence_bert_config.json"
#define HF_SENTENCE_PROMPTS "config_sentence_transformers.json"
/* What an entry of modules.json is: "Pooling" of "sentence_transformers.models.Pooling". */
const char *hf_sentence_module(const json_t *module);

/* Writes the tokenizer's own files (spiece.model, vocab.txt, or vocab.json and merges.txt) and tokenizer.json,
 * tokenizer_config.json and special_tokens_map.json, with which AutoTokenizer of transformers 4 and 5 gives the same
 * ids. Special tokens, and those added around texts, are those of `model`'s training; NULL means the tokenizer's.
 * longest: tokens that longer texts are truncated to, which becomes model_max_length; 0 means that of the base model,
 * at most the model's positions. */
bool hf_write_tokenizer(const char *folder, const Tokenizer *tok, const ModelConfig *model, int64_t longest,
                        GError **error);
/* Logs a line if transformers gives text beside blanks other ids with these files (tokenizer_json_keeps_blanks). */
void hf_report_blanks(const Tokenizer *tok);
