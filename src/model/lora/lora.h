/* lora.h: low-rank adapters (LoRA, Hu et al. 2022): which linear layers of a block may have an adapter, its parameters
 * NAME.lora_a (R,in) and NAME.lora_b (out,R) of rank R, and which parameters of a model with adapters are trained. */
#pragma once

#include "model/config/config.h"
#include "nn/block.h"

typedef struct Model Model;

#define LORA_A ".lora_a"
#define LORA_B ".lora_b"

/* A linear layer of a block that may have an adapter. */
enum { LORA_LAYERS = 13 };
#define LORA_SPECS ((size_t)2 * LORA_LAYERS) /* most adapter parameters in one block */
typedef struct LoraLayer {
    const char *name;       /* name within the block: "self.q" */
    size_t field;           /* offset of its LoraW in BlockW */
    const char *members[3]; /* the parameters whose rows form its matrix, in order; a model may lack some of them */
} LoraLayer;

extern const LoraLayer lora_layers[LORA_LAYERS];

/* alpha / R; 0 without adapters. */
double lora_scale(const LoraConfig *lora);
/* Fails unless every target is a name in lora_layers. */
bool lora_check(const LoraConfig *lora, GError **error);
/* Whether the layer of this name is one of the targets, and so has an adapter. */
bool lora_has(const LoraConfig *lora, const char *layer);
/* Appends the parameters of a block's adapters to `block`, which holds n specs and has room for LORA_SPECS more.
 * Returns the number of appended specs. name_prefix: "encoder.3.". Initial values are PEFT's: lora_a uniform within ±
 * in^-1/2 (PyTorch's kaiming_uniform with a = √5), lora_b zeros. */
int lora_add_specs(const LoraConfig *lora, ParamSpec *block, int n, const char *name_prefix);
/* Whether a parameter is trained. Without adapters every parameter is; with adapters only these and the layers of a
 * classifier above the last block. */
bool lora_trains(const ModelConfig *config, const ParamSpec *spec);
/* Whether NAME is the name of an adapter's parameter: it ends in .lora_a or .lora_b. */
bool lora_is_adapter(const char *name);
/* The layer of an adapter's parameter, such as "decoder.3.self.q.lora_a"; NULL if the name is not an adapter's.
 * *prefix_bytes becomes the length of "decoder.3.". */
const LoraLayer *lora_layer_of(const char *name, size_t *prefix_bytes);
/* A copy of the model on its device without adapters: each weight w with an adapter becomes w + alpha/R b a. */
Model *lora_merged(Model *model, GError **error);
