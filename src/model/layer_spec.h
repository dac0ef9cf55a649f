/* layer_spec.h: ModelSpec and LayerSpec, which layers read, from a ModelConfig. */
#pragma once

#include "model/model_config.h"
#include "nn/ctx.h"

/* The ModelSpec that all layers of a model share. */
ModelSpec model_spec(const ModelConfig *config);
/* The LayerSpec of the embedding and the final norm of the encoder or the decoder. */
LayerSpec layer_spec_outer(const ModelConfig *config, bool decoder);
/* The LayerSpec of block i of the encoder or the decoder. layout: of its self-attention; NULL means dense. */
LayerSpec layer_spec_block(const ModelConfig *config, bool decoder, int i, const BlockLayout *layout);
