/* tensor_names.h: maps the parameters of a model to the tensors in another program's file: their names, transposed
 * matrices, and tensors that hold several parameters. One TensorNames describes the files of one architecture. */
#pragma once

#include "format/tensor_file.h"
#include "model/model.h"

/* Maps a parameter to the tensor that holds it. In both names # stands for a number and * for characters other
 * than a dot; they occur in the same order in both. The first entry that matches a parameter is used. If no entry
 * matches a parameter NAME.bias, its tensor is that of NAME with .bias in place of .weight. The tensor of an adapter
 * NAME.lora_a is that of NAME with .lora_A.weight in place of .weight, as PEFT names it. */
typedef struct TensorName {
    const char *ours;   /* "encoder.#.self.q" */
    const char *theirs; /* "encoder.layer.#.attention.self.query.weight" */
    bool transposed;    /* the tensor is (in, out), the parameter (out, in) */
    int part, n_parts;  /* the tensor holds n_parts parameters of equal size along its out dimension, and this parameter
                           is number `part` from 0; n_parts 0 means that the tensor holds only this parameter */
} TensorName;

/* clang-format off */
#define TENSOR(ours, theirs)                       { ours, theirs, false, 0, 0 }
#define TENSOR_TRANSPOSED(ours, theirs)            { ours, theirs, true, 0, 0 }
#define TENSOR_PART(ours, theirs, i, n)            { ours, theirs, false, i, n }
#define TENSOR_TRANSPOSED_PART(ours, theirs, i, n) { ours, theirs, true, i, n }
/* clang-format on */

/* A tensor that holds no parameter. */
typedef struct IgnoredTensor {
    const char *theirs;  /* full name, with # and * */
    const char *copy_of; /* the parameter whose tensor it must equal, or COUNTS_UP; NULL means that it may have any
                            values, since the program whose files these are does not read them either */
} IgnoredTensor;

#define COUNTS_UP "0, 1, 2, …" /* integers along the last dimension; a tensor of floats may have any values */

/* Each list ends with an entry of NULL. */
typedef struct TensorNames {
    const char *model;            /* for messages: "BertForPreTraining" */
    const char *prefix;           /* starts every tensor name of `body`: "bert."; "" means none */
    const TensorName *body;       /* embeddings and blocks */
    const TensorName *heads;      /* names without the prefix; NULL means none */
    const IgnoredTensor *ignored; /* constants and copies, which some releases store; NULL means none */
} TensorNames;

/* The entry for a parameter such as "encoder.3.self.q"; NULL if the architecture has no such parameter. *theirs
 * (g_free) becomes the name of its tensor, "bert.encoder.layer.3.attention.self.query.weight". */
const TensorName *tensor_name_of(const TensorNames *names, const char *ours, char **theirs);
/* Whether a tensor belongs to an output head: names->heads has its module (the name up to the last dot). */
bool tensor_name_is_head(const TensorNames *names, const char *theirs);
/* The entry of names->ignored for a tensor; NULL if there is none. */
const IgnoredTensor *tensor_name_ignored(const TensorNames *names, const char *theirs);
/* Computes the shape of the tensor that holds a parameter; returns its number of dimensions. */
int tensor_name_shape(const TensorName *name, const ParamSpec *spec, int64_t shape[2]);
/* Reads rows [first, first + n) of a parameter, out (n, cols), from its tensor, whose shape has been checked. */
bool tensor_name_read(const FileTensor *tensor, const TensorName *name, const ParamSpec *spec, int64_t first, int64_t n,
                      float *out, GError **error);
/* The reverse of tensor_name_read: copies a parameter (rows, cols) to its elements of the whole tensor `tensor`. */
void tensor_name_write(float *tensor, const TensorName *name, const ParamSpec *spec, const float *in);

/* The tensors whose names start with `prefix`: name -> const FileTensor *, borrowed from the file. */
GHashTable *tensor_names_select(const TensorFile *file, const char *prefix);
/* Reads those rows of a model's parameters that this rank holds. Errors as of tensor_names_open_model. */
bool tensor_names_load(const TensorNames *names, GHashTable *tensors, const char *shaped_by, Model *model,
                       GError **error);
/* Opens a model of this configuration and reads its parameters from `tensors` (name -> const FileTensor *). A missing
 * tensor, an unexpected one, one of a wrong shape, or a copy that is none is an error that names it, found before
 * memory is allocated; a separate lm_head is ignored if embeddings are tied. shaped_by is the part of an error message
 * that says where the expected shapes come from: "config.json makes it". */
Model *tensor_names_open_model(const TensorNames *names, GHashTable *tensors, const char *shaped_by, Device *dev,
                               const ModelConfig *config, bool gradients, GError **error);

/* ---- fairseq.c: models from checkpoints of fairseq (.pt): transformer_lm, and transformer_t5 of AST-T5 ---- */

/* Imports the model in the file PATH, without optimizer state and dictionary. A missing tensor, an unexpected one, one
 * of a wrong shape, or an unknown option is an error that names it. */
Model *fairseq_import(Device *dev, const char *path, GError **error);

/* Tensor names of the embeddings and blocks of transformer_lm; Hugging Face's XGLM uses the same names. */
extern const TensorName fairseq_lm_body[];

/* ---- t5x.c: imports a T5 from a legacy checkpoint of T5X: one MessagePack file of Flax arrays ---- */

/* PATH is the file, or the folder that holds it as `checkpoint`. The model's configuration follows from the shapes of
 * the arrays; T5X's optimizer state is not read. A missing, unexpected or misshapen array is an error that names it. */
Model *t5x_import(Device *dev, const char *path, GError **error);
