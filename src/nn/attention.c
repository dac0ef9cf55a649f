#include "nn/attention.h"

#include "nn/context.h"
#include "nn/rows.h"

/* The settings of the layer's self-attention, from `queries` to `keys`. */
static AttnSpec self_spec(const Ctx *cx, const Sequences *queries, const Sequences *keys)
{
    AttnSpec spec = ctx_attention(cx, queries, keys);

    spec.window = cx->layer->window;
    spec.layout = cx->layer->layout;
    spec.causal = cx->layer->decoder;
    if (spec.causal)
        spec.prefix = keys->prefix;
    return spec;
}

static AttnSpec attention_spec(const Ctx *cx, bool self)
{
    const Sequences *own = &cx->tokens->seq;
    return self ? self_spec(cx, own, own) : ctx_attention(cx, own, &cx->encoder_tokens->seq);
}

/* k and v are the halves of kv. */
static void slice_kv(Projections *p)
{
    int64_t width = p->kv.d[1] / 2;
    p->k = tensor_slice_cols(p->kv, 0, width);
    p->v = tensor_slice_cols(p->kv, width, width);
}

/* Number of rows of the separate tensor kv beside n queries; 0 means that keys and values lie in qkv, beside the
 * queries. */
static int64_t rows_apart(int64_t n, Tensor encoder_out, const AttentionW *w)
{
    if (tensor_present(encoder_out))
        return encoder_out.d[0];
    return tensor_present(w->context.q) ? n : 0;
}

/* Allocates projections for n queries, `width` columns of as many heads as that is. */
static Projections projections_new(const Ctx *cx, Arena *arena, int64_t n, int64_t n_apart, int64_t width)
{
    int64_t kv_width = 2 * (width * cx->model->kv_heads / cx->model->heads);
    Projections p = { 0 };

    if (n_apart == 0) {
        p.qkv = arena_tensor(arena, cx->precision.compute, n, width + kv_width, "attention.qkv");
        p.q = tensor_slice_cols(p.qkv, 0, width);
        p.kv = tensor_slice_cols(p.qkv, width, kv_width);
    } else {
        p.q = arena_tensor(arena, cx->precision.compute, n, width, "attention.q");
        p.kv = arena_tensor(arena, cx->precision.compute, n_apart, kv_width, "attention.kv");
    }
    slice_kv(&p);
    return p;
}

/* Rotates queries and keys by their position ids if the model has rotary positions; in one operation if both are
 * columns of the same matrix. */
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
    Projections p = { .kv = kv };

    slice_kv(&p);
    block_linear_fwd(cx, kv, encoder_out, w->kv, LINEAR_CROSS_KV);
    lora_fwd(cx, p.k, encoder_out, w->k.lora, LORA_CROSS_K);
    lora_fwd(cx, p.v, encoder_out, w->v.lora, LORA_CROSS_V);
}

static void cross_query(const Ctx *cx, Tensor q, Tensor n, const AttentionW *w)
{
    block_linear_fwd(cx, q, n, w->q, LINEAR_CROSS_Q);
    lora_fwd(cx, q, n, w->q.lora, LORA_CROSS_Q);
}

/* The tensor that self-attention computes as one product with w->qkv: queries, keys and values; with context-dependent
 * queries only keys and values. */
static Tensor fused(const Projections *p, const AttentionW *w)
{
    return tensor_present(w->context.q) ? p->kv : p->qkv;
}

static void project_fwd(const Ctx *cx, Projections *p, Tensor n, Tensor encoder_out, const AttentionW *w,
                        ContextQuerySave *context)
{
    if (tensor_present(encoder_out)) {
        cross_query(cx, p->q, n, w);
        attention_cross_kv(cx, p->kv, encoder_out, w);
        return;
    }
    if (tensor_present(w->context.q))
        context_query_fwd(cx, p->q, n, &w->context, context);
    block_linear_fwd(cx, fused(p, w), n, w->qkv, LINEAR_SELF_QKV);
    lora_fwd(cx, fused(p, w), n, w->qkv.lora, LORA_SELF_QKV);
    lora_fwd(cx, p->q, n, w->q.lora, LORA_SELF_Q);
    lora_fwd(cx, p->k, n, w->k.lora, LORA_SELF_K);
    lora_fwd(cx, p->v, n, w->v.lora, LORA_SELF_V);
    rotate(cx, p, false);
}

