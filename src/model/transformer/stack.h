/* stack.h: a stack is an encoder or a decoder, or a stage's part of one: embedding, blocks and final norm, forward and
 * backward over one microbatch. N: tokens of the stack; E: tokens of the encoder; C: width; H: heads. */
#pragma once

#include "model/memory/memory.h"
#include "model/params/params.h"
#include "param/shard.h"

/* An encoder or decoder, or a stage's part of one: everything that all microbatches share. */
typedef struct Stack {
    Device *dev;
    const ModelConfig *config;
    ParamStore *params;
    TensorParallel *tp;    /* the tensor-parallel ranks, which divide the matrices of blocks */
    ContextParallel *cp;   /* the context-parallel ranks, which divide the tokens of a slot */
    const Fp8Scales *fp8;  /* scales, used in passes with gradients; NULL means no FP8 */
    StagePart part;        /* the blocks of the encoder or decoder that this stage has */
    ModelSpec spec;        /* the part of config that layers read */
    LayerSpec outer;       /* spec of the embedding and of the final norm */
    LayerSpec *layers;     /* (n_blocks) spec of each block */
    int bucket;            /* index of the bucket whose view struct is StackW */
    int block_bucket;      /* bucket of block 0 of the whole encoder or decoder */
    BlockLayout **layouts; /* (n_blocks) layouts of block-sparse attention; an element NULL means dense attention */
} Stack;

/* One pass of a microbatch through a stack, with the activations that backward needs. */
typedef struct StackPass {
    const Stack *stack;
    const ModelLoss *loss;
    Arena *recompute;           /* activations of one block, which backward computes again with loss->recompute */
    Ctx cx;                     /* context of the embedding and the final norm; cx.tokens points at `tokens` below */
    Tokens tokens;              /* the N tokens */
    Tensor *x;                  /* (n_blocks + 1) tensors (N,C): the input of each block, then the output of the last */
    BlockSave *blocks;          /* (n_blocks) */
    NormSave embed, final_norm; /* saved for the norm after the embedding and for the final norm */
    Tensor bias;                /* (H, 2 max_len - 1) relative-position bias; NO_TENSOR if the model has none */
    Tensor sinusoids;           /* (max_len, C) sinusoidal position embeddings; NO_TENSOR if the model has none */
} StackPass;

/* Returns false if out of memory for the layouts. config and params must outlive the stack. */
bool stack_init(Stack *stack, Device *dev, const ModelConfig *config, ParamStore *params, Stage stage, bool decoder);
void stack_clear(Stack *stack);
static inline int stack_blocks(const Stack *stack)
{
    return stack->part.end - stack->part.first;
}

void stack_pass_init(StackPass *pass, const Stack *stack);
void stack_pass_clear(StackPass *pass);
/* Sets pass->cx; the caller has set pass->tokens. encoder_tokens: the tokens of the encoder output; NULL means none.
 * Activations kept for backward go into `save`, others into the arenas of `work`. *loss must outlive the pass. */
void stack_context(StackPass *pass, Workspace *work, Arena *save, const Tokens *encoder_tokens, const ModelLoss *loss);
/* Iterates over this stage's blocks, from the first to the last, or with `back` from the last to the first, together
 * with their gradients:
 *     for (BlockWalk walk = { .pass = pass, .back = …}; stack_walk_next(&walk);)
 * The other fields describe the current block until the next stack_walk_next, which marks its gradients as ready. */
typedef struct BlockWalk {
    const StackPass *pass;
    bool back;     /* from the last block to the first, with gradients */
    int n_visited; /* number of blocks so far, this one included */
    int here, i;   /* index of the block: `here` counts in this stage, i in the whole encoder or decoder */
    Ctx cx;        /* context of the block; the caller may change it */
    BlockW w, g;   /* weights and gradients; g is absent unless `back` */
    float beta;    /* factor on the old gradients: g = beta g + new */
} BlockWalk;

/* Moves to the next block; false after the last one. */
bool stack_walk_next(BlockWalk *walk);
/* Computes the position tables: pass->bias for the relative positions first … first + n - 1, and pass->sinusoids and
 * pass->cx.rotary for the position ids 0 … n_positions - 1. */
void stack_positions(StackPass *pass, const StackW *w, int32_t first, int32_t n, int32_t n_positions);
/* x (N,C) = the embeddings of pass->tokens. */
void stack_embed(StackPass *pass, Tensor x, const StackW *w);
/* Allocates pass->x. In a stage without the embedding the caller writes x[0] before stack_fwd. */
void stack_begin(StackPass *pass);
/* Returns y (N,C) = dropout(final_norm(blocks(embedding))), or this stage's part of that, in the arena `save`. Without
 * the final norm the result has only this rank's rows (nn/rows.h). encoder_output (E,C); NO_TENSOR means no
 * cross-attention. With loss->recompute a block's activations are kept only while the block runs. */
Tensor stack_fwd(StackPass *pass, Tensor encoder_output);
/* dy: the gradient of stack_fwd's result; it is overwritten. Returns dx, which lies in dy; in a stage without the
 * embedding it is the gradient of pass->x[0]. The gradient of encoder_output is added to d_encoder_output (E,C), which
 * is NO_TENSOR if encoder_output is. */
Tensor stack_bwd(StackPass *pass, Tensor dy, Tensor encoder_output, Tensor d_encoder_output);
