/* hf_config.h: config.json of Hugging Face's T5, as transformers 4 and 5 write it. */
#pragma once

#include "model/config.h"

/* Reads FOLDER/config.json into zeroed memory. tie_embeddings is what the file says; transformers 5 always says true,
 * so the tensors decide it (hf.c). scale_logits: scale_decoder_outputs, or where that is absent tie_word_embeddings,
 * absent too: true. */
bool hf_config_read(const char *folder, ModelConfig *config, GError **error);
/* The text of a config.json that gives both generations this model. g_free. */
char *hf_config_text(const ModelConfig *config, int pad, int eos);
