#include "nn/nn.h"

void linear_fwd(Ctx *cx, Tensor y, Tensor x, Tensor w)
{
    op_gemm(cx->dev, y, x, w, false, true, 1, 0);
}

void linear_bwd_input(Ctx *cx, Tensor dx, Tensor dy, Tensor w, float beta)
{
    op_gemm(cx->dev, dx, dy, w, false, false, 1, beta);
}

void linear_bwd_weight(Ctx *cx, Tensor dw, Tensor dy, Tensor x)
{
    op_gemm(cx->dev, dw, dy, x, true, false, 1, cx->g_beta);
}

void linear_bwd(Ctx *cx, Tensor dx, Tensor dy, Tensor x, Tensor w, Tensor dw)
{
    linear_bwd_weight(cx, dw, dy, x);
    linear_bwd_input(cx, dx, dy, w, 0);
}
