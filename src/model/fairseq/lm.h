/* lm.h: a decoder-only language model (transformer_lm) from an opened checkpoint of fairseq. fairseq.h declares its
 * tensor names. */
#pragma once

#include "model/tensor_names.h"

/* The tensors under "model" and the options under "cfg" or "args" give the configuration. */
Model *fairseq_lm_open(const TensorFile *file, Device *dev, GError **error);
