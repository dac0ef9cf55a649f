/* context.h: attention of context-parallel ranks (comm/context_parallel.h). A rank has its rows of the stream, n of N
 * tokens, and computes attention for its part of the heads, for all tokens: before attention it exchanges its rows of
 * queries, keys and values of all heads for all rows of its own heads, and afterwards the other way round. So attention
 * itself sees whole sequences.
 *
 * Without context parallelism (context_divided false) a rank's heads are all heads of the context's ModelSpec; then
 * context_heads and context_rows return their first tensor, and nothing is exchanged. Rows are those of a Tokens, of
 * the queries or of the encoder output. c: the number of context-parallel ranks. */
#pragma once

#include "nn/ctx.h"

static inline bool context_divided(const Ctx *cx)
{
    return context_parallel_size(cx->context) > 1;
}
/* Number of query heads that this rank attends with. */
int32_t context_n_heads(const Ctx *cx);
/* Rows (H/c, …) of this rank's heads in a matrix (H, …) of a row per head; NO_TENSOR stays NO_TENSOR. */
Tensor context_head_rows(const Ctx *cx, Tensor of_heads);
/* Makes the AttnSpec of all heads that of this rank's heads, and the Dropout of this rank's rows that of all rows. */
void context_attention(const Ctx *cx, AttnSpec *spec, Dropout *probs_drop);

/* The rows of the stream that rank `rank` has begin here; rank 0 has the most. */
int32_t context_first_row(int32_t all, int size, int rank);
/* all (N, W/c), which the function allocates in `arena` and returns: columns of this rank's heads, of all rows. own:
 * n_own matrices (n, ·), W columns together, this rank's rows of all heads; of each this rank's columns are found next
 * to each other in `all`. */
Tensor context_heads(const Ctx *cx, Arena *arena, const Tokens *tokens, const Tensor *own, int n_own);
/* The reverse: own (n, ·) become this rank's rows of all heads, from `all` (N, W/c). */
void context_rows(const Ctx *cx, const Tokens *tokens, const Tensor *own, int n_own, Tensor all);
