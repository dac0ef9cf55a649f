/* layer_spec.h: the numbers that layers read of a model's configuration. */
#pragma once

#include "model/model_config.h"
#include "nn/ctx.h"

/* Of all layers of a model. */
ModelSpec model_spec(const ModelConfig *config);
/* Of the embedding and the final norm of the encoder or the decoder. */
LayerSpec layer_spec_outer(const ModelConfig *config, bool decoder);
/* Of block i of the encoder or the decoder. layout: of its self-attention, NULL where that is dense. */
LayerSpec layer_spec_block(const ModelConfig *config, bool decoder, int i, const BlockLayout *layout);
