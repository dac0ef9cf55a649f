/* fairseq_lm.h: a decoder-only language model (transformer_lm) from a checkpoint of fairseq (.pt). */
#pragma once

#include "model/tensor_names.h"

/* Tensor names of transformer_lm's body; the import of XGLM reads them too. */
extern const TensorName fairseq_lm_body[];

/* The tensors under "model" and the options under "cfg" or "args" give the configuration; optimizer and dictionary are
 * not read. A missing, unexpected or misshapen tensor is an error that names it, as is an option unknown to loam. */
Model *fairseq_import(Device *dev, const char *path, GError **error);
