#include "nn/nn.h"

static AttnSpec attention_spec(const Ctx *cx, bool self)
{
    const Rows *q = cx->rows, *k = self ? cx->rows : cx->memory_rows;
    return (AttnSpec){ .cu_q = q->cu,
                       .cu_k = k->cu,
                       .n_seq = q->n_seq,
                       .max_q = q->max_len,
                       .max_k = k->max_len,
                       .heads = cx->heads,
                       .kv_heads = cx->kv_heads,
                       .window = self ? cx->window : 0,
                       .layout = self ? cx->layout : NULL,
                       .prefix = self && cx->decoder ? q->prefix : (BothSides){ 0 },
                       .causal = self && cx->decoder,
                       .scale = cx->score_scale,
                       .rescale = cx->score_rescale };
}

/* What the spec points to where the block has embeddings of distances; g is absent in forward. */
static AttnDistance attention_distance(const Ctx *cx, const AttentionW *w, const AttentionW *g)
{
    return (AttnDistance){
        .table = w->distance, .dtable = g ? g->distance : NO_TENSOR, .beta = cx->g_beta, .keys = cx->distance_keys
    };
}

static void slice_kv(Projections *p)
{
    int64_t width = p->kv.d[1] / 2;
    p->k = tensor_slice_cols(p->kv, 0, width);
    p->v = tensor_slice_cols(p->kv, width, width);
}

/* The rows that keys and values have a tensor of their own for; 0: they lie beside the queries. */
static int64_t rows_apart(Tensor x, Tensor memory, const AttentionW *w)
{
    if (tensor_present(memory))
        return memory.d[0];
    return tensor_present(w->context.q) ? x.d[0] : 0;
}

/* For n rows of width A = H·D. */
static Projections projections_new(const Ctx *cx, Arena *arena, int64_t n, int64_t n_apart, int64_t width)
{
    int64_t kv_width = 2 * (width / cx->heads * cx->kv_heads);
    Projections p = { 0 };

    if (n_apart == 0) {
        p.qkv = arena_tensor(arena, cx->dtype, n, width + kv_width, "attention.qkv");
        p.q = tensor_slice_cols(p.qkv, 0, width);
        p.kv = tensor_slice_cols(p.qkv, width, kv_width);
    } else {
        p.q = arena_tensor(arena, cx->dtype, n, width, "attention.q");
        p.kv = arena_tensor(arena, cx->dtype, n_apart, kv_width, "attention.kv");
    }
    slice_kv(&p);
    return p;
}

/* Queries and keys by their places, where the layer has rotary positions. */
static void rotate(Ctx *cx, const Projections *p, bool inverse)
{
    if (!tensor_present(cx->rotary))
        return;
    int32_t head_dim = (int32_t)(p->q.d[1] / cx->heads);
    op_rotary(cx->dev, p->q, cx->rotary, cx->rows->place, head_dim, inverse);
    op_rotary(cx->dev, p->k, cx->rotary, cx->rows->place, head_dim, inverse);
}

static void project_fwd(Ctx *cx, Projections *p, Tensor n, Tensor memory, const AttentionW *w,
                        ContextQuerySave *context)
{
    if (tensor_present(memory)) {
        linear_fwd(cx, p->q, n, w->q);
        linear_fwd(cx, p->kv, memory, w->kv);
        return;
    }
    if (tensor_present(w->context.q)) {
        context_query_fwd(cx, p->q, n, &w->context, context);
        linear_fwd(cx, p->kv, n, w->qkv);
    } else {
        linear_fwd(cx, p->qkv, n, w->qkv);
    }
    rotate(cx, p, false);
}

static void project_bwd(Ctx *cx, Tensor dn, Tensor dmemory, const Projections *dp, const AttentionW *w,
                        const AttentionW *g, const AttentionSave *save)
{
    if (tensor_present(save->memory)) {
        linear_bwd(cx, dn, dp->q, save->n, w->q, g->q);
        linear_bwd_weight(cx, g->kv, dp->kv, save->memory);
        linear_bwd_input(cx, dmemory, dp->kv, w->kv, 1);
        return;
    }
    rotate(cx, dp, true);
    if (tensor_present(w->context.q)) {
        linear_bwd(cx, dn, dp->kv, save->n, w->qkv, g->qkv);
        context_query_bwd(cx, dn, dp->q, save->n, &w->context, &g->context, &save->context);
    } else {
        linear_bwd(cx, dn, dp->qkv, save->n, w->qkv, g->qkv);
    }
}

