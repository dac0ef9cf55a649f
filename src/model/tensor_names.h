/* tensor_names.h: the parameters of a model in another program's file of tensors: their names there, their orientation,
 * and tensors that hold several parameters. One TensorNames describes the files of one architecture. */
#pragma once

#include "format/tensor_file.h"
#include "model/model.h"

/* A parameter and the tensor that holds it. # stands for a number, * for letters and numbers without a dot; both names
 * have the same # and *, in the same order. The first entry that fits a parameter counts. A parameter NAME.bias that no
 * entry fits has the tensor of NAME, with .bias in place of .weight. The adapter NAME.lora_a has the tensor of NAME
 * with .lora_A.weight in place of .weight, as PEFT names it. */
typedef struct TensorName {
    const char *ours;   /* "encoder.#.self.q" */
    const char *theirs; /* "encoder.layer.#.attention.self.query.weight" */
    bool transposed;    /* the tensor is (in, out), the parameter (out, in) */
    int part, n_parts;  /* the parameter is part `part` of n_parts equal parts of the tensor along out; n_parts 0 means
                           that it is all of the tensor */
} TensorName;

/* clang-format off */
#define TENSOR(ours, theirs)                       { ours, theirs, false, 0, 0 }
#define TENSOR_TRANSPOSED(ours, theirs)            { ours, theirs, true, 0, 0 }
#define TENSOR_PART(ours, theirs, i, n)            { ours, theirs, false, i, n }
#define TENSOR_TRANSPOSED_PART(ours, theirs, i, n) { ours, theirs, true, i, n }
/* clang-format on */

/* Each list ends with an entry of NULL. */
typedef struct TensorNames {
    const char *model;          /* for messages: "BertForPreTraining" */
    const char *prefix;         /* stands before every name of `body`: "bert."; "" means none */
    const TensorName *body;     /* embeddings and blocks */
    const TensorName *heads;    /* names without the prefix; NULL means none */
    const char *const *ignored; /* whole names, with # and *, of tensors that are skipped: some releases store constants
                                   and copies of other tensors; NULL means none */
} TensorNames;

/* The entry of a parameter, "encoder.3.self.q", and in *theirs (g_free) the name of its tensor,
 * "bert.encoder.layer.3.attention.self.query.weight"; NULL where the architecture has no such parameter. */
const TensorName *tensor_name_of(const TensorNames *names, const char *ours, char **theirs);
/* Whether a tensor belongs to a head: to the module (the name up to its last dot) of an entry of names->heads. */
bool tensor_name_is_head(const TensorNames *names, const char *theirs);
/* The shape of the tensor that holds a parameter; returns its rank. */
int tensor_name_shape(const TensorName *name, const ParamSpec *spec, int64_t shape[2]);
/* Reads a parameter (rows, cols) out of its tensor, whose shape has been checked. */
bool tensor_name_read(const FileTensor *tensor, const TensorName *name, const ParamSpec *spec, float *out,
                      GError **error);
/* The reverse: copies a parameter (rows, cols) to its elements of `tensor`, which has the whole tensor's shape. */
void tensor_name_write(float *tensor, const TensorName *name, const ParamSpec *spec, const float *in);

/* The tensors whose names start with `prefix`: name -> const FileTensor *, borrowed from the file. */
GHashTable *tensor_names_select(const TensorFile *file, const char *prefix);
/* A model of this configuration whose parameters are read from `tensors` (name -> const FileTensor *). A missing,
 * unexpected or misshapen tensor is an error that names it, found before memory is allocated; a second matrix for tied
 * logits is ignored. shaped_by says in messages where the shapes come from: "config.json makes it". */
Model *tensor_names_open_model(const TensorNames *names, GHashTable *tensors, const char *shaped_by, Device *dev,
                               const ModelConfig *config, bool gradients, GError **error);
