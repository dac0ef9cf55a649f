/* context_query.h: queries that depend on the whole sequence, as T5CDQAttention of t5-experiments has them. */
#pragma once

#include "nn/ctx.h"

/* Each head h pools the tokens n of a sequence into one vector,
 *   P_h = Σ_i softmax_i(score_h · relu(hidden n_i)) n_i,
 * and the query of token i in head h is q mix [P_h; n_i]. */
typedef struct ContextQueryW {
    Tensor hidden; /* (C,C) */
    Tensor score;  /* (H,C) */
    Tensor mix;    /* (C,2C): left what multiplies P_h, right what multiplies n_i */
    Tensor q;      /* (D,C), the same for all heads */
} ContextQueryW;

typedef struct ContextQuerySave {
    Tensor h, a;  /* (N,C) n hiddenᵀ, and relu of it */
    Tensor mixed; /* (N,C) n times the right half of mix, transposed */
} ContextQuerySave;

/* q (N,A): queries of all heads for the tokens n (N,C). */
void context_query_fwd(const Ctx *cx, Tensor q, Tensor n, const ContextQueryW *w, ContextQuerySave *save);
/* dn += the gradient of n. Weight gradients: g = beta g + new. */
void context_query_bwd(const Ctx *cx, Tensor dn, Tensor dq, Tensor n, const ContextQueryW *w, const ContextQueryW *g,
                       float beta, const ContextQuerySave *save);
