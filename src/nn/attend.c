/* attend.c: attention between the projections: its settings, the bias of relative positions, and, with context
 * parallelism, the exchange of tokens for heads around it. */
#include "nn/attention.h"
#include "nn/context.h"

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

Projections projections_new(const Ctx *cx, Arena *arena, int64_t n, int64_t n_apart, int64_t width)
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

/* Gradients of projections_heads of projections with the shapes of `own`; `own` itself without context parallelism. */
static Projections projections_like_heads(const Ctx *cx, const Projections *own, bool self)
{
    return context_divided(cx) ? projections_new(cx, cx->scratch, cx->tokens->all, self ? 0 : cx->encoder_tokens->all,
                                                 own->q.d[1] / cx->context->size)
                               : *own;
}

/* The output of this rank's heads is o itself without context parallelism, else in scratch memory. */
Tensor attend_output(const Ctx *cx, const AttentionSave *save, int64_t width)
{
    if (!context_divided(cx))
        return save->o;
    Tensor own = arena_tensor(cx->scratch, save->o.dtype, cx->tokens->n, width, "attention.rows");
    context_rows(cx, cx->tokens, &own, 1, save->o);
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

Tensor attend_fwd(const Ctx *cx, const Projections *own, Tensor bias, const AttentionW *w, AttentionSave *save)
{
    bool self = !tensor_present(save->encoder_out);
    int32_t max_len = cx->tokens->seq.max_len;
    AttnSpec spec = attention_spec(cx, self);
    AttnDistance distance = { .table = w->distance, .keys = cx->model->distance_keys };
    Dropout probs_drop = ctx_dropout(cx, self ? SITE_SELF_PROBS : SITE_CROSS_PROBS);

    spec.distance = tensor_present(w->distance) ? &distance : NULL;
    context_attention(cx, &spec, &probs_drop);
    save->bias = tensor_present(w->relpos) ? own_bias(cx, cx->save, w->relpos, 1 - max_len, 2 * max_len - 1) : bias;
    save->p = projections_heads(cx, cx->save, own, self);
    save->o = arena_tensor(cx->save, cx->precision.compute, save->p.q.d[0], save->p.q.d[1], "attention.o");
    save->lse = arena_tensor(cx->save, precision_statistic(cx->precision), spec.heads, save->o.d[0], "attention.lse");
    op_attn_fwd(cx->dev, save->o, save->lse, save->p.q, save->p.k, save->p.v, context_head_rows(cx, save->bias), &spec,
                &probs_drop);
    return attend_output(cx, save, own->q.d[1]);
}

/* As attend_bwd, of this rank's heads: dp are the gradients of save->p, dattended is that of save->o. */
static void heads_bwd(const Ctx *cx, const Projections *dp, Tensor dbias, Tensor dattended, const AttentionW *w,
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

void attend_bwd(const Ctx *cx, const Projections *dp, Tensor dbias, Tensor dattended, const AttentionW *w,
                const AttentionW *g, float beta, const AttentionSave *save)
{
    bool self = !tensor_present(save->encoder_out);
    Projections dheads = projections_like_heads(cx, dp, self);

    heads_bwd(cx, &dheads, dbias, context_heads(cx, cx->scratch, cx->tokens, &dattended, 1), w, g, beta, save);
    projections_rows(cx, dp, &dheads, self);
}

/* The bias of a step: the last columns of the stack's, or of the block's own table, as many as there are keys. */
static Tensor step_bias(const Ctx *cx, Tensor bias, const AttentionW *w, const DecodeStep *step, int32_t max_k)
{
    if (tensor_present(w->relpos))
        bias = own_bias(cx, cx->scratch, w->relpos, 1 - step->capacity, step->capacity);
    return tensor_present(bias) ? tensor_slice_cols(bias, bias.d[1] - max_k, max_k) : bias;
}

void attend_cache(const Ctx *cx, Tensor o, Tensor q, Tensor bias, const AttentionW *w, Tensor cache,
                  const DecodeStep *step)
{
    AttnSpec spec = step ? self_spec(cx, &step->queries, &step->keys) : attention_spec(cx, false);
    Dropout none = { 0 };
    Projections p = { .kv = cache };

    if (step)
        bias = step_bias(cx, bias, w, step, spec.max_k);
    Tensor lse =
        arena_tensor(cx->scratch, precision_statistic(cx->precision), cx->model->heads, q.d[0], "attention.lse");
    slice_kv(&p);
    op_attn_fwd(cx->dev, o, lse, q, p.k, p.v, bias, &spec, &none);
}
