#include "nn/layers.h"
#include "nn/rows.h"

void norm_fwd(const Ctx *cx, Tensor y, Tensor x, NormW w, NormSave *save)
{
    save->x = x;
    save->rstd = arena_vector(cx->save, precision_statistic(cx->precision), x.d[0], "norm.rstd");
    if (cx->model->norm == NORM_RMS) {
        op_rmsnorm_fwd(cx->dev, y, save->rstd, x, w.w, cx->model->eps);
        return;
    }
    save->mean = arena_vector(cx->save, precision_statistic(cx->precision), x.d[0], "norm.mean");
    op_layernorm_fwd(cx->dev, y, save->mean, save->rstd, x, w.w, w.b, cx->model->eps);
}

void norm_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor residual, NormW w, NormW g, float beta, const NormSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor dw = ctx_gradient(cx, g.w, w.w), db = ctx_gradient(cx, g.b, w.b);

    if (cx->model->norm == NORM_RMS)
        op_rmsnorm_bwd(cx->dev, dx, dw, dy, save->x, w.w, save->rstd, residual, beta);
    else
        op_layernorm_bwd(cx->dev, dx, dw, db, dy, save->x, w.w, save->mean, save->rstd, residual, beta);
    arena_reset(cx->scratch, mark);
}

static bool norm_before(const Ctx *cx, NormW w)
{
    return !cx->model->post_norm && tensor_present(w.w);
}

static bool post_norm(const Ctx *cx, NormW w)
{
    return cx->model->post_norm && tensor_present(w.w);
}

Tensor sublayer_enter(const Ctx *cx, Tensor x, NormW w, NormSave *save)
{
    if (!norm_before(cx, w))
        return ctx_activation(cx, x);
    Tensor n = arena_tensor(cx->save, cx->precision.compute, x.d[0], x.d[1], "sublayer.n");
    norm_fwd(cx, n, x, w, save);
    return n;
}

void sublayer_leave(const Ctx *cx, Tensor y, Tensor x, Tensor out, DropoutSite site, NormW w, NormSave *save)
{
    Dropout drop = rows_dropout(cx, site);
    if (!post_norm(cx, w)) {
        op_dropout_fwd(cx->dev, y, out, x, &drop);
        return;
    }
    Tensor sum = arena_tensor(cx->save, cx->precision.residual, x.d[0], x.d[1], "sublayer.sum");
    op_dropout_fwd(cx->dev, sum, out, x, &drop);
    norm_fwd(cx, y, sum, w, save);
}

void sublayer_leave_bwd(const Ctx *cx, Tensor dout, Tensor dx, DropoutSite site, NormW w, NormW g, float beta,
                        const NormSave *save)
{
    Dropout drop = rows_dropout(cx, site);
    if (post_norm(cx, w))
        norm_bwd(cx, dx, dx, NO_TENSOR, w, g, beta, save);
    op_dropout_bwd(cx->dev, dout, dx, &drop);
}

void sublayer_enter_bwd(const Ctx *cx, Tensor dx, Tensor dn, NormW w, NormW g, float beta, const NormSave *save)
{
    if (norm_before(cx, w))
        norm_bwd(cx, dx, dn, dx, w, g, beta, save);
    else
        op_add(cx->dev, dx, dx, dn);
}