static void project_bwd(const Ctx *cx, Tensor dn, Tensor dencoder_out, const Projections *dp, const AttentionW *w,
                        const AttentionW *g, float beta, const AttentionSave *save)
{
    Tensor n = rows_whole(cx, save->n), encoder_out = save->encoder_out;

    if (tensor_present(encoder_out)) {
        block_linear_bwd(cx, dn, 0, dp->q, n, w->q, g->q, beta, LINEAR_CROSS_Q);
        lora_bwd(cx, dn, dp->q, n, w->q.lora, g->q.lora, beta, LORA_CROSS_Q);
        block_linear_bwd(cx, dencoder_out, 1, dp->kv, encoder_out, w->kv, g->kv, beta, LINEAR_CROSS_KV);
        lora_bwd(cx, dencoder_out, dp->k, encoder_out, w->k.lora, g->k.lora, beta, LORA_CROSS_K);
        lora_bwd(cx, dencoder_out, dp->v, encoder_out, w->v.lora, g->v.lora, beta, LORA_CROSS_V);
        return;
    }
    rotate(cx, dp, true);
    block_linear_bwd(cx, dn, 0, fused(dp, w), n, w->qkv, g->qkv, beta, LINEAR_SELF_QKV);
    lora_bwd(cx, dn, fused(dp, w), n, w->qkv.lora, g->qkv.lora, beta, LORA_SELF_QKV);
    lora_bwd(cx, dn, dp->q, n, w->q.lora, g->q.lora, beta, LORA_SELF_Q);
    lora_bwd(cx, dn, dp->k, n, w->k.lora, g->k.lora, beta, LORA_SELF_K);
    lora_bwd(cx, dn, dp->v, n, w->v.lora, g->v.lora, beta, LORA_SELF_V);
    if (tensor_present(w->context.q))
        context_query_bwd(cx, dn, dp->q, n, &w->context, &g->context, beta, &save->context);
}

/* The projections that attention reads, in `arena`: of all rows and this rank's heads; `own` itself, which are of this
 * rank's rows and all heads, without context parallelism. */
static Projections projections_heads(const Ctx *cx, Arena *arena, const Projections *own, bool self)
{
    const Tensor qkv[] = { own->q, own->k, own->v };
    Projections p = { 0 };

    if (!context_divided(cx))
        return *own;
    if (self) {
        p.qkv = context_heads(cx, arena, cx->tokens, qkv, 3);
        int64_t width = p.qkv.d[1] * cx->model->heads / (cx->model->heads + 2 * cx->model->kv_heads);
        p.q = tensor_slice_cols(p.qkv, 0, width);
        p.kv = tensor_slice_cols(p.qkv, width, p.qkv.d[1] - width);
    } else {
        p.q = context_heads(cx, arena, cx->tokens, qkv, 1);
        p.kv = context_heads(cx, arena, cx->encoder_tokens, qkv + 1, 2);
    }
    slice_kv(&p);
    return p;
}

/* The reverse: own = this rank's rows of p. Does nothing without context parallelism, where they are the same. */
static void projections_rows(const Ctx *cx, const Projections *own, const Projections *p, bool self)
{
    const Tensor qkv[] = { own->q, own->k, own->v };

    if (!context_divided(cx))
        return;
    context_rows(cx, cx->tokens, qkv, self ? 3 : 1, self ? p->qkv : p->q);
    if (!self)
        context_rows(cx, cx->encoder_tokens, qkv + 1, 2, p->kv);
}

/* Gradients of what projections_heads makes of projections of the shapes of `own`; `own` itself without context
 * parallelism. */
static Projections projections_like_heads(const Ctx *cx, const Projections *own, bool self)
{
    return context_divided(cx) ? projections_new(cx, cx->scratch, cx->tokens->all, self ? 0 : cx->encoder_tokens->all,
                                                 own->q.d[1] / cx->context->size)
                               : *own;
}

/* The attention output of this rank's rows (N,A), in scratch memory, from that of its heads; o itself without context
 * parallelism. */
static Tensor output_rows(const Ctx *cx, Tensor o, int64_t width)
{
    if (!context_divided(cx))
        return o;
    Tensor own = arena_tensor(cx->scratch, (DType)o.dtype, cx->tokens->n, width, "attention.rows");
    context_rows(cx, cx->tokens, &own, 1, o);
    return own;
}

static RelposSpec relpos_from(const Ctx *cx, int32_t first)
{
    RelposSpec spec = cx->layer->relpos;
    spec.first = first;
    return spec;
}

/* bias (H,n) of relative positions first, first + 1, …, by the block's own table. */
static Tensor own_bias(const Ctx *cx, Arena *arena, Tensor table, int32_t first, int32_t n)
{
    Tensor bias = arena_tensor(arena, cx->precision.compute, cx->model->heads, n, "attention.bias");
    RelposSpec spec = relpos_from(cx, first);
    op_relpos_fwd(cx->dev, bias, table, &spec);
    return bias;
}

