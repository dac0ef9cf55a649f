/* lm.h: imports a decoder-only language model (transformer_lm) from an opened checkpoint of fairseq. */
#pragma once

#include "model/tensor_names.h"

/* The configuration follows from the shapes of the tensors under "model" and the options under "cfg" or "args". */
Model *fairseq_lm_open(const TensorFile *file, Device *dev, GError **error);
