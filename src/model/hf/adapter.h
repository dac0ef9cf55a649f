/* adapter.h: adapters of PEFT (LoRA): their files, and joining their tensors to those of the model that they belong to.
 */
#pragma once

#include "format/tensor_file.h"
#include "model/hf/architecture.h"

#define HF_ADAPTER_CONFIG "adapter_config.json"
#define HF_ADAPTER_PREFIX "base_model.model." /* of the names in the file */

typedef struct HfAdapter {
    LoraConfig lora; /* targets NULL until hf_adapter_join */
    char *base;      /* folder of the model without the adapter */
    LabelKind kind;  /* of the classifier that the adapter brings along where the base has none */
    TensorFile *file;
} HfAdapter;

bool hf_adapter_present(const char *folder);
/* Reads adapter_config.json and opens the tensors. What loam's adapters cannot express is an error that names the key.
 */
bool hf_adapter_open(HfAdapter *adapter, const char *folder, GError **error);
void hf_adapter_close(HfAdapter *adapter);
/* Inserts the adapter's tensors among those of the base (name with prefix -> const FileTensor *), in place of tensors
 * of the same name, and sets config->lora; its targets are a string that is never freed. */
bool hf_adapter_join(const HfAdapter *adapter, const TensorNames *names, GHashTable *tensors, ModelConfig *config,
                     GError **error);
/* adapter_config.json of a model with adapters; names: its tensors as they are exported. json_decref. */
json_t *hf_adapter_json(const HfArchitecture *arch, const ModelConfig *config, const char *base);
