#include "nn/nn.h"

void norm_fwd(Ctx *cx, Tensor y, Tensor x, Tensor w, NormSave *save)
{
    save->x = x;
    save->rstd = arena_vector(cx->save, cx->dtype, x.d[0], "norm.rstd");
    op_rmsnorm_fwd(cx->dev, y, save->rstd, x, w, cx->eps);
}

void norm_bwd(Ctx *cx, Tensor dx, Tensor dy, Tensor residual, Tensor w, Tensor dw, const NormSave *save)
{
    op_rmsnorm_bwd(cx->dev, dx, dw, dy, save->x, w, save->rstd, residual, cx->g_beta);
}
