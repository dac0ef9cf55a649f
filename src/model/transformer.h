/* transformer.h: the inside of Model, for the files of this floor. */
#pragma once

#include "model/model.h"
#include "model/params.h"

/* The arenas of a pass over a batch, or of a decoder. Measuring until memory is reserved. */
typedef struct Workspace {
    Arena save;      /* activations kept for backward */
    Arena scratch;   /* of layers, and gradients of activations */
    Arena recompute; /* one block's activations, where blocks run forward again in backward */
} Workspace;

void workspace_measure(Workspace *work);
/* Allocates what `measured` reached. */
bool workspace_reserve(Workspace *work, Device *dev, const Workspace *measured, GError **error);
void workspace_clear(Workspace *work, Device *dev);
size_t workspace_peak(const Workspace *work); /* bytes */

/* An encoder or a decoder, and what its last forward pass left behind. */
typedef struct Stack {
    bool decoder;
    int n_blocks;
    int bucket, first_block; /* buckets of its shared parameters and of its block 0 */
    Tensor *x;               /* n_blocks + 1 (N,C): the input of each block, then of the final norm */
    BlockSave *blocks;
    NormSave final_norm;
    Tensor bias; /* (H, 2 max_len - 1) */
} Stack;

struct Model {
    Device *dev;
    ModelConfig config;
    ParamStore *params;
    Stack encoder, decoder;
    Workspace work;
};

void stack_init(Stack *stack, const ModelConfig *config, bool decoder);
void stack_clear(Stack *stack);
/* The context of a stack over the rows of its stream; memory_rows is NULL in an encoder. */
Ctx stack_context(Model *model, Workspace *work, const TokenStream *rows, const TokenStream *memory_rows,
                  const ModelLoss *loss);
/* Buckets of relative positions from `first` on. */
RelposSpec stack_relpos(const Model *model, bool decoder, int32_t first);
/* Returns dropout(final_norm(blocks(embedding))) (N,C), kept in work->save. memory (M,C) makes it a decoder's. */
Tensor stack_fwd(Model *model, Stack *stack, Ctx *cx, Workspace *work, Tensor memory, const ModelLoss *loss);
/* dy is overwritten; dmemory (M,C) is added to. */
void stack_bwd(Model *model, Stack *stack, Ctx *cx, Workspace *work, Tensor dy, Tensor memory, Tensor dmemory,
               const ModelLoss *loss);

/* The head's weights, between acquire and release of its bucket. */
int model_head_bucket(const Model *model);
HeadW model_head(const Model *model, const ModelW *w, const ModelW *g);

/* The same model on the null device, with measuring arenas: it computes nothing and counts everything. */
Model *model_open_dry(const ModelConfig *config, DType real, bool gradients);
void model_close_dry(Model *model);
