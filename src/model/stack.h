/* stack.h: an encoder or a decoder, or a stage's part of one: embedding, blocks and final norm, forward and backward
 * over one microbatch. N: tokens of the stack's stream; E: tokens of the encoder's; C: width. */
#pragma once

#include "model/layer_spec.h"
#include "model/loss.h"
#include "model/params.h"

/* What stays the same from one microbatch to the next. */
typedef struct Stack {
    Device *dev;
    const ModelConfig *config;
    ParamStore *params;
    bool decoder;
    int first, end;        /* the blocks that are here, numbered within the whole encoder or decoder */
    bool embeds, finishes; /* whether the embedding is here, whether the final norm is */
    ModelSpec spec;        /* what layers read of the config */
    LayerSpec outer;       /* … of the embedding and the final norm */
    LayerSpec *layers;     /* (end - first) … of each block */
    int bucket;            /* of the parameters beside those of blocks */
    int block_bucket;      /* of block 0 of the whole */
    BlockLayout **layouts; /* (end - first) of sparse attention, or NULL */
    void *layout_memory;   /* of the device: the integers of the layouts */
} Stack;

/* One microbatch's pass through a stack: what its forward leaves for its backward. */
typedef struct StackPass {
    Ctx cx;            /* of the embedding and the final norm; points at `tokens` of this struct and of the encoder's */
    Tokens tokens;     /* the stream of the activations */
    Tensor *x;         /* (end - first + 1) of (N,C): the input of each block, then the output of the last */
    BlockSave *blocks; /* (end - first) */
    EmbeddingSave embed;
    NormSave final_norm;
    Tensor bias;      /* (H, 2 max_len - 1) of relative positions, or NO_TENSOR */
    Tensor sinusoids; /* (max_len, C), or NO_TENSOR */
} StackPass;

/* false: no memory for the layouts. config and params must stay as long as the stack. */
bool stack_init(Stack *stack, Device *dev, const ModelConfig *config, ParamStore *params, Stage stage, bool decoder);
void stack_clear(Stack *stack);
static inline int stack_blocks(const Stack *stack)
{
    return stack->end - stack->first;
}

void stack_pass_init(StackPass *pass, const Stack *stack);
void stack_pass_clear(StackPass *pass);
/* Sets pass->cx. pass->tokens is set before; encoder_tokens are those of the encoder's output, NULL where there is
 * none. Activations kept for backward go into `save`. */
void stack_context(const Stack *stack, StackPass *pass, Arena *save, Arena *scratch, const Tokens *encoder_tokens,
                   const ModelLoss *loss);
/* A walk over the blocks that are here, from the first to the last, or back with their gradients:
 *     for (BlockWalk walk = stack_walk(stack, pass); stack_walk_next(&walk);)
 * Between two calls of stack_walk_next the parameters of one block are there; gradients are ready when it returns. */
typedef struct BlockWalk {
    const Stack *stack;
    const StackPass *pass;
    bool back;
    int here, i; /* the block, counted from the first that is here, and within the whole encoder or decoder */
    Ctx cx;      /* of the block; the caller's to change */
    BlockW w, g; /* g is absent in a walk forward */
    float beta;  /* of g */
} BlockWalk;

BlockWalk stack_walk(const Stack *stack, const StackPass *pass);
BlockWalk stack_walk_back(const Stack *stack, const StackPass *pass);
/* false after the last block. */
bool stack_walk_next(BlockWalk *walk);
/* Positions that are not learned, into pass->bias, pass->sinusoids and pass->cx.rotary: relative positions from `first`
 * on, n of them, and position_ids below n_positions. */
void stack_positions(const Stack *stack, StackPass *pass, const StackW *w, int32_t first, int32_t n,
                     int32_t n_positions);
void stack_embed(const Stack *stack, StackPass *pass, Tensor x, const StackW *w);
/* y = final_norm(x), or x itself. */
Tensor stack_final_norm(const Ctx *cx, Tensor x, const StackW *w, NormSave *save);
/* Allocates pass->x. Without the embedding here, x[0] is to be written before stack_fwd. */
void stack_begin(const Stack *stack, StackPass *pass);
/* y (N,C) = dropout(final_norm(blocks(embedding))), or the part of it that is here; in the arena `save`.
 * encoder_output (E,C): of a decoder with cross-attention, else NO_TENSOR. With loss->recompute, `recompute` takes the
 * activations within a block, which are forgotten. */
Tensor stack_fwd(const Stack *stack, StackPass *pass, Arena *recompute, Tensor encoder_output, const ModelLoss *loss);
/* dy (N,C), of what stack_fwd returned, becomes the gradient of x[0] where the embedding is elsewhere. d_encoder_output
 * (E,C) is added to; NO_TENSOR where encoder_output is. */
void stack_bwd(const Stack *stack, StackPass *pass, Arena *recompute, Tensor dy, Tensor encoder_output,
               Tensor d_encoder_output, const ModelLoss *loss);
