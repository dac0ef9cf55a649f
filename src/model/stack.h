/* stack.h: an encoder or a decoder, or a stage's part of one: embedding, blocks and final norm, forward and backward
 * over one microbatch. N: tokens (rows) of the stack's stream; M: rows of the encoder's output; C: width. */
#pragma once

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
    int bucket;            /* of the parameters beside those of blocks */
    int block_bucket;      /* of block 0 of the whole */
    BlockLayout **layouts; /* (end - first) of sparse attention, or NULL */
    void *layout_memory;   /* of the device: the integers of the layouts */
} Stack;

/* One microbatch's pass through a stack: what its forward leaves for its backward. */
typedef struct StackPass {
    Ctx cx;            /* points at `rows` of this very struct, and at the encoder's rows */
    Rows rows;         /* the stream whose rows the activations are */
    Tensor *x;         /* (end - first + 1) of (N,C): the input of each block, then the output of the last */
    BlockSave *blocks; /* (end - first) */
    EmbedSave embed;
    NormSave final_norm;
    Tensor bias;      /* (H, 2 max_len - 1) of relative positions, or NO_TENSOR */
    Tensor sinusoids; /* (max_len, C), or NO_TENSOR */
    Tensor rotary[2]; /* (max_len, R) of global and of local layers, or NO_TENSOR */
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
/* The context of a pass with its dropout and without a layer yet. pass->rows is set before; encoder_rows are the rows
 * of the encoder's output, NULL where there is none. Activations kept for backward go into `save`. */
void stack_context(const Stack *stack, StackPass *pass, Arena *save, Arena *scratch, const Rows *encoder_rows,
                   const ModelLoss *loss);
/* Positions that are not learned, into pass->bias, sinusoids and rotary: relative positions from `first` on, n of them,
 * and position_ids below n_positions. */
void stack_positions(const Stack *stack, StackPass *pass, const StackW *w, int32_t first, int32_t n,
                     int32_t n_positions);
void stack_embed(const Stack *stack, StackPass *pass, Tensor x, const StackW *w);
/* Makes the pass's context that of block i of the whole. */
void stack_enter_layer(const Stack *stack, StackPass *pass, int i);
/* y = final_norm(x), or x itself. */
Tensor stack_final_norm(Ctx *cx, Tensor x, const StackW *w, NormSave *save);
/* Allocates pass->x. Without the embedding here, x[0] is to be written before stack_fwd. */
void stack_begin(const Stack *stack, StackPass *pass);
/* y (N,C) = dropout(final_norm(blocks(embedding))), or the part of it that is here; in the arena `save`.
 * encoder_output (M,C): of a decoder with cross-attention, else NO_TENSOR. With loss->recompute, `recompute` takes the
 * activations within a block, which are forgotten. */
Tensor stack_fwd(const Stack *stack, StackPass *pass, Arena *recompute, Tensor encoder_output, const ModelLoss *loss);
/* dy (N,C), of what stack_fwd returned, becomes the gradient of x[0] where the embedding is elsewhere. d_encoder_output
 * (M,C) is added to; NO_TENSOR where encoder_output is. */
void stack_bwd(const Stack *stack, StackPass *pass, Arena *recompute, Tensor dy, Tensor encoder_output,
               Tensor d_encoder_output, const ModelLoss *loss);
