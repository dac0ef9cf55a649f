/* classes.h: the classes of transformers for fine-tuned encoders (BertForSequenceClassification, …) and what
 * config.json says of them. */
#pragma once

#include "model/hf/architecture.h"

/* Sets config->classifier and labels from architectures, id2label and problem_type; a class without a classifier leaves
 * them alone. labels is a string that is never freed. */
bool hf_classifier_read(const json_t *root, const HfArchitecture *arch, ModelConfig *config, GError **error);
void hf_classifier_write(json_t *root, const HfArchitecture *arch, const ModelConfig *config);
