#include "nn/nn.h"

void linear_fwd(Ctx *cx, Tensor y, Tensor x, LinearW w)
{
    op_gemm(cx->dev, y, x, w.w, false, true, 1, 0);
    if (tensor_present(w.b))
        op_bias_add(cx->dev, y, y, w.b);
}

void linear_bwd_input(Ctx *cx, Tensor dx, Tensor dy, LinearW w, float beta)
{
    op_gemm(cx->dev, dx, dy, w.w, false, false, 1, beta);
}

void linear_bwd_weight(Ctx *cx, LinearW g, Tensor dy, Tensor x)
{
    op_gemm(cx->dev, g.w, dy, x, true, false, 1, cx->g_beta);
    if (tensor_present(g.b))
        op_column_sums(cx->dev, g.b, dy, cx->g_beta);
}

void linear_bwd(Ctx *cx, Tensor dx, Tensor dy, Tensor x, LinearW w, LinearW g)
{
    linear_bwd_weight(cx, g, dy, x);
    linear_bwd_input(cx, dx, dy, w, 0);
}
