#include "nn/nn.h"

void norm_fwd(Ctx *cx, Tensor y, Tensor x, NormW w, NormSave *save)
{
    save->x = x;
    save->rstd = arena_vector(cx->save, cx->dtype, x.d[0], "norm.rstd");
    if (cx->norm == NORM_RMS) {
        op_rmsnorm_fwd(cx->dev, y, save->rstd, x, w.w, cx->eps);
        return;
    }
    save->mean = arena_vector(cx->save, cx->dtype, x.d[0], "norm.mean");
    op_layernorm_fwd(cx->dev, y, save->mean, save->rstd, x, w.w, w.b, cx->eps);
}

void norm_bwd(Ctx *cx, Tensor dx, Tensor dy, Tensor residual, NormW w, NormW g, const NormSave *save)
{
    if (cx->norm == NORM_RMS)
        op_rmsnorm_bwd(cx->dev, dx, g.w, dy, save->x, w.w, save->rstd, residual, cx->g_beta);
    else
        op_layernorm_bwd(cx->dev, dx, g.w, g.b, dy, save->x, w.w, save->mean, save->rstd, residual, cx->g_beta);
}

static bool norm_before(const Ctx *cx, NormW w)
{
    return !cx->norm_after && tensor_present(w.w);
}

static bool norm_behind(const Ctx *cx, NormW w)
{
    return cx->norm_after && tensor_present(w.w);
}

Tensor sublayer_enter(Ctx *cx, Tensor x, NormW w, NormSave *save)
{
    if (!norm_before(cx, w))
        return x;
    Tensor n = arena_tensor(cx->save, cx->dtype, x.d[0], x.d[1], "sublayer.n");
    norm_fwd(cx, n, x, w, save);
    return n;
}

void sublayer_leave(Ctx *cx, Tensor y, Tensor x, Tensor out, DropoutSite site, NormW w, NormSave *save)
{
    Dropout drop = ctx_dropout(cx, site);
    if (!norm_behind(cx, w)) {
        op_dropout_fwd(cx->dev, y, out, x, &drop);
        return;
    }
    Tensor sum = arena_tensor(cx->save, cx->dtype, x.d[0], x.d[1], "sublayer.sum");
    op_dropout_fwd(cx->dev, sum, out, x, &drop);
    norm_fwd(cx, y, sum, w, save);
}

void sublayer_leave_bwd(Ctx *cx, Tensor dout, Tensor dx, DropoutSite site, NormW w, NormW g, const NormSave *save)
{
    Dropout drop = ctx_dropout(cx, site);
    if (norm_behind(cx, w))
        norm_bwd(cx, dx, dx, NO_TENSOR, w, g, save);
    op_dropout_bwd(cx->dev, dout, dx, &drop);
}

void sublayer_enter_bwd(Ctx *cx, Tensor dx, Tensor dn, NormW w, NormW g, const NormSave *save)
{
    if (norm_before(cx, w))
        norm_bwd(cx, dx, dn, dx, w, g, save);
    else
        op_add(cx->dev, dx, dx, dn);
}
