/* block_linear.c: the linear layers of blocks, with matrix products in FP8 if the pass has FP8 scales: E4M3 for
 * inputs and weights, E5M2 for gradients of outputs. Tensors in FP8 exist only during one matrix product: backward
 * casts the saved input and the weights again, by the same scales. */
#include "nn/layers.h"

enum { UNIT = 16 }; /* tensor cores need FP8 rows of a multiple of 16 numbers */

static bool in_fp8(const Ctx *cx, LinearW w)
{
    return cx->fp8 && w.w.d[0] % UNIT == 0 && w.w.d[1] % UNIT == 0;
}

static Fp8Scale scale_of(const Ctx *cx, LinearSite site, Fp8Factor factor)
{
    return fp8_scale(cx->fp8, cx->layer->block * LINEAR_SITES + (int)site, factor);
}

static Tensor fp8_new(const Ctx *cx, int64_t rows, int64_t cols, Fp8Factor factor)
{
    return arena_tensor(cx->scratch, precision_fp8(cx->precision, factor == FP8_GRADIENT), rows, cols, "linear.fp8");
}

/* (C,T) for the transpose of x (N,C): T is N rounded up to a multiple of UNIT. */
static Tensor fp8_new_transposed(const Ctx *cx, Tensor x, Fp8Factor factor)
{
    return fp8_new(cx, x.d[1], (x.d[0] + UNIT - 1) / UNIT * UNIT, factor);
}

/* Casts x to FP8: y, and its transpose yt; either may be absent. record: this is the first cast of x in this
 * microbatch, so record its amax. Returns the inverse of the scale. */
static Tensor cast(const Ctx *cx, Tensor y, Tensor yt, Tensor x, LinearSite site, Fp8Factor factor, bool record)
{
    Fp8Scale scale = scale_of(cx, site, factor);
    bool e5m2 = factor == FP8_GRADIENT;

    if (!tensor_present(scale.amax))
        op_fp8_scale(cx->dev, scale.scale, scale.inverse, x, cx->precision.fp8.margin, e5m2);
    op_fp8_cast(cx->dev, y, yt, record ? scale.amax : NO_TENSOR, x, scale.scale, e5m2);
    return scale.inverse;
}

void block_linear_fwd(const Ctx *cx, Tensor y, Tensor x, LinearW w, LinearSite site)
{
    if (!in_fp8(cx, w)) {
        linear_fwd(cx, y, x, w);
        return;
    }
    size_t mark = arena_mark(cx->scratch);
    Tensor x8 = fp8_new(cx, x.d[0], x.d[1], FP8_INPUT), w8 = fp8_new(cx, w.w.d[0], w.w.d[1], FP8_WEIGHT);
    Tensor x_inverse = cast(cx, x8, NO_TENSOR, x, site, FP8_INPUT, true);
    Tensor w_inverse = cast(cx, w8, NO_TENSOR, w.w, site, FP8_WEIGHT, true);

    op_fp8_linear(cx->dev, y, x8, w8, w.b, x_inverse, w_inverse, 0);
    arena_reset(cx->scratch, mark);
}

/* g.w = beta g.w + dyᵀ x, from the transposes of both. */
static void weight_bwd(const Ctx *cx, Tensor dyt, Tensor dy_inverse, Tensor x, LinearW g, float beta, LinearSite site)
{
    Tensor xt = fp8_new_transposed(cx, x, FP8_INPUT);
    Tensor x_inverse = cast(cx, NO_TENSOR, xt, x, site, FP8_INPUT, false);

    op_fp8_linear(cx->dev, g.w, dyt, xt, NO_TENSOR, dy_inverse, x_inverse, beta);
}

void block_linear_bwd(const Ctx *cx, Tensor dx, float dx_beta, Tensor dy, Tensor x, LinearW w, LinearW g, float beta,
                      LinearSite site)
{
    if (!in_fp8(cx, w)) {
        linear_bwd_weight(cx, dy, x, g, beta);
        linear_bwd_input(cx, dx, dx_beta, dy, w);
        return;
    }
    size_t mark = arena_mark(cx->scratch);
    Tensor dy8 = fp8_new(cx, dy.d[0], dy.d[1], FP8_GRADIENT), wt = fp8_new_transposed(cx, w.w, FP8_WEIGHT);
    Tensor dyt = tensor_present(g.w) ? fp8_new_transposed(cx, dy, FP8_GRADIENT) : NO_TENSOR;
    Tensor dy_inverse = cast(cx, dy8, dyt, dy, site, FP8_GRADIENT, true);
    Tensor w_inverse = cast(cx, NO_TENSOR, wt, w.w, site, FP8_WEIGHT, false);

    if (tensor_present(g.w))
        weight_bwd(cx, dyt, dy_inverse, x, g, beta, site);
    if (tensor_present(g.b))
        op_column_sums(cx->dev, g.b, dy, beta);
    op_fp8_linear(cx->dev, dx, dy8, wt, NO_TENSOR, dy_inverse, w_inverse, dx_beta);
    arena_reset(cx->scratch, mark);
}
