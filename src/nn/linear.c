/* linear.c: linear layers: the matrix product, in FP8 in blocks if the pass has FP8 scales (E4M3 for inputs and
 * weights, E5M2 for gradients of outputs), and the low-rank adapters beside frozen matrices, as PEFT computes them with
 * scale = alpha / R. Tensors in FP8 exist only during one matrix product: backward casts the saved input and the
 * weights again, by the same scales; so it computes the product t = dropout(x) aᵀ (N,R) of an adapter again. */
#include "nn/layers.h"

enum { UNIT = 16 }; /* tensor cores need FP8 rows of a multiple of 16 numbers */

#define DECODER_ADAPTERS 16

static const struct {
    bool added;      /* each tensor-parallel rank has some columns of the input, and their outputs are added up */
    bool of_encoder; /* its input is the encoder output */
    uint8_t lora[1 + LINEAR_PARTS]; /* number of the adapter of the matrix, and of each part, in the key of the
                                       adapter's dropout: these values never change */
} sites[] = {
    [LINEAR_SELF_QKV] = { .lora = { 3, 0, 1, 2 } },
    [LINEAR_SELF_O] = { .added = true, .lora = { 4 } },
    [LINEAR_CROSS_Q] = { .lora = { 5 } },
    [LINEAR_CROSS_KV] = { .of_encoder = true, .lora = { 0, 6, 7 } }, /* no adapter of the whole */
    [LINEAR_CROSS_O] = { .added = true, .lora = { 8 } },
    [LINEAR_WI] = { .lora = { 11, 9, 10 } },
    [LINEAR_WO] = { .added = true, .lora = { 12 } },
};

/* ---- FP8 ---- */

static bool in_fp8(const Ctx *cx, const Linear *w)
{
    return cx->fp8 && w->site != LINEAR_OTHER && w->w.d[0] % UNIT == 0 && w->w.d[1] % UNIT == 0;
}

static Fp8Scale scale_of(const Ctx *cx, LinearSite site, Fp8Factor factor)
{
    return fp8_scale(cx->fp8, cx->layer->block * LINEAR_SITES + (int)site - LINEAR_SELF_QKV, factor);
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

/* y = x wᵀ + bias. */
static void fp8_fwd(const Ctx *cx, Tensor y, Tensor x, Tensor w, Tensor bias, LinearSite site)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor x8 = fp8_new(cx, x.d[0], x.d[1], FP8_INPUT), w8 = fp8_new(cx, w.d[0], w.d[1], FP8_WEIGHT);
    Tensor x_inverse = cast(cx, x8, NO_TENSOR, x, site, FP8_INPUT, true);
    Tensor w_inverse = cast(cx, w8, NO_TENSOR, w, site, FP8_WEIGHT, true);

    op_fp8_linear(cx->dev, y, x8, w8, bias, x_inverse, w_inverse, 0);
    arena_reset(cx->scratch, mark);
}

/* dw = beta dw + dyᵀ x, from the transposes of both. */
static void fp8_weight_bwd(const Ctx *cx, Tensor dyt, Tensor dy_inverse, Tensor x, Tensor dw, float beta,
                           LinearSite site)
{
    Tensor xt = fp8_new_transposed(cx, x, FP8_INPUT);
    Tensor x_inverse = cast(cx, NO_TENSOR, xt, x, site, FP8_INPUT, false);

    op_fp8_linear(cx->dev, dw, dyt, xt, NO_TENSOR, dy_inverse, x_inverse, beta);
}

static void fp8_bwd(const Ctx *cx, Tensor dx, float dx_beta, Tensor dy, Tensor x, const Linear *w, const Linear *g,
                    float beta)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor dy8 = fp8_new(cx, dy.d[0], dy.d[1], FP8_GRADIENT), wt = fp8_new_transposed(cx, w->w, FP8_WEIGHT);
    Tensor dyt = tensor_present(g->w) ? fp8_new_transposed(cx, dy, FP8_GRADIENT) : NO_TENSOR;
    Tensor dy_inverse = cast(cx, dy8, dyt, dy, w->site, FP8_GRADIENT, true);
    Tensor w_inverse = cast(cx, NO_TENSOR, wt, w->w, w->site, FP8_WEIGHT, false);

    if (tensor_present(g->w))
        fp8_weight_bwd(cx, dyt, dy_inverse, x, g->w, beta, w->site);
    if (tensor_present(g->b))
        op_column_sums(cx->dev, g->b, dy, beta);
    op_fp8_linear(cx->dev, dx, dy8, wt, NO_TENSOR, dy_inverse, w_inverse, dx_beta);
    arena_reset(cx->scratch, mark);
}

/* ---- adapters ---- */

/* Dropout of an adapter's input x (N,in): this rank's channels if ranks divide the columns. number: in `sites`. */
static Dropout lora_dropout(const Ctx *cx, LinearSite site, int number, Tensor x)
{
    const Tokens *tokens = sites[site].of_encoder ? cx->encoder_tokens : cx->tokens;
    uint32_t purpose = PHILOX_LORA + (uint32_t)number + (cx->layer->decoder ? DECODER_ADAPTERS : 0);
    return (Dropout){ .key = philox_key(cx->seed, purpose, (uint32_t)cx->layer->index),
                      .rate = cx->train ? cx->model->lora_dropout : 0,
                      .sample = tokens->sample.p,
                      .position = tokens->dropout_position.p,
                      .first_channel = sites[site].added ? tensor_parallel_rank(cx->tp) * x.d[1] : 0 };
}