static LoraSite output_site(bool self)
{
    return self ? LORA_SELF_O : LORA_CROSS_O;
}

static LinearSite output_linear(bool self)
{
    return self ? LINEAR_SELF_O : LINEAR_CROSS_O;
}

void attention_fwd(const Ctx *cx, Residual *stream, Tensor y, Tensor encoder_out, Tensor bias, const AttentionW *w,
                   AttentionSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    bool self = !tensor_present(encoder_out);
    int32_t max_len = cx->tokens->seq.max_len;
    int64_t n = cx->tokens->n, width = w->o.w.d[1];
    Tensor out = stream->output;
    AttnSpec spec = attention_spec(cx, self);
    AttnDistance distance = { .table = w->distance, .keys = cx->model->distance_keys };
    Dropout probs_drop = ctx_dropout(cx, self ? SITE_SELF_PROBS : SITE_CROSS_PROBS);
    DropoutSite out_site = self ? SITE_SELF_OUT : SITE_CROSS_OUT;

    spec.distance = tensor_present(w->distance) ? &distance : NULL;
    context_attention(cx, &spec, &probs_drop);
    save->encoder_out = encoder_out;
    save->bias = tensor_present(w->relpos) ? own_bias(cx, cx->save, w->relpos, 1 - max_len, 2 * max_len - 1) : bias;
    save->n = sublayer_enter(cx, stream, w->norm, &save->norm);
    Projections own =
        projections_new(cx, context_divided(cx) ? cx->scratch : cx->save, n, rows_apart(n, encoder_out, w), width);
    project_fwd(cx, &own, rows_whole(cx, save->n), encoder_out, w, &save->context);
    save->p = projections_heads(cx, cx->save, &own, self);
    save->o = arena_tensor(cx->save, cx->precision.compute, save->p.q.d[0], save->p.q.d[1], "attention.o");
    save->lse = arena_tensor(cx->save, precision_statistic(cx->precision), spec.heads, save->o.d[0], "attention.lse");
    op_attn_fwd(cx->dev, save->o, save->lse, save->p.q, save->p.k, save->p.v, context_head_rows(cx, save->bias), &spec,
                &probs_drop);
    Tensor o = output_rows(cx, save->o, width);
    block_linear_fwd(cx, out, o, linear_added(cx, w->o), output_linear(self));
    lora_fwd(cx, out, o, w->o.lora, output_site(self));
    sublayer_leave(cx, stream, y, rows_sum(cx, out), out_site, w->norm, &save->norm);
    arena_reset(cx->scratch, mark);
}

/* Computes dp, the gradients of save->p, from dattended, the gradient of save->o. If the bias is the
 * stack's, dbias is added to; if it comes from the block's own table, g->relpos = beta g->relpos + new. */
static void attend_bwd(const Ctx *cx, const Projections *dp, Tensor dbias, Tensor dattended, const AttentionW *w,
                       const AttentionW *g, float beta, const AttentionSave *save)
{
    bool self = !tensor_present(save->encoder_out), own = tensor_present(w->relpos);
    AttnSpec spec = attention_spec(cx, self);
    AttnDistance distance = { .table = w->distance,
                              .dtable = ctx_gradient(cx, g->distance, w->distance),
                              .beta = beta,
                              .keys = cx->model->distance_keys };
    Dropout probs_drop = ctx_dropout(cx, self ? SITE_SELF_PROBS : SITE_CROSS_PROBS);
    RelposSpec relpos = relpos_from(cx, 1 - cx->tokens->seq.max_len);

    spec.distance = tensor_present(w->distance) ? &distance : NULL;
    context_attention(cx, &spec, &probs_drop);
    if (own && tensor_present(g->relpos)) {
        dbias = arena_tensor(cx->scratch, cx->precision.grad, save->bias.d[0], save->bias.d[1], "attention.dbias");
        if (context_divided(cx))
            op_fill(cx->dev, dbias, 0);
    }
    op_attn_bwd(cx->dev, dp->q, dp->k, dp->v, context_head_rows(cx, dbias), own ? 0 : 1, dattended, save->o, save->lse,
                save->p.q, save->p.k, save->p.v, context_head_rows(cx, save->bias), &spec, &probs_drop);
    if (own && tensor_present(g->relpos))
        op_relpos_bwd(cx->dev, g->relpos, dbias, &relpos, beta);
}

