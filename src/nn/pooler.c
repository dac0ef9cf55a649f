#include "nn/pooler.h"

static const Dropout no_dropout = { 0 };

static Tensor scratch_tensor(const Ctx *cx, int64_t n, int64_t width, const char *tag)
{
    return arena_tensor(cx->scratch, cx->dtype, n, width, tag);
}

/* Besides pooled (S,C): first (S,C), the first tokens of x, and h (S,C) = first denseᵀ. */
static void pool(const Ctx *cx, Tensor pooled, Tensor h, Tensor first, Tensor x, const PoolerW *w)
{
    op_gather(cx->dev, first, x, cx->tokens->starts);
    linear_fwd(cx, h, first, w->dense);
    op_act_fwd(cx->dev, pooled, h, NO_TENSOR, ACT_TANH, &no_dropout);
}

void pooler_fwd(const Ctx *cx, Tensor pooled, Tensor x, const PoolerW *w)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor first = scratch_tensor(cx, pooled.d[0], x.d[1], "pooler.first");
    Tensor h = scratch_tensor(cx, pooled.d[0], x.d[1], "pooler.h");

    pool(cx, pooled, h, first, x, w);
    arena_reset(cx->scratch, mark);
}

void pooler_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const PoolerW *w, const PoolerW *g, float beta,
                 Tensor labels, Tensor weights, const XentSpec *xent)
{
    size_t mark = arena_mark(cx->scratch);
    int64_t n = cx->tokens->seq.n, width = x.d[1];
    Tensor first = scratch_tensor(cx, n, width, "pooler.first"), h = scratch_tensor(cx, n, width, "pooler.h");
    Tensor pooled = scratch_tensor(cx, n, width, "pooler.pooled"), d = scratch_tensor(cx, n, width, "pooler.d");
    Tensor logits = scratch_tensor(cx, n, w->classes.w.d[0], "pooler.logits");
    Tensor stats = scratch_tensor(cx, n, XENT_STATS, "pooler.stats");

    pool(cx, pooled, h, first, x, w);
    linear_fwd(cx, logits, pooled, w->classes);
    op_xent(cx->dev, logits, stats, labels, weights, xent);
    op_sum_rows(cx->dev, sums, stats, 0);
    if (xent->grad) {
        linear_bwd(cx, d, logits, pooled, w->classes, g->classes, beta);
        op_act_bwd(cx->dev, d, NO_TENSOR, d, h, NO_TENSOR, ACT_TANH, &no_dropout);
        linear_bwd(cx, first, d, first, w->dense, g->dense, beta);
        op_scatter_add(cx->dev, dx, first, cx->tokens->starts, 1);
    }
    arena_reset(cx->scratch, mark);
}
