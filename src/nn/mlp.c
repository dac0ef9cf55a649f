#include "nn/layers.h"

/* The halves of h (N,2F) if gated: left the activation's input, right the gate. Not gated: h (N,F) is the input. */
static void split_gated(Tensor h, int64_t ffn, Tensor *input, Tensor *gate)
{
    *input = tensor_slice_cols(h, 0, ffn);
    *gate = h.d[1] == ffn ? NO_TENSOR : tensor_slice_cols(h, ffn, ffn);
}

/* Dropout after the activation, on this rank's `ffn` channels. */
static Dropout hidden_dropout(const Ctx *cx, int64_t ffn)
{
    Dropout drop = ctx_dropout(cx, SITE_MLP_HIDDEN);
    drop.first_channel = tensor_parallel_rank(cx->tp) * ffn;
    return drop;
}

void mlp_fwd(const Ctx *cx, Residual *stream, Tensor y, const MlpW *w, MlpSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor out = stream->output, input, gate;
    int64_t n = out.d[0], ffn = w->wo.w.d[1];
    Dropout hidden_drop = hidden_dropout(cx, ffn);
    Tensor normed = sublayer_enter(cx, stream, w->norm, &save->in);

    save->h = arena_tensor(cx->save, cx->precision.compute, n, w->wi.w.d[0], "mlp.h");
    save->a = arena_tensor(cx->save, cx->precision.compute, n, ffn, "mlp.a");
    split_gated(save->h, ffn, &input, &gate);
    linear_fwd(cx, save->h, normed, &w->wi);
    op_act_fwd(cx->dev, save->a, input, gate, cx->model->activation, &hidden_drop);
    linear_fwd(cx, out, save->a, &w->wo);
    sublayer_leave(cx, stream, y, out, SITE_MLP_OUT, w->norm, &save->in);
    arena_reset(cx->scratch, mark);
}

void mlp_bwd(const Ctx *cx, ResidualGrad *grad, const MlpW *w, const MlpW *g, float beta, const MlpSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor dout = sublayer_leave_bwd(cx, grad, SITE_MLP_OUT, w->norm, g->norm, beta, &save->in);
    int64_t n = dout.d[0], ffn = w->wo.w.d[1];
    Tensor da = arena_tensor(cx->scratch, cx->precision.compute, n, ffn, "mlp.da");
    Tensor dh = arena_tensor(cx->scratch, cx->precision.compute, n, w->wi.w.d[0], "mlp.dh");
    Tensor dn = dout; /* dout is read for the last time before dn is written */
    Dropout hidden_drop = hidden_dropout(cx, ffn);
    Tensor input, gate, dinput, dgate;

    split_gated(save->h, ffn, &input, &gate);
    split_gated(dh, ffn, &dinput, &dgate);
    Tensor normed = sublayer_input(cx, &save->in);
    linear_bwd(cx, da, 0, dout, save->a, &w->wo, &g->wo, beta);
    op_act_bwd(cx->dev, dinput, dgate, da, input, gate, cx->model->activation, &hidden_drop);
    linear_bwd(cx, dn, 0, dh, normed, &w->wi, &g->wi, beta);
    sublayer_enter_bwd(cx, grad, dn, w->norm, g->norm, beta, &save->in);
    arena_reset(cx->scratch, mark);
}

static const Dropout no_dropout = { 0 };

void transform_fwd(const Ctx *cx, Tensor y, Tensor x, const TransformW *w, Activation activation, TransformSave *save)
{
    bool normed = tensor_present(w->norm.w);
    Tensor a = normed ? arena_tensor(cx->save, cx->precision.compute, x.d[0], x.d[1], "transform.a") : y;

    save->x = x;
    save->h = arena_tensor(cx->save, cx->precision.compute, x.d[0], x.d[1], "transform.h");
    linear_fwd(cx, save->h, x, &w->dense);
    op_act_fwd(cx->dev, a, save->h, NO_TENSOR, activation, &no_dropout);
    if (normed)
        norm_fwd(cx, y, a, w->norm, &save->norm);
}

void transform_bwd(const Ctx *cx, Tensor dx, Tensor dy, const TransformW *w, Activation activation, const TransformW *g,
                   float beta, const TransformSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor dh = arena_tensor(cx->scratch, cx->precision.compute, dy.d[0], dy.d[1], "transform.dh"), da = dy;

    if (tensor_present(w->norm.w)) {
        norm_bwd(cx, dh, dy, NO_TENSOR, (NormBack){ w->norm, g->norm, beta, &save->norm });
        da = dh;
    }
    op_act_bwd(cx->dev, dh, NO_TENSOR, da, save->h, NO_TENSOR, activation, &no_dropout);
    linear_bwd(cx, dx, 0, dh, save->x, &w->dense, &g->dense, beta);
    arena_reset(cx->scratch, mark);
}
