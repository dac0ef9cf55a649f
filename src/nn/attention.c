#include "nn/attention.h"

#include "nn/context.h"

/* Rows of the separate tensor kv beside n queries; 0 means that keys and values lie in qkv. */
static int64_t rows_apart(int64_t n, Tensor encoder_out, const AttentionW *w)
{
    if (tensor_present(encoder_out))
        return encoder_out.d[0];
    return tensor_present(w->context.q) ? n : 0;
}

/* Rotates queries and keys if the model has rotary positions; in one operation if both are columns of one matrix. */
static void rotate(const Ctx *cx, const Projections *p, bool inverse)
{
    Tensor angles = cx->rotary[cx->layer->local_rotary];
    int32_t head_dim = (int32_t)(p->q.d[1] / cx->model->heads);

    if (!tensor_present(angles))
        return;
    if (tensor_present(p->qkv)) {
        Tensor both = tensor_slice_cols(p->qkv, 0, p->q.d[1] + p->k.d[1]);
        op_rotary(cx->dev, both, angles, cx->tokens->position_ids, head_dim, inverse);
        return;
    }
    op_rotary(cx->dev, p->q, angles, cx->tokens->position_ids, head_dim, inverse);
    op_rotary(cx->dev, p->k, angles, cx->tokens->position_ids, head_dim, inverse);
}

void attention_cross_kv(const Ctx *cx, Tensor kv, Tensor encoder_out, const AttentionW *w)
{
    linear_fwd(cx, kv, encoder_out, &w->kv);
}

/* What self-attention computes with w->qkv: queries, keys and values; no queries if they are context-dependent. */
static Tensor fused(const Projections *p, const AttentionW *w)
{
    return tensor_present(w->context.q) ? p->kv : p->qkv;
}

static void project_fwd(const Ctx *cx, Projections *p, Tensor n, Tensor encoder_out, const AttentionW *w,
                        AttentionSave *save)
{
    if (tensor_present(encoder_out)) {
        linear_fwd(cx, p->q, n, &w->q);
        attention_cross_kv(cx, p->kv, encoder_out, w);
        return;
    }
    if (tensor_present(w->context.q))
        context_query_fwd(cx, p->q, n, &w->context, &save->context);
    linear_fwd(cx, fused(p, w), n, &w->qkv);
    head_norm_fwd(cx, p->q, w->q_norm, &save->q_norm);
    head_norm_fwd(cx, p->k, w->k_norm, &save->k_norm);
    rotate(cx, p, false);
}

static void project_bwd(const Ctx *cx, Tensor dn, Tensor dencoder_out, const Projections *dp, const AttentionW *w,
                        const AttentionW *g, float beta, const AttentionSave *save)
{
    Tensor n = sublayer_input(cx, &save->in);

    if (tensor_present(save->encoder_out)) {
        linear_bwd(cx, dn, 0, dp->q, n, &w->q, &g->q, beta);
        linear_bwd(cx, dencoder_out, 1, dp->kv, save->encoder_out, &w->kv, &g->kv, beta);
        return;
    }
    rotate(cx, dp, true);
    head_norm_bwd(cx, dp->q, w->q_norm, g->q_norm, beta, &save->q_norm);
    head_norm_bwd(cx, dp->k, w->k_norm, g->k_norm, beta, &save->k_norm);
    linear_bwd(cx, dn, 0, fused(dp, w), n, &w->qkv, &g->qkv, beta);
    if (tensor_present(w->context.q))
        context_query_bwd(cx, dn, dp->q, n, &w->context, &g->context, beta, &save->context);
}

void attention_fwd(const Ctx *cx, Residual *stream, Tensor y, Tensor encoder_out, Tensor bias, const AttentionW *w,
                   AttentionSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    DropoutSite out_site = tensor_present(encoder_out) ? SITE_CROSS_OUT : SITE_SELF_OUT;
    int64_t width = w->o.w.d[1];
    Tensor out = stream->output;

    save->encoder_out = encoder_out;
    Tensor n = sublayer_enter(cx, stream, w->norm, &save->in);
    Projections own = projections_new(cx, context_divided(cx) ? cx->scratch : cx->save, n.d[0],
                                      rows_apart(n.d[0], encoder_out, w), width);
    project_fwd(cx, &own, n, encoder_out, w, save);
    linear_fwd(cx, out, attend_fwd(cx, &own, bias, w, save), &w->o);
    sublayer_leave(cx, stream, y, out, out_site, w->norm, &save->in);
    arena_reset(cx->scratch, mark);
}

void attention_bwd(const Ctx *cx, ResidualGrad *grad, Tensor dencoder_out, Tensor dbias, const AttentionW *w,
                   const AttentionW *g, float beta, const AttentionSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    DropoutSite out_site = tensor_present(save->encoder_out) ? SITE_CROSS_OUT : SITE_SELF_OUT;
    Tensor dout = sublayer_leave_bwd(cx, grad, out_site, w->norm, g->norm, beta, &save->in);
    int64_t n = dout.d[0], width = w->o.w.d[1];
    Tensor dattended = arena_tensor(cx->scratch, cx->precision.compute, n, width, "attention.dattended");
    Projections dp = projections_new(cx, cx->scratch, n, rows_apart(n, save->encoder_out, w), width);
    Tensor dn = dout; /* dout is read for the last time before dn is written */

    linear_bwd(cx, dattended, 0, dout, attend_output(cx, save, width), &w->o, &g->o, beta);
    attend_bwd(cx, &dp, dbias, dattended, w, g, beta, save);
    project_bwd(cx, dn, dencoder_out, &dp, w, g, beta, save);
    sublayer_enter_bwd(cx, grad, dn, w->norm, g->norm, beta, &save->in);
    arena_reset(cx->scratch, mark);
}

void attention_step_self(const Ctx *cx, Residual *stream, Tensor y, Tensor bias, const AttentionW *w, Tensor cache,
                         const DecodeStep *step)
{
    size_t mark = arena_mark(cx->scratch);
    AttentionSave unused;
    Tensor n = sublayer_enter(cx, stream, w->norm, &unused.in);
    Projections p = projections_new(cx, cx->scratch, n.d[0], 0, w->o.w.d[1]);
    Tensor o = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], w->o.w.d[1], "attention.o");

    project_fwd(cx, &p, n, NO_TENSOR, w, &unused);
    op_scatter(cx->dev, cache, p.kv, step->new_rows);
    attend_cache(cx, o, p.q, bias, w, cache, step);
    linear_fwd(cx, stream->output, o, &w->o);
    sublayer_leave(cx, stream, y, stream->output, SITE_SELF_OUT, w->norm, &unused.in);
    arena_reset(cx->scratch, mark);
}

void attention_step_cross(const Ctx *cx, Residual *stream, Tensor y, const AttentionW *w, Tensor cache)
{
    size_t mark = arena_mark(cx->scratch);
    SublayerSave unused;
    Tensor n = sublayer_enter(cx, stream, w->norm, &unused);
    Tensor q = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], w->o.w.d[1], "attention.q");
    Tensor o = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], w->o.w.d[1], "attention.o");

    linear_fwd(cx, q, n, &w->q);
    attend_cache(cx, o, q, NO_TENSOR, w, cache, NULL);
    linear_fwd(cx, stream->output, o, &w->o);
    sublayer_leave(cx, stream, y, stream->output, SITE_CROSS_OUT, w->norm, &unused);
    arena_reset(cx->scratch, mark);
}