/* dropout(x): x itself, or a copy in scratch. */
static Tensor dropped(const Ctx *cx, Tensor x, const Dropout *drop)
{
    if (drop->rate == 0)
        return x;
    Tensor y = arena_tensor(cx->scratch, cx->precision.compute, x.d[0], x.d[1], "lora.x");
    op_dropout_fwd(cx->dev, y, x, NO_TENSOR, drop);
    return y;
}

/* A tensor (N,R) for the low-rank product. */
static Tensor low(const Ctx *cx, Tensor x, LoraW w, const char *tag)
{
    return arena_tensor(cx->scratch, cx->precision.compute, x.d[0], w.a.d[0], tag);
}

/* y += scale dropout(x) aᵀ bᵀ. */
static void lora_fwd(const Ctx *cx, Tensor y, Tensor x, LoraW w, const Dropout *drop)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor t = low(cx, x, w, "lora.t");

    op_gemm(cx->dev, t, dropped(cx, x, drop), w.a, false, true, 1, 0);
    op_gemm(cx->dev, y, t, w.b, false, true, cx->model->lora_scale, 1);
    arena_reset(cx->scratch, mark);
}

/* dx += dropout mask · dt a. */
static void input_bwd(const Ctx *cx, Tensor dx, Tensor dt, LoraW w, const Dropout *drop)
{
    if (drop->rate == 0) {
        op_gemm(cx->dev, dx, dt, w.a, false, false, 1, 1);
        return;
    }
    Tensor d = arena_tensor(cx->scratch, cx->precision.compute, dx.d[0], dx.d[1], "lora.dx");
    op_gemm(cx->dev, d, dt, w.a, false, false, 1, 0);
    op_dropout_bwd(cx->dev, d, d, drop);
    op_add(cx->dev, dx, dx, d);
}

static void lora_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor x, LoraW w, LoraW g, float beta, const Dropout *drop)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor t = low(cx, x, w, "lora.t"), dt = low(cx, x, w, "lora.dt"), input = dropped(cx, x, drop);

    op_gemm(cx->dev, dt, dy, w.b, false, false, cx->model->lora_scale, 0);
    if (tensor_present(g.b)) {
        op_gemm(cx->dev, t, input, w.a, false, true, 1, 0);
        op_gemm(cx->dev, g.b, dy, t, true, false, cx->model->lora_scale, beta);
    }
    if (tensor_present(g.a))
        op_gemm(cx->dev, g.a, dt, input, true, false, 1, beta);
    input_bwd(cx, dx, dt, w, drop);
    arena_reset(cx->scratch, mark);
}

/* The adapters of a layer, the one of the whole matrix first: next returns false after the last. */
typedef struct Adapters {
    const Linear *w;
    int next;         /* 0: that of the matrix; 1 + i: that of part i */
    int64_t first;    /* the first column of y after those of the parts so far */
    const LoraW *own; /* the adapter, and its columns of y: `cols` from `at` on */
    int64_t at, cols;
} Adapters;

static bool adapters_next(Adapters *each)
{
    while (each->next <= LINEAR_PARTS) {
        const int i = each->next++;
        const LinearPart *part = i > 0 ? &each->w->part[i - 1] : NULL;
        each->own = part ? &part->lora : &each->w->lora;
        each->at = part ? each->first : 0;
        each->cols = tensor_present(each->own->b) ? each->own->b.d[0] : 0;
        each->first += part && tensor_present(part->w) ? part->w.d[0] : 0;
        if (each->cols > 0)
            return true;
    }
    return false;
}

/* ---- layers ---- */

void linear_fwd(const Ctx *cx, Tensor y, Tensor x, const Linear *w)
{
    const bool adds_bias = !sites[w->site].added || tensor_parallel_rank(cx->tp) == 0;
    const Tensor bias = adds_bias ? w->b : NO_TENSOR;

    if (in_fp8(cx, w))
        fp8_fwd(cx, y, x, w->w, bias, w->site);
    else
        op_linear(cx->dev, y, x, w->w, bias, 1);
    for (Adapters each = { .w = w }; adapters_next(&each);) {
        const Dropout drop = lora_dropout(cx, w->site, sites[w->site].lora[each.next - 1], x);
        lora_fwd(cx, tensor_slice_cols(y, each.at, each.cols), x, *each.own, &drop);
    }
}

void linear_bwd(const Ctx *cx, Tensor dx, float dx_beta, Tensor dy, Tensor x, const Linear *w, const Linear *g,
                float beta)
{
    if (in_fp8(cx, w)) {
        fp8_bwd(cx, dx, dx_beta, dy, x, w, g, beta);
    } else {
        if (tensor_present(g->w))
            op_gemm(cx->dev, g->w, dy, x, true, false, 1, beta);
        if (tensor_present(g->b))
            op_column_sums(cx->dev, g->b, dy, beta);
        op_gemm(cx->dev, dx, dy, w->w, false, false, 1, dx_beta);
    }
    for (Adapters each = { .w = w }; adapters_next(&each);) {
        const int i = each.next - 1;
        const Dropout drop = lora_dropout(cx, w->site, sites[w->site].lora[i], x);
        lora_bwd(cx, dx, tensor_slice_cols(dy, each.at, each.cols), x, *each.own, i > 0 ? g->part[i - 1].lora : g->lora,
                 beta, &drop);
    }
}
