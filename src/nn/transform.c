#include "nn/layers.h"

static const Dropout no_dropout = { 0 };

void transform_fwd(const Ctx *cx, Tensor y, Tensor x, const TransformW *w, Activation activation, TransformSave *save)
{
    bool normed = tensor_present(w->norm.w);
    Tensor a = normed ? arena_tensor(cx->save, cx->precision.compute, x.d[0], x.d[1], "transform.a") : y;

    save->x = x;
    save->h = arena_tensor(cx->save, cx->precision.compute, x.d[0], x.d[1], "transform.h");
    linear_fwd(cx, save->h, x, &w->dense);
    op_act_fwd(cx->dev, a, save->h, NO_TENSOR, activation, &no_dropout);
    if (normed)
        norm_fwd(cx, y, a, w->norm, &save->norm);
}

void transform_bwd(const Ctx *cx, Tensor dx, Tensor dy, const TransformW *w, Activation activation, const TransformW *g,
                   float beta, const TransformSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor dh = arena_tensor(cx->scratch, cx->precision.compute, dy.d[0], dy.d[1], "transform.dh"), da = dy;

    if (tensor_present(w->norm.w)) {
        norm_bwd(cx, dh, dy, NO_TENSOR, (NormBack){ w->norm, g->norm, beta, &save->norm });
        da = dh;
    }
    op_act_bwd(cx->dev, dh, NO_TENSOR, da, save->h, NO_TENSOR, activation, &no_dropout);
    linear_bwd(cx, dx, 0, dh, save->x, &w->dense, &g->dense, beta);
    arena_reset(cx->scratch, mark);
}