/* Relative positions from `first` to the last that its n columns hold, by the block's own table. */
static Tensor own_bias(Ctx *cx, Arena *arena, Tensor table, int32_t first, int32_t n)
{
    Tensor bias = arena_tensor(arena, cx->dtype, cx->heads, n, "attention.bias");
    RelposSpec spec = cx->relpos;
    spec.first = first;
    op_relpos_fwd(cx->dev, bias, table, &spec);
    return bias;
}

/* The gradient of the block's own table from that of its bias. */
static void own_bias_bwd(Ctx *cx, Tensor dtable, Tensor dbias)
{
    RelposSpec spec = cx->relpos;
    spec.first = 1 - cx->rows->max_len;
    op_relpos_bwd(cx->dev, dtable, dbias, &spec, cx->g_beta);
}

void attention_fwd(Ctx *cx, Tensor y, Tensor x, Tensor memory, Tensor bias, const AttentionW *w, AttentionSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    bool self = !tensor_present(memory);
    int64_t n = x.d[0], width = w->o.w.d[1];
    Tensor out = arena_tensor(cx->scratch, cx->dtype, n, x.d[1], "attention.out");
    AttnSpec spec = attention_spec(cx, self);
    AttnDistance distance = attention_distance(cx, w, NULL);
    Dropout probs_drop = ctx_dropout(cx, self ? SITE_SELF_PROBS : SITE_CROSS_PROBS);
    DropoutSite out_site = self ? SITE_SELF_OUT : SITE_CROSS_OUT;

    spec.distance = tensor_present(w->distance) ? &distance : NULL;
    save->memory = memory;
    save->bias = tensor_present(w->relpos)
                     ? own_bias(cx, cx->save, w->relpos, 1 - cx->rows->max_len, 2 * cx->rows->max_len - 1)
                     : bias;
    save->n = sublayer_enter(cx, x, w->norm, &save->norm);
    save->p = projections_new(cx, cx->save, n, rows_apart(x, memory, w), width);
    save->o = arena_tensor(cx->save, cx->dtype, n, width, "attention.o");
    save->lse = arena_tensor(cx->save, cx->dtype, cx->heads, n, "attention.lse");
    project_fwd(cx, &save->p, save->n, memory, w, &save->context);
    op_attn_fwd(cx->dev, save->o, save->lse, save->p.q, save->p.k, save->p.v, save->bias, &spec, &probs_drop);
    linear_fwd(cx, out, save->o, w->o);
    sublayer_leave(cx, y, x, out, out_site, w->norm, &save->norm);
    arena_reset(cx->scratch, mark);
}

void attention_bwd(Ctx *cx, Tensor dx, Tensor dmemory, Tensor dbias, const AttentionW *w, const AttentionW *g,
                   const AttentionSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    bool self = !tensor_present(save->memory), own = tensor_present(w->relpos);
    int64_t n = dx.d[0], width = w->o.w.d[1];
    Tensor dout = arena_tensor(cx->scratch, cx->dtype, n, dx.d[1], "attention.dout");
    Tensor dattended = arena_tensor(cx->scratch, cx->dtype, n, width, "attention.dattended");
    Projections dp = projections_new(cx, cx->scratch, n, rows_apart(dx, save->memory, w), width);
    Tensor dn = dout; /* dout is read for the last time before dn is written */
    AttnSpec spec = attention_spec(cx, self);
    AttnDistance distance = attention_distance(cx, w, g);
    Dropout probs_drop = ctx_dropout(cx, self ? SITE_SELF_PROBS : SITE_CROSS_PROBS);
    DropoutSite out_site = self ? SITE_SELF_OUT : SITE_CROSS_OUT;

    spec.distance = tensor_present(w->distance) ? &distance : NULL;
    if (own)
        dbias = arena_tensor(cx->scratch, cx->dtype, save->bias.d[0], save->bias.d[1], "attention.dbias");
    sublayer_leave_bwd(cx, dout, dx, out_site, w->norm, g->norm, &save->norm);
    linear_bwd(cx, dattended, dout, save->o, w->o, g->o);
    op_attn_bwd(cx->dev, dp.q, dp.k, dp.v, dbias, own ? 0 : 1, dattended, save->o, save->lse, save->p.q, save->p.k,
                save->p.v, save->bias, &spec, &probs_drop);
    if (own)
        own_bias_bwd(cx, g->relpos, dbias);
    project_bwd(cx, dn, dmemory, &dp, w, g, save);
    sublayer_enter_bwd(cx, dx, dn, w->norm, g->norm, &save->norm);
    arena_reset(cx->scratch, mark);
}

