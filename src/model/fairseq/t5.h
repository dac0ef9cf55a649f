/* t5.h: imports an encoder-decoder (transformer_t5 of METRO-T0 and AST-T5) from an opened checkpoint of fairseq. */
#pragma once

#include "model/tensor_names.h"

bool fairseq_t5_is(const TensorFile *file); /* whether the checkpoint has an encoder and a decoder */
/* Sizes follow from the shapes of the tensors under "model", the rest of the configuration from the options under "cfg"
 * or "args". Token roles are those of fairseq's dictionary: padding 1, EOS 2. In a model of AST-T5's task the first
 * sentinel is both the decoder start and the end token. */
Model *fairseq_t5_open(const TensorFile *file, Device *dev, GError **error);
