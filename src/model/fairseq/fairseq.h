/* fairseq.h: models from checkpoints of fairseq (.pt): transformer_lm, and transformer_t5 of AST-T5. */
#pragma once

#include "model/tensor_names.h"

/* Imports the model in the file PATH, without optimizer state and dictionary. A missing tensor, an unexpected one, one
 * of a wrong shape, or an unknown option is an error that names it. */
Model *fairseq_import(Device *dev, const char *path, GError **error);

/* Tensor names of the embeddings and blocks of transformer_lm; Hugging Face's XGLM uses the same names. */
extern const TensorName fairseq_lm_body[];
