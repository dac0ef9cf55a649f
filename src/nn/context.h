/* context.h: attention of context-parallel ranks (comm/context_parallel.h). Outside attention a rank has n of the N
 * tokens of a stream, with all heads; within attention it has all N tokens, with 1/c of the heads. context_heads makes
 * the exchange before attention (of queries, keys and values), context_rows the one after it (of the output). So
 * attention itself sees whole sequences.
 *
 * c: number of context-parallel ranks; 1 without context parallelism (context_divided false), when a rank has all
 * tokens and all heads and nothing is exchanged. N, n: tokens of a stream, and this rank's; cross-attention exchanges
 * queries as tokens of the decoder, keys and values as tokens of the encoder output. W: columns of all heads. */
#pragma once

#include "nn/ctx.h"

static inline bool context_divided(const Ctx *cx)
{
    return context_parallel_size(cx->context) > 1;
}
/* of_heads (H, …) has one row per head. Returns the H/c rows of this rank's heads; NO_TENSOR for NO_TENSOR. */
Tensor context_head_rows(const Ctx *cx, Tensor of_heads);
/* Changes an AttnSpec of all heads to one of this rank's heads, and a Dropout of this rank's tokens to one of all
 * tokens. Does nothing without context parallelism. */
void context_attention(const Ctx *cx, AttnSpec *spec, Dropout *probs_drop);

/* The first of the tokens that rank `rank` of `size` has, in a stream of `all` tokens. No rank has more than rank 0. */
int32_t context_first_row(int32_t all, int size, int rank);
/* Returns (N, W/c), allocated in `arena`: all tokens, this rank's heads. own: n_own matrices (n, ·) with W columns
 * together: this rank's tokens, all heads. The columns of the result are those of this rank's heads in own[0], then in
 * own[1], and so on. Without context parallelism returns own[0]. */
Tensor context_heads(const Ctx *cx, Arena *arena, const Tokens *tokens, const Tensor *own, int n_own);
/* The reverse of context_heads, only with context parallelism: fills the n_own `own` (n, ·) from `all` (N, W/c). */
void context_rows(const Ctx *cx, const Tokens *tokens, const Tensor *own, int n_own, Tensor all);
