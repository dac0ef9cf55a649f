/* t5.h: an encoder-decoder (transformer_t5 of METRO-T0 and AST-T5) from an opened checkpoint of fairseq. */
#pragma once

#include "model/tensor_names.h"

bool fairseq_t5_is(const TensorFile *file); /* whether the checkpoint has an encoder and a decoder */
/* The tensors under "model" give the shape, the options under "cfg" or "args" the rest. Token roles are those of
 * fairseq's dictionary: padding 1, EOS 2; of AST-T5's task the first sentinel starts the decoder and ends it. */
Model *fairseq_t5_open(const TensorFile *file, Device *dev, GError **error);
