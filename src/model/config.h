/* config.h: the shape of a model: options, presets, counts. */
#pragma once

#include "base/error.h"
#include "base/options.h"
#include "device/ops.h"

typedef struct ModelConfig {
    char *preset;         /* "t5-1.1-small"; "" : spelled out */
    int family;           /* FAMILY_T5 */
    int64_t n_enc, n_dec; /* blocks */
    int64_t width, ffn, heads, head_dim;
    int64_t vocab;  /* rows of the embedding; 0: the tokenizer's size rounded up to 128 */
    int activation; /* Activation */
    bool gated;
    bool tie_embeddings; /* logits from the embedding */
    bool scale_logits;   /* hidden states × width^-1/2 before the logits: T5 v1.0 */
    double dropout;
    double norm_eps;
    int64_t rel_buckets, rel_max_distance;
} ModelConfig;

typedef enum Family { FAMILY_T5 } Family;

extern const OptionRow model_options[]; /* "model.*" over ModelConfig */
extern const int n_model_options;

/* Appends the settings of a preset ("model.n_enc" …), origin "preset NAME"; unknown names are an error with the nearest
 * one. */
bool model_preset_settings(const char *name, GPtrArray *settings, GError **error);
extern const char *const model_preset_names[];
/* Rules across fields: heads, lengths, vocabulary. */
bool model_config_check(const ModelConfig *config, GError **error);
int64_t model_config_params(const ModelConfig *config); /* exact count of logical parameters */
