/* checkpoint.h: what an opened checkpoint of fairseq holds beside its tensors, and the readers of its two kinds of
 * model; only for the files of this folder. Options are Hydra's "cfg" since fairseq 0.10.2, or the Namespace "args" of
 * older versions; sizes follow from the shapes of the tensors under "model". */
#pragma once

#include "model/tensor_names.h"

#define FAIRSEQ_FIRST_ROW 2 /* row of the first position, learned or sinusoidal: fairseq's padding is id 1 */

/* The value of an option of the model, as text; NULL if the checkpoint does not have it. */
const char *fairseq_option(const TensorFile *file, const char *name);
bool fairseq_flag(const TensorFile *file, const char *name); /* false if the checkpoint does not have it */
/* Reads a number of heads; it is an error if the option is missing or does not divide the width. */
bool fairseq_heads(const TensorFile *file, const char *name, int64_t width, int64_t *heads, GError **error);
/* Number of blocks: the smallest N for which there is no tensor PREFIX.N.fc1.weight. */
int64_t fairseq_count_blocks(const TensorFile *file, const char *prefix);
/* Sets the options that are the same in all models of fairseq, and the defaults of its rates. */
void fairseq_defaults(ModelConfig *config);
/* Reads the activation and the dropout rates, and checks the configuration. */
bool fairseq_complete(const TensorFile *file, ModelConfig *config, GError **error);

/* A decoder-only language model (transformer_lm). */
Model *fairseq_lm_open(const TensorFile *file, Device *dev, GError **error);
/* An encoder-decoder (transformer_t5 of METRO-T0 and AST-T5). Token roles are those of fairseq's dictionary: padding 1,
 * EOS 2. In a model of AST-T5's task the first sentinel is both the decoder start and the end token. */
Model *fairseq_t5_open(const TensorFile *file, Device *dev, GError **error);
bool fairseq_t5_is(const TensorFile *file); /* whether the checkpoint has an encoder and a decoder */
