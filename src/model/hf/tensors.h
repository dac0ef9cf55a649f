/* tensors.h: parameters in the tensors of Hugging Face: their names, pieces and orientation. */
#pragma once

#include "format/safetensors.h"
#include "model/hf/architecture.h"
#include "param/param.h"

/* "encoder.3.self.q" -> its row and, in *theirs (g_free), "encoder.block.3.layer.0.SelfAttention.q.weight". */
const HfName *hf_name_of(const HfArchitecture *arch, const char *ours, char **theirs);
/* The shape of the tensor that holds a parameter; returns its rank. */
int hf_shape_of(const HfName *name, const ParamSpec *spec, int64_t shape[2]);
/* Reads a parameter out of its tensor, whose shape is right; out (rows,cols). */
bool hf_tensor_read(const SafeTensor *tensor, const HfName *name, const ParamSpec *spec, float *out, GError **error);
/* The other way: puts a parameter, in (rows,cols), where it lies in `tensor`, which has the whole shape. */
void hf_tensor_put(float *tensor, const HfName *name, const ParamSpec *spec, const float *in);

/* The tensors of a file by the names of `arch`: old spellings are made new, and what the file of a bare model leaves
 * out is put before. NULL: two tensors are one. Keys and tensors belong to it and to the file. */
GHashTable *hf_tensors_by_name(const HfArchitecture *arch, const SafeTensors *file, GError **error);
/* A tensor that nothing is lost with. */
bool hf_tensor_ignored(const HfArchitecture *arch, const char *name);
