/* bert_head.c: what BERT has above its encoder besides the projection to the vocabulary. */
#include "nn/nn.h"

void transform_fwd(Ctx *cx, Tensor y, Tensor x, const TransformW *w, TransformSave *save)
{
    const Dropout none = { 0 };
    Tensor a = arena_tensor(cx->save, cx->dtype, x.d[0], x.d[1], "transform.a");

    save->x = x;
    save->h = arena_tensor(cx->save, cx->dtype, x.d[0], x.d[1], "transform.h");
    linear_fwd(cx, save->h, x, w->dense);
    op_act_fwd(cx->dev, a, save->h, NO_TENSOR, cx->head_activation, &none);
    norm_fwd(cx, y, a, w->norm, &save->norm);
}

void transform_bwd(Ctx *cx, Tensor dx, Tensor dy, const TransformW *w, const TransformW *g, const TransformSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    const Dropout none = { 0 };
    Tensor dh = arena_tensor(cx->scratch, cx->dtype, dy.d[0], dy.d[1], "transform.dh");

    norm_bwd(cx, dh, dy, NO_TENSOR, w->norm, g->norm, &save->norm);
    op_act_bwd(cx->dev, dh, NO_TENSOR, dh, save->h, NO_TENSOR, cx->head_activation, &none);
    linear_bwd(cx, dx, dh, save->x, w->dense, g->dense);
    arena_reset(cx->scratch, mark);
}

static Tensor rows_of(Ctx *cx, int64_t n, int64_t width, const char *tag)
{
    return arena_tensor(cx->scratch, cx->dtype, n, width, tag);
}

/* What backward reads besides: the first rows, and the linear of them. */
static void pool(Ctx *cx, Tensor pooled, Tensor h, Tensor first, Tensor x, const PoolerW *w)
{
    const Dropout none = { 0 };

    op_gather(cx->dev, first, x, cx->rows->starts);
    linear_fwd(cx, h, first, w->dense);
    op_act_fwd(cx->dev, pooled, h, NO_TENSOR, ACT_TANH, &none);
}

void pooler_fwd(Ctx *cx, Tensor pooled, Tensor x, const PoolerW *w)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor first = rows_of(cx, pooled.d[0], x.d[1], "pooler.first"), h = rows_of(cx, pooled.d[0], x.d[1], "pooler.h");

    pool(cx, pooled, h, first, x, w);
    arena_reset(cx->scratch, mark);
}

void sentence_loss(Ctx *cx, Tensor sums, Tensor dx, Tensor x, const PoolerW *w, const PoolerW *g, Tensor labels,
                   Tensor weights, const XentSpec *xent)
{
    size_t mark = arena_mark(cx->scratch);
    const Dropout none = { 0 };
    int64_t n = cx->rows->n_seq, width = x.d[1];
    Tensor first = rows_of(cx, n, width, "sentence.first"), h = rows_of(cx, n, width, "sentence.h");
    Tensor pooled = rows_of(cx, n, width, "sentence.pooled"), d = rows_of(cx, n, width, "sentence.d");
    Tensor logits = rows_of(cx, n, w->classes.w.d[0], "sentence.logits");
    Tensor stats = rows_of(cx, n, XENT_STATS, "sentence.stats");

    pool(cx, pooled, h, first, x, w);
    linear_fwd(cx, logits, pooled, w->classes);
    op_xent(cx->dev, logits, stats, labels, weights, xent);
    op_sum_rows(cx->dev, sums, stats, 0);
    if (xent->grad) {
        linear_bwd(cx, d, logits, pooled, w->classes, g->classes);
        op_act_bwd(cx->dev, d, NO_TENSOR, d, h, NO_TENSOR, ACT_TANH, &none);
        linear_bwd(cx, first, d, first, w->dense, g->dense);
        op_scatter_add(cx->dev, dx, first, cx->rows->starts, 1);
    }
    arena_reset(cx->scratch, mark);
}
