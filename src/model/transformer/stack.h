/* stack.h: an encoder or a decoder, or a stage's part of one: embedding, blocks and final norm, forward and backward
 * over one microbatch. N: tokens of the stack's stream; E: tokens of the encoder's; C: width. */
#pragma once

#include "model/loss.h"
#include "model/memory/memory.h"
#include "model/params/params.h"

/* A stage's part of an encoder or a decoder, the same for all microbatches. */
typedef struct Stack {
    Device *dev;
    const ModelConfig *config;
    ParamStore *params;
    const Fp8Scales *fp8; /* of passes with gradients; NULL means no FP8 */
    StagePart part;
    ModelSpec spec;        /* config as layers read it */
    LayerSpec outer;       /* spec of the embedding and the final norm */
    LayerSpec *layers;     /* (n_blocks) spec of each block */
    int bucket;            /* bucket of the StackW */
    int block_bucket;      /* bucket of block 0 of the whole encoder or decoder */
    BlockLayout **layouts; /* (n_blocks) of sparse attention; NULL at a block means dense */
} Stack;

/* One microbatch's pass through a stack: what backward needs of its forward. */
typedef struct StackPass {
    const Stack *stack;
    const ModelLoss *loss;
    Arena *recompute;  /* a block's activations, in backward with loss->recompute */
    Ctx cx;            /* context of the embedding and the final norm; cx.tokens points at `tokens` below */
    Tokens tokens;     /* the stream of the activations */
    Tensor *x;         /* (n_blocks + 1) of (N,C): the input of each block, then the output of the last */
    BlockSave *blocks; /* (n_blocks) */
    NormSave embed, final_norm;
    Tensor bias;      /* (H, 2 max_len - 1) of relative positions, or NO_TENSOR */
    Tensor sinusoids; /* (max_len, C), or NO_TENSOR */
} StackPass;

/* Returns false when there is no memory for the layouts. config and params must stay as long as the stack. */
bool stack_init(Stack *stack, Device *dev, const ModelConfig *config, ParamStore *params, Stage stage, bool decoder);
void stack_clear(Stack *stack);
static inline int stack_blocks(const Stack *stack)
{
    return stack->part.end - stack->part.first;
}

void stack_pass_init(StackPass *pass, const Stack *stack);
void stack_pass_clear(StackPass *pass);
/* Sets pass->cx; the caller has set pass->tokens. encoder_tokens: tokens of the encoder output; NULL means none.
 * Activations kept for backward go into `save`, others into arenas of `work`. *loss must stay as long as the pass. */
void stack_context(StackPass *pass, Workspace *work, Arena *save, const Tokens *encoder_tokens, const ModelLoss *loss);
/* A walk over this stage's blocks, from the first to the last, or back with their gradients:
 *     for (BlockWalk walk = { .pass = pass, .back = …}; stack_walk_next(&walk);)
 * The other fields are those of one block until the next stack_walk_next, which marks the gradients as ready. */
typedef struct BlockWalk {
    const StackPass *pass;
    bool back;
    int n_visited; /* blocks, this one included */
    int here, i;   /* index of the block in this stage, and in the whole encoder or decoder */
    Ctx cx;        /* context of the block; the caller may change it */
    BlockW w, g;   /* weights and gradients; g is absent in a walk forward */
    float beta;    /* gradients: g = beta g + new */
} BlockWalk;

/* false after the last block. */
bool stack_walk_next(BlockWalk *walk);
/* Computes the position tables: pass->bias of relative positions first … first + n - 1, and pass->sinusoids and
 * pass->cx.rotary of position_ids 0 … n_positions - 1. */
void stack_positions(StackPass *pass, const StackW *w, int32_t first, int32_t n, int32_t n_positions);
void stack_embed(StackPass *pass, Tensor x, const StackW *w);
/* y = final_norm(x); x itself where there is no final norm. */
Tensor stack_final_norm(const Ctx *cx, Tensor x, const StackW *w, NormSave *save);
/* Allocates pass->x. In a stage without the embedding the caller writes x[0] before stack_fwd. */
void stack_begin(StackPass *pass);
/* y (N,C) = dropout(final_norm(blocks(embedding))), or this stage's part of it; in the arena `save`.
 * encoder_output (E,C); NO_TENSOR means no cross-attention. With loss->recompute, a block's activations are kept only
 * while it runs. */
Tensor stack_fwd(StackPass *pass, Tensor encoder_output);
/* dy (N,C) is the gradient of stack_fwd's result; in a stage without the embedding it becomes the gradient of x[0].
 * d_encoder_output (E,C) is added to; NO_TENSOR where encoder_output is. */
void stack_bwd(StackPass *pass, Tensor dy, Tensor encoder_output, Tensor d_encoder_output);
