/* stack.h: an encoder or a decoder, or a stage's part of one: embedding, blocks and final norm, forward and backward
 * over one microbatch. N: tokens of the stack's stream; E: tokens of the encoder's; C: width. */
#pragma once

#include "model/layer_spec.h"
#include "model/loss.h"
#include "model/params.h"

/* A stage's part of an encoder or a decoder, the same for all microbatches. */
typedef struct Stack {
    Device *dev;
    const ModelConfig *config;
    ParamStore *params;
    bool decoder;
    int first, end;        /* blocks [first, end) of this stage, numbered in the whole encoder or decoder */
    bool embeds, finishes; /* whether this stage has the embedding, the final norm */
    ModelSpec spec;        /* config as layers read it */
    LayerSpec outer;       /* spec of the embedding and the final norm */
    LayerSpec *layers;     /* (end - first) spec of each block */
    int bucket;            /* bucket of the StackW */
    int block_bucket;      /* bucket of block 0 of the whole encoder or decoder */
    BlockLayout **layouts; /* (end - first) layouts of sparse attention; NULL means dense */
    void *layout_memory;   /* device memory with the integers of the layouts */
} Stack;

/* One microbatch's pass through a stack: what backward needs of its forward. */
typedef struct StackPass {
    Ctx cx;        /* context of the embedding and the final norm; points at `tokens` here and in the encoder's pass */
    Tokens tokens; /* the stream of the activations */
    Tensor *x;     /* (end - first + 1) of (N,C): the input of each block, then the output of the last */
    BlockSave *blocks; /* (end - first) */
    NormSave embed;
    NormSave final_norm;
    Tensor bias;      /* (H, 2 max_len - 1) of relative positions, or NO_TENSOR */
    Tensor sinusoids; /* (max_len, C), or NO_TENSOR */
} StackPass;

/* Returns false when there is no memory for the layouts. config and params must stay as long as the stack. */
bool stack_init(Stack *stack, Device *dev, const ModelConfig *config, ParamStore *params, Stage stage, bool decoder);
void stack_clear(Stack *stack);
static inline int stack_blocks(const Stack *stack)
{
    return stack->end - stack->first;
}

void stack_pass_init(StackPass *pass, const Stack *stack);
void stack_pass_clear(StackPass *pass);
/* Sets pass->cx; the caller has set pass->tokens. encoder_tokens: tokens of the encoder output; NULL means none.
 * Activations kept for backward go into `save`. */
void stack_context(const Stack *stack, StackPass *pass, Arena *save, Arena *scratch, const Tokens *encoder_tokens,
                   const ModelLoss *loss);
/* A walk over this stage's blocks, from the first to the last, or back with their gradients:
 *     for (BlockWalk walk = stack_walk(stack, pass); stack_walk_next(&walk);)
 * w and g (back only) are those of one block until the next stack_walk_next, which marks the gradients as ready. */
typedef struct BlockWalk {
    const Stack *stack;
    const StackPass *pass;
    bool back;
    int here, i; /* index of the block in this stage, and in the whole encoder or decoder */
    Ctx cx;      /* context of the block; the caller may change it */
    BlockW w, g; /* weights and gradients; g is absent in a walk forward */
    float beta;  /* gradients: g = beta g + new */
} BlockWalk;

BlockWalk stack_walk(const Stack *stack, const StackPass *pass);
BlockWalk stack_walk_back(const Stack *stack, const StackPass *pass);
/* false after the last block. */
bool stack_walk_next(BlockWalk *walk);
/* Computes the position tables: pass->bias of relative positions first … first + n - 1, and pass->sinusoids and
 * pass->cx.rotary of position_ids 0 … n_positions - 1. */
void stack_positions(const Stack *stack, StackPass *pass, const StackW *w, int32_t first, int32_t n,
                     int32_t n_positions);
void stack_embed(const Stack *stack, StackPass *pass, Tensor x, const StackW *w);
/* y = final_norm(x); x itself where there is no final norm. */
Tensor stack_final_norm(const Ctx *cx, Tensor x, const StackW *w, NormSave *save);
/* Allocates pass->x. In a stage without the embedding the caller writes x[0] before stack_fwd. */
void stack_begin(const Stack *stack, StackPass *pass);
/* y (N,C) = dropout(final_norm(blocks(embedding))), or this stage's part of it; in the arena `save`.
 * encoder_output (E,C); NO_TENSOR means no cross-attention. With loss->recompute, a block's activations lie in
 * `recompute` only while it runs. */
Tensor stack_fwd(const Stack *stack, StackPass *pass, Arena *recompute, Tensor encoder_output, const ModelLoss *loss);
/* dy (N,C) is the gradient of stack_fwd's result; in a stage without the embedding it becomes the gradient of x[0].
 * d_encoder_output (E,C) is added to; NO_TENSOR where encoder_output is. */
void stack_bwd(const Stack *stack, StackPass *pass, Arena *recompute, Tensor dy, Tensor encoder_output,
               Tensor d_encoder_output, const ModelLoss *loss);
