/* classes.h: the classes of transformers for fine-tuned encoders (BertForSequenceClassification, …) and what
 * config.json says of them. */
#pragma once

#include "model/hf/architecture.h"

/* Sets config->classifier and labels from architectures, id2label and problem_type; a class without a classifier leaves
 * them alone. labels is a string that is never freed. */
bool hf_classifier_read(const json_t *root, const HfArchitecture *arch, ModelConfig *config, GError **error);
/* Gives a model without a classifier one, whose classes hf_classifier_name sets by the number of its outputs: LABEL_0,
 * LABEL_1 …; false where such a classifier does not have so many. */
void hf_classifier_shape(const HfArchitecture *arch, LabelKind kind, ModelConfig *config);
bool hf_classifier_name(ModelConfig *config, int64_t n);
void hf_classifier_write(json_t *root, const HfArchitecture *arch, const ModelConfig *config);
