/* lora.c: low-rank adapters beside the frozen matrices of linear layers: y = x wᵀ + scale dropout(x) aᵀ bᵀ, as PEFT
 * computes it with scale = alpha / R. The product t = dropout(x) aᵀ (N,R) is computed again in backward. */
#include "nn/layers.h"

#define DECODER_SITES 16

/* The dropout of the input x (N,in) of a site: of a layer whose columns are divided x has this rank's channels. */
static Dropout lora_dropout(const Ctx *cx, LoraSite site, Tensor x)
{
    bool divided = site == LORA_SELF_O || site == LORA_CROSS_O || site == LORA_WO;
    bool of_encoder_output = site == LORA_CROSS_K || site == LORA_CROSS_V;
    const Tokens *tokens = of_encoder_output ? cx->encoder_tokens : cx->tokens;
    uint32_t purpose = PHILOX_LORA + (uint32_t)site + (cx->layer->decoder ? DECODER_SITES : 0);
    return (Dropout){ .key = philox_key(cx->seed, purpose, (uint32_t)cx->layer->index),
                      .rate = cx->train ? cx->model->lora_dropout : 0,
                      .sample = tokens->sample.p,
                      .position = tokens->dropout_position.p,
                      .first_channel = divided ? tensor_parallel_rank(cx->tp) * x.d[1] : 0 };
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

void lora_fwd(const Ctx *cx, Tensor y, Tensor x, LoraW w, LoraSite site)
{
    if (!tensor_present(w.a))
        return;
    size_t mark = arena_mark(cx->scratch);
    const Dropout drop = lora_dropout(cx, site, x);
    Tensor t = low(cx, x, w, "lora.t");

    op_gemm(cx->dev, t, dropped(cx, x, &drop), w.a, false, true, 1, 0);
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

void lora_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor x, LoraW w, LoraW g, float beta, LoraSite site)
{
    if (!tensor_present(w.a))
        return;
    size_t mark = arena_mark(cx->scratch);
    const Dropout drop = lora_dropout(cx, site, x);
    Tensor t = low(cx, x, w, "lora.t"), dt = low(cx, x, w, "lora.dt"), input = dropped(cx, x, &drop);

    op_gemm(cx->dev, dt, dy, w.b, false, false, cx->model->lora_scale, 0);
    if (tensor_present(g.b)) {
        op_gemm(cx->dev, t, input, w.a, false, true, 1, 0);
        op_gemm(cx->dev, g.b, dy, t, true, false, cx->model->lora_scale, beta);
    }
    if (tensor_present(g.a))
        op_gemm(cx->dev, g.a, dt, input, true, false, 1, beta);
    input_bwd(cx, dx, dt, w, &drop);
    arena_reset(cx->scratch, mark);
}
