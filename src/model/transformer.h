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
    LayerSpec outer;         /* of the embedding and the final norm */
    LayerSpec *layers;       /* (n_blocks) */
    Tensor *x;               /* n_blocks + 1 (N,C): the input of each block, then of the final norm */
    BlockSave *blocks;
    EmbeddingSave embed;
    NormSave final_norm;
    Tensor bias;           /* (H, 2 max_len - 1), or NO_TENSOR */
    Tensor sinusoids;      /* (max_len, C), or NO_TENSOR */
    BlockLayout **layouts; /* (n_blocks), or NULL */
    void *layout_memory;   /* of the device: their integers */
} Stack;

struct Model {
    Device *dev;
    ModelConfig config;
    ModelSpec spec; /* of the config, for layers */
    TokenRoles roles;
    ParamStore *params;
    char *tokenizer_hash; /* or NULL */
    Stack encoder, decoder;
    TokenStream *behind_memory; /* of the encoder's last batch; NULL where there is no memory */
    Tensor sums;                /* (2 XENT_STATS) f64 of the passes since model_take_sums: of tokens, of labels */
    Workspace work;
};

/* What layers read of a configuration: all of them, the embedding and the final norm of a stack, its block i. */
ModelSpec model_spec(const ModelConfig *config);
LayerSpec layer_spec_outer(const ModelConfig *config, bool decoder);
LayerSpec layer_spec_block(const ModelConfig *config, bool decoder, int i, const BlockLayout *layout);
/* The encoder's stream, its memory tokens included, for as long as work->save is not reset. */
Tokens encoder_upload(Model *model, Workspace *work, const TokenStream *enc);
/* false: no memory. */
bool stack_init(Stack *stack, Device *dev, const ModelConfig *config, bool decoder);
void stack_clear(Stack *stack, Device *dev);
/* The context of a stack over the tokens of its stream; encoder_tokens are those of the encoder, if a decoder has one.
 * Its layer is stack->outer. */
Ctx stack_context(Model *model, const Stack *stack, Workspace *work, const Tokens *tokens, const Tokens *encoder_tokens,
                  const ModelLoss *loss);
/* The same context within block i. */
Ctx stack_layer(const Ctx *cx, const Stack *stack, int i);
/* What there is to know of positions that are not learned, into stack->bias, stack->sinusoids and cx->rotary, in
 * work->save: relative positions from `first` on, n of them, and the position ids below n_places. */
void stack_positions(Model *model, Stack *stack, Ctx *cx, Workspace *work, const StackW *w, int32_t first, int32_t n,
                     int32_t n_places);
void stack_embed(Model *model, Stack *stack, const Ctx *cx, Tensor x, const StackW *w);
/* y = final_norm(x), or x itself. */
Tensor stack_final_norm(const Ctx *cx, Tensor x, const StackW *w, NormSave *save);
/* Returns dropout(final_norm(blocks(embedding))) (N,C), kept in work->save. memory (M,C), or NO_TENSOR. */
Tensor stack_fwd(Model *model, Stack *stack, Ctx *cx, Workspace *work, Tensor memory, const ModelLoss *loss);
/* dy is overwritten; dmemory (M,C), absent where memory is, is added to. */
void stack_bwd(Model *model, Stack *stack, const Ctx *cx, Workspace *work, Tensor dy, Tensor memory, Tensor dmemory,
               const ModelLoss *loss);

/* The weights of what stands on the last stack: the embedding's and the head's buckets in one ModelW. */
void model_head_acquire(Model *model, ModelW *w);
void model_head_release(Model *model);
/* beta is that of the gradients g. */
HeadW model_head(const Model *model, const ModelW *w, const ModelW *g, float beta);

/* The same model on the null device, with measuring arenas: it computes nothing and counts everything. */
Model *model_open_dry(const ModelConfig *config, Precision precision, bool gradients);
void model_close_dry(Model *model);
