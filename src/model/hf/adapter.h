/* adapter.h: LoRA adapters in PEFT's format: reads their files and joins their tensors with those of the base model. */
#pragma once

#include "model/hf/architecture.h"

#define HF_ADAPTER_CONFIG "adapter_config.json"
#define HF_ADAPTER_PREFIX "base_model.model." /* starts every tensor name in the file */

typedef struct HfAdapter {
    LoraConfig lora;  /* targets NULL until hf_adapter_join */
    char *base;       /* folder of the base model; g_free */
    LabelKind kind;   /* kind of the classifier that the adapter contains if the base model has none */
    TensorFile *file; /* adapter_model.safetensors or adapter_model.bin */
} HfAdapter;

/* Reads adapter_config.json and opens the file of tensors. A setting that loam's adapters cannot express is an error
 * that names its key. */
bool hf_adapter_open(HfAdapter *adapter, const char *folder, GError **error);
void hf_adapter_close(HfAdapter *adapter);
/* Inserts the adapter's tensors into `tensors` (full name -> const FileTensor *) of the base model, where they replace
 * tensors of the same name, and sets config->lora. config->lora.targets is never freed. */
bool hf_adapter_join(const HfAdapter *adapter, const TensorNames *names, GHashTable *tensors, ModelConfig *config,
                     GError **error);
/* Fails if a parameter of the model that a folder of adapters does not hold has other values than the base model in
 * `folder`, beyond the rounding to the dtype of that folder. fitted: the model's configuration without the heads for
 * which arch has no class (hf_architecture_of): no base model has these, so they are not compared. */
bool hf_check_base(Model *model, const HfArchitecture *arch, const ModelConfig *fitted, const char *folder,
                   GError **error);
/* The adapter_config.json of a model with adapters. base: name or folder of the base model, or NULL. json_decref. */
json_t *hf_adapter_json(const HfArchitecture *arch, const ModelConfig *config, const char *base);
