#include "nn/transform.h"

static const Dropout no_dropout = { 0 };

void transform_fwd(const Ctx *cx, Tensor y, Tensor x, const TransformW *w, TransformSave *save)
{
    Tensor a = arena_tensor(cx->save, cx->dtype, x.d[0], x.d[1], "transform.a");

    save->x = x;
    save->h = arena_tensor(cx->save, cx->dtype, x.d[0], x.d[1], "transform.h");
    linear_fwd(cx, save->h, x, w->dense);
    op_act_fwd(cx->dev, a, save->h, NO_TENSOR, cx->model->head_activation, &no_dropout);
    norm_fwd(cx, y, a, w->norm, &save->norm);
}

void transform_bwd(const Ctx *cx, Tensor dx, Tensor dy, const TransformW *w, const TransformW *g, float beta,
                   const TransformSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor dh = arena_tensor(cx->scratch, cx->dtype, dy.d[0], dy.d[1], "transform.dh");

    norm_bwd(cx, dh, dy, NO_TENSOR, w->norm, g->norm, beta, &save->norm);
    op_act_bwd(cx->dev, dh, NO_TENSOR, dh, save->h, NO_TENSOR, cx->model->head_activation, &no_dropout);
    linear_bwd(cx, dx, dh, save->x, w->dense, g->dense, beta);
    arena_reset(cx->scratch, mark);
}