void attention_bwd(const Ctx *cx, ResidualGrad *grad, Tensor dencoder_out, Tensor dbias, const AttentionW *w,
                   const AttentionW *g, float beta, const AttentionSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    int64_t n = cx->tokens->n, width = w->o.w.d[1];
    bool self = !tensor_present(save->encoder_out);
    DropoutSite out_site = self ? SITE_SELF_OUT : SITE_CROSS_OUT;
    Tensor dout = sublayer_leave_bwd(cx, grad, out_site, w->norm, g->norm, beta, &save->norm);
    Tensor dattended = arena_tensor(cx->scratch, cx->precision.compute, n, width, "attention.dattended");
    Projections dp = projections_new(cx, cx->scratch, n, rows_apart(n, save->encoder_out, w), width);
    Tensor dn = dout; /* dout is read for the last time before dn is written */
    Tensor o = output_rows(cx, save->o, width);
    block_linear_bwd(cx, dattended, 0, dout, o, w->o, g->o, beta, output_linear(self));
    lora_bwd(cx, dattended, dout, o, w->o.lora, g->o.lora, beta, output_site(self));
    Projections dheads = projections_like_heads(cx, &dp, self);
    attend_bwd(cx, &dheads, dbias, context_heads(cx, cx->scratch, cx->tokens, &dattended, 1), w, g, beta, save);
    projections_rows(cx, &dp, &dheads, self);
    project_bwd(cx, dn, dencoder_out, &dp, w, g, beta, save);
    sublayer_enter_bwd(cx, grad, rows_sum(cx, dn), w->norm, g->norm, beta, &save->norm);
    arena_reset(cx->scratch, mark);
}

/* o (S,A) = attention of the queries q (S,A) to the keys and values in a cache. */
static void attend_cache(const Ctx *cx, Tensor o, Tensor q, Tensor bias, Tensor cache, const AttnSpec *spec)
{
    Tensor lse =
        arena_tensor(cx->scratch, precision_statistic(cx->precision), cx->model->heads, q.d[0], "attention.lse");
    Projections p = { .kv = cache };
    Dropout none = { 0 };

    slice_kv(&p);
    op_attn_fwd(cx->dev, o, lse, q, p.k, p.v, bias, spec, &none);
}

/* Makes the stream that of y, the output of the attention sublayer for one step of decoding, computed from o. */
static void project_step(const Ctx *cx, Residual *stream, Tensor y, Tensor o, const AttentionW *w, LoraSite site,
                         NormSave *unused)
{
    Tensor out = stream->output;

    linear_fwd(cx, out, o, linear_added(cx, w->o));
    lora_fwd(cx, out, o, w->o.lora, site);
    tensor_parallel_sum(cx->tp, cx->dev, out);
    sublayer_leave(cx, stream, y, out, SITE_SELF_OUT, w->norm, unused);
}

void attention_step_self(const Ctx *cx, Residual *stream, Tensor y, Tensor bias, const AttentionW *w, Tensor cache,
                         const DecodeStep *step)
{
    size_t mark = arena_mark(cx->scratch);
    NormSave unused;
    Tensor n = sublayer_enter(cx, stream, w->norm, &unused);
    Projections p = projections_new(cx, cx->scratch, n.d[0], 0, w->o.w.d[1]);
    Tensor o = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], w->o.w.d[1], "attention.o");
    AttnSpec spec = self_spec(cx, &step->queries, &step->keys);

    project_fwd(cx, &p, n, NO_TENSOR, w, NULL);
    op_scatter(cx->dev, cache, p.kv, step->new_rows);
    if (tensor_present(w->relpos))
        bias = own_bias(cx, cx->scratch, w->relpos, 1 - step->capacity, step->capacity);
    if (tensor_present(bias))
        bias = tensor_slice_cols(bias, bias.d[1] - spec.max_k, spec.max_k);
    attend_cache(cx, o, p.q, bias, cache, &spec);
    project_step(cx, stream, y, o, w, output_site(true), &unused);
    arena_reset(cx->scratch, mark);
}

void attention_step_cross(const Ctx *cx, Residual *stream, Tensor y, const AttentionW *w, Tensor cache)
{
    size_t mark = arena_mark(cx->scratch);
    NormSave unused;
    Tensor n = sublayer_enter(cx, stream, w->norm, &unused);
    Tensor q = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], w->o.w.d[1], "attention.q");
    Tensor o = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], w->o.w.d[1], "attention.o");
    AttnSpec spec = attention_spec(cx, false);

    cross_query(cx, q, n, w);
    attend_cache(cx, o, q, NO_TENSOR, cache, &spec);
    project_step(cx, stream, y, o, w, output_site(false), &unused);
    arena_reset(cx->scratch, mark);
}
