/* classes.h: the classes of transformers for fine-tuned encoders (BertForSequenceClassification, …) and the keys of
 * config.json that describe their classifiers. */
#pragma once

#include "model/hf/architecture.h"

/* Sets config->classifier and config->labels from the keys architectures, id2label and problem_type; a class without a
 * classifier leaves both unchanged. config->labels is never freed. */
bool hf_classifier_read(const json_t *root, const HfArchitecture *arch, ModelConfig *config, GError **error);
/* hf_classifier_shape adds a classifier to the configuration of a model without one; hf_classifier_name then names its
 * n outputs LABEL_0, LABEL_1, … It returns false if a classifier of this kind cannot have n outputs. */
void hf_classifier_shape(const HfArchitecture *arch, LabelKind kind, ModelConfig *config);
bool hf_classifier_name(ModelConfig *config, int64_t n);
/* Writes the keys that hf_classifier_read reads, for a model with a classifier. */
void hf_classifier_write(json_t *root, const HfArchitecture *arch, const ModelConfig *config);
