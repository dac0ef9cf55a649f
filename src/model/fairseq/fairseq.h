/* fairseq.h: models from checkpoints of fairseq (.pt): transformer_lm, and transformer_t5 of AST-T5. */
#pragma once

#include "model/tensor_names.h"

/* Optimizer and dictionary are not read. A missing, unexpected or misshapen tensor is an error that names it, as is an
 * option unknown to loam. */
Model *fairseq_import(Device *dev, const char *path, GError **error);

/* Tensor names of transformer_lm's body, which XGLM in the format of Hugging Face has, too. */
extern const TensorName fairseq_lm_body[];
