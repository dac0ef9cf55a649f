/* options.h: reads the options that a checkpoint of fairseq holds beside its tensors: Hydra's "cfg" since fairseq
 * 0.10.2, or the Namespace "args" of older versions. */
#pragma once

#include "format/tensor_file.h"

/* The value of an option of the model, as text; NULL if the checkpoint does not have it. */
const char *fairseq_option(const TensorFile *file, const char *name);
bool fairseq_flag(const TensorFile *file, const char *name); /* false if the checkpoint does not have it */
/* Reads a dropout rate. On entry *out holds the default, which stays if the checkpoint does not have the option. */
bool fairseq_rate(const TensorFile *file, const char *name, double *out, GError **error);
/* The option activation_fn, as an Activation. */
bool fairseq_activation(const TensorFile *file, int *activation, GError **error);
/* Reads a number of heads; it is an error if the option is missing or does not divide the width. */
bool fairseq_heads(const TensorFile *file, const char *name, int64_t width, int64_t *heads, GError **error);
/* Number of blocks: the smallest N for which there is no tensor PREFIX.N.fc1.weight. */
int64_t fairseq_count_blocks(const TensorFile *file, const char *prefix);
/* Whether two tensors have the same type and the same bytes. */
bool fairseq_same_values(const FileTensor *a, const FileTensor *b);