/* o (B,A) of q (B,A): row b attends to the filled rows of sequence b. */
static void attend_self(Ctx *cx, Tensor o, Tensor q, Tensor bias, const AttentionCache *cache, const CacheRows *rows)
{
    Tensor lse = arena_tensor(cx->scratch, cx->dtype, cx->heads, q.d[0], "attention.lse");
    Tensor near = tensor_present(bias) ? tensor_slice_cols(bias, bias.d[1] - rows->max_k, rows->max_k) : NO_TENSOR;
    Dropout none = { 0 };
    AttnSpec spec = { .cu_q = rows->cu_q,
                      .cu_k = rows->cu_k,
                      .k_first = rows->first,
                      .n_seq = rows->n_seq,
                      .max_q = 1,
                      .max_k = rows->max_k,
                      .heads = cx->heads,
                      .kv_heads = cx->kv_heads,
                      .window = cx->window,
                      .layout = cx->layout,
                      .scale = cx->score_scale,
                      .rescale = cx->score_rescale };
    Projections p = { .kv = cache->kv };

    slice_kv(&p);
    op_attn_fwd(cx->dev, o, lse, q, p.k, p.v, near, &spec, &none);
}

static void attend_cross(Ctx *cx, Tensor o, Tensor q, const AttentionCache *cache)
{
    Tensor lse = arena_tensor(cx->scratch, cx->dtype, cx->heads, q.d[0], "attention.lse");
    AttnSpec spec = attention_spec(cx, false);
    Projections p = { .kv = cache->kv };
    Dropout none = { 0 };

    slice_kv(&p);
    op_attn_fwd(cx->dev, o, lse, q, p.k, p.v, NO_TENSOR, &spec, &none);
}

/* y = the sublayer's result from o. */
static void project_step(Ctx *cx, Tensor y, Tensor x, Tensor o, const AttentionW *w, NormSave *unused)
{
    Tensor out = arena_tensor(cx->scratch, cx->dtype, x.d[0], x.d[1], "attention.out");

    linear_fwd(cx, out, o, w->o);
    sublayer_leave(cx, y, x, out, SITE_SELF_OUT, w->norm, unused);
}

void attention_step_self(Ctx *cx, Tensor y, Tensor x, Tensor bias, const AttentionW *w, const AttentionCache *cache,
                         const CacheRows *rows)
{
    size_t mark = arena_mark(cx->scratch);
    NormSave unused;
    Tensor n = sublayer_enter(cx, x, w->norm, &unused);
    Projections p = projections_new(cx, cx->scratch, x.d[0], 0, w->o.w.d[1]);
    Tensor o = arena_tensor(cx->scratch, cx->dtype, x.d[0], w->o.w.d[1], "attention.o");

    project_fwd(cx, &p, n, NO_TENSOR, w, NULL);
    op_scatter(cx->dev, cache->kv, p.kv, rows->own);
    if (tensor_present(w->relpos))
        bias = own_bias(cx, cx->scratch, w->relpos, 1 - rows->capacity, rows->capacity);
    attend_self(cx, o, p.q, bias, cache, rows);
    project_step(cx, y, x, o, w, &unused);
    arena_reset(cx->scratch, mark);
}

void attention_step_cross(Ctx *cx, Tensor y, Tensor x, const AttentionW *w, const AttentionCache *cache)
{
    size_t mark = arena_mark(cx->scratch);
    NormSave unused;
    Tensor n = sublayer_enter(cx, x, w->norm, &unused);
    Tensor q = arena_tensor(cx->scratch, cx->dtype, x.d[0], w->o.w.d[1], "attention.q");
    Tensor o = arena_tensor(cx->scratch, cx->dtype, x.d[0], w->o.w.d[1], "attention.o");

    linear_fwd(cx, q, n, w->q);
    attend_cross(cx, o, q, cache);
    project_step(cx, y, x, o, w, &unused);
    arena_reset(cx->scratch, mark);
}

void attention_remember(Ctx *cx, AttentionCache *cache, Tensor memory, const AttentionW *w)
{
    linear_fwd(cx, cache->kv, memory, w->kv);
}
