/* fairseq_lm.h: a decoder-only language model (transformer_lm) from an opened checkpoint of fairseq. */
#pragma once

#include "model/tensor_names.h"

/* Tensor names of transformer_lm's body; the import of XGLM reads them too. */
extern const TensorName fairseq_lm_body[];

/* The tensors under "model" and the options under "cfg" or "args" give the configuration. */
Model *fairseq_lm_open(const TensorFile *file, Device *dev, GError **error);
