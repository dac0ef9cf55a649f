/* lora.h: low-rank adapters (LoRA, Hu et al. 2022): which linear layers of a block may have one, its parameters
 * NAME.lora_a (r,in) and NAME.lora_b (out,r), and which parameters of a model with adapters are trained. */
#pragma once

#include "model/config/config.h"
#include "nn/block.h"
#include "param/param.h"

typedef struct Model Model;

#define LORA_A     ".lora_a"
#define LORA_B     ".lora_b"
#define LORA_SPECS ((size_t)2 * LORA_SITES) /* most parameters of adapters in a block */

/* A linear layer of a block. */
typedef struct LoraLayer {
    const char *name;       /* without "encoder.0.": "self.q" */
    size_t field;           /* offset of its LoraW in BlockW */
    const char *members[3]; /* the parameters that make up its rows, in order; the model may lack some */
} LoraLayer;

extern const LoraLayer lora_layers[LORA_SITES];

/* alpha / r; 0 without adapters. */
double lora_scale(const LoraConfig *lora);
/* An error unless every target is the name of an entry of lora_layers. */
bool lora_check(const LoraConfig *lora, GError **error);
/* Whether the layer is one of the targets. */
bool lora_has(const LoraConfig *lora, LoraSite site);
/* Appends the adapters of a block to its n specs, which has room for them. Returns their number. name_prefix:
 * "encoder.3.". PEFT's initial values: a uniform within ± in^-1/2 (Kaiming's with a = √5), b zeros. */
int lora_add_specs(const LoraConfig *lora, ParamSpec *block, int n, const char *name_prefix);
/* Whether a parameter is trained: without adapters every one is, with them adapters and what a classifier adds above
 * the last block. */
bool lora_trains(const ModelConfig *config, const ParamSpec *spec);
bool lora_is_adapter(const char *name);
/* The entry of lora_layers that an adapter's parameter "decoder.3.self.q.lora_a" belongs to; LORA_SITES means that the
 * name is no such. *prefix_bytes becomes the length of "decoder.3.". */
LoraSite lora_site_of(const char *name, size_t *prefix_bytes);
/* A copy of the model on its device, without adapters: w + alpha/r b a in place of each w that has one. */
Model *lora_merged(Model *model, GError **error);
