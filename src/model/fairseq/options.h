/* options.h: options that a checkpoint of fairseq keeps beside its tensors: Hydra's cfg of fairseq 0.10.2 and
 * newer, or the Namespace args of before. */
#pragma once

#include "format/tensor_file.h"

/* The text of an option of the model; NULL where the checkpoint does not have it. */
const char *fairseq_option(const TensorFile *file, const char *name);
bool fairseq_flag(const TensorFile *file, const char *name); /* false where the checkpoint does not have it */
/* A rate of dropout; *out holds the default before. */
bool fairseq_rate(const TensorFile *file, const char *name, double *out, GError **error);
/* The option activation_fn, as an Activation. */
bool fairseq_activation(const TensorFile *file, int *activation, GError **error);
/* A number of heads that divides the width; an option that is not there is an error. */
bool fairseq_heads(const TensorFile *file, const char *name, int64_t width, int64_t *heads, GError **error);
/* The number of blocks, from 0 without a gap: those for which the tensor PREFIX.N.fc1.weight is there. */
int64_t fairseq_count_blocks(const TensorFile *file, const char *prefix);
/* Whether two tensors have the same type and the same bytes. */
bool fairseq_same_values(const FileTensor *a, const FileTensor *b);
