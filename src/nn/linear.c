#include "nn/layers.h"

LinearW linear_added(const Ctx *cx, LinearW w)
{
    if (tensor_parallel_rank(cx->tp) > 0)
        w.b = NO_TENSOR;
    return w;
}

void linear_fwd(const Ctx *cx, Tensor y, Tensor x, LinearW w)
{
    op_linear(cx->dev, y, x, w.w, w.b, 1);
}

void linear_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor x, LinearW w, LinearW g, float beta)
{
    linear_bwd_weight(cx, dy, x, g, beta);
    linear_bwd_input(cx, dx, 0, dy, w);
}

void linear_bwd_input(const Ctx *cx, Tensor dx, float dx_beta, Tensor dy, LinearW w)
{
    op_gemm(cx->dev, dx, dy, w.w, false, false, 1, dx_beta);
}

void linear_bwd_weight(const Ctx *cx, Tensor dy, Tensor x, LinearW g, float beta)
{
    if (tensor_present(g.w))
        op_gemm(cx->dev, g.w, dy, x, true, false, 1, beta);
    if (tensor_present(g.b))
        op_column_sums(cx->dev, g.b, dy, beta);
}
