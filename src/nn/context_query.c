/* context_query.c: queries that depend on the whole sequence, as t5-experiments' T5CDQAttention has them. Each head
 * pools the rows n of a sequence into one, P = Σ softmax(t · relu(W n)) n; its query of a row is then Q M [P; n].
 * Nothing stands between M and Q, so a query is the sum of a part of its row, the same for every head, and a part of
 * its sequence and head. */
#include "nn/context_query.h"

static const Dropout no_dropout = { 0 };

/* (H,C) as one row of H heads of C channels. */
static Tensor flat(Tensor t)
{
    return tensor_matrix(t.p, (DType)t.dtype, 1, tensor_count(t));
}

/* Of a sequence of the context's rows. */
static Tensor rows_of(const Ctx *cx, Tensor t, int32_t s)
{
    return tensor_slice_rows(t, cx->tokens->seq.cu.host[s],
                             cx->tokens->seq.cu.host[s + 1] - cx->tokens->seq.cu.host[s]);
}

/* M is (C,2C): what it makes of P left, of n right. */
static Tensor pooled_half(Tensor mix)
{
    return tensor_slice_cols(mix, 0, mix.d[1] / 2);
}

static Tensor row_half(Tensor mix)
{
    return tensor_slice_cols(mix, mix.d[1] / 2, mix.d[1] / 2);
}

/* Pooling is attention: one query a head, its row of t, to the keys relu(W n) and the values n, which all heads share.
 */
typedef struct Pooling {
    int32_t cu[4]; /* of the query, then of the keys */
    Tensor cu_device;
    Dropout drop;
} Pooling;

static Pooling pooling_of(const Ctx *cx, int32_t s)
{
    int32_t first = cx->tokens->seq.cu.host[s];
    Pooling pooling = { .cu = { 0, 1, 0, cx->tokens->seq.cu.host[s + 1] - first } };
    pooling.cu_device = indices_upload(cx->dev, cx->scratch, pooling.cu, 4, 4, "context.cu");
    pooling.drop = ctx_dropout(cx, SITE_CONTEXT_PROBS);
    if (pooling.drop.rate > 0) {
        pooling.drop.sample += first;
        pooling.drop.position += first;
    }
    return pooling;
}

static AttnSpec pooling_spec(const Ctx *cx, const Pooling *pooling)
{
    const Sequences query = { .n = 1, .max_len = 1, .cu = both_sides(pooling->cu, pooling->cu_device) };
    const Sequences keys = { .n = 1,
                             .max_len = cx->tokens->seq.max_len,
                             .cu = both_sides(pooling->cu + 2, tensor_slice_rows(pooling->cu_device, 2, 2)) };
    AttnSpec spec = ctx_attention(cx, &query, &keys);

    spec.kv_heads = 1;
    spec.scale = 1;
    spec.rescale = 0;
    return spec;
}

/* Of a sequence: rows (H,C), mixed = rows · Mᵀ (H,C), q (H,D), lse (H,1). */
typedef struct Pooled {
    Tensor rows, mixed, q, lse;
} Pooled;

static Pooled pool(const Ctx *cx, Tensor a, Tensor n, const ContextQueryW *w, int32_t s)
{
    int64_t width = n.d[1];
    Pooling pooling = pooling_of(cx, s);
    AttnSpec spec = pooling_spec(cx, &pooling);
    Pooled p = { .rows = arena_tensor(cx->scratch, cx->dtype, cx->model->heads, width, "context.pooled"),
                 .mixed = arena_tensor(cx->scratch, cx->dtype, cx->model->heads, width, "context.mixed"),
                 .q = arena_tensor(cx->scratch, cx->dtype, cx->model->heads, w->q.d[0], "context.q"),
                 .lse = arena_tensor(cx->scratch, cx->dtype, cx->model->heads, 1, "context.lse") };

    op_attn_fwd(cx->dev, flat(p.rows), p.lse, flat(w->score), rows_of(cx, a, s), rows_of(cx, n, s), NO_TENSOR, &spec,
                &pooling.drop);
    op_gemm(cx->dev, p.mixed, p.rows, pooled_half(w->mix), false, true, 1, 0);
    op_gemm(cx->dev, p.q, p.mixed, w->q, false, true, 1, 0);
    return p;
}

static bool is_empty(const Ctx *cx, int32_t s)
{
    return cx->tokens->seq.cu.host[s] == cx->tokens->seq.cu.host[s + 1];
}

void context_query_fwd(const Ctx *cx, Tensor q, Tensor n, const ContextQueryW *w, ContextQuerySave *save)
{
    size_t mark = arena_mark(cx->scratch);
    int64_t size = w->q.d[0];
    Tensor own = arena_tensor(cx->scratch, cx->dtype, n.d[0], size, "context.own");

    save->h = arena_tensor(cx->save, cx->dtype, n.d[0], n.d[1], "context.h");
    save->a = arena_tensor(cx->save, cx->dtype, n.d[0], n.d[1], "context.a");
    save->mixed = arena_tensor(cx->save, cx->dtype, n.d[0], n.d[1], "context.mixed");
    op_gemm(cx->dev, save->h, n, w->hidden, false, true, 1, 0);
    op_act_fwd(cx->dev, save->a, save->h, NO_TENSOR, ACT_RELU, &no_dropout);
    op_gemm(cx->dev, save->mixed, n, row_half(w->mix), false, true, 1, 0);
    op_gemm(cx->dev, own, save->mixed, w->q, false, true, 1, 0);
    for (int64_t h = 0; h < cx->model->heads; h++)
        op_copy(cx->dev, tensor_slice_cols(q, h * size, size), own);
    for (int32_t s = 0; s < cx->tokens->seq.n; s++) {
        size_t sequence = arena_mark(cx->scratch);
        if (is_empty(cx, s))
            continue;
        Pooled p = pool(cx, save->a, n, w, s);
        op_bias_add(cx->dev, rows_of(cx, q, s), rows_of(cx, q, s), tensor_vector(p.q.p, cx->dtype, q.d[1]));
        arena_reset(cx->scratch, sequence);
    }
    arena_reset(cx->scratch, mark);
}

/* The part of a sequence: da is written, dn and the gradients are added to. */
static void pool_bwd(const Ctx *cx, Tensor dn, Tensor da, Tensor dq, Tensor n, const ContextQueryW *w,
                     const ContextQueryW *g, const ContextQuerySave *save, int32_t s)
{
    size_t mark = arena_mark(cx->scratch);
    int64_t width = n.d[1];
    Pooled p = pool(cx, save->a, n, w, s);
    Pooling pooling = pooling_of(cx, s);
    AttnSpec spec = pooling_spec(cx, &pooling);
    Tensor dpq = arena_tensor(cx->scratch, cx->dtype, cx->model->heads, w->q.d[0], "context.dpq");
    Tensor dmixed = arena_tensor(cx->scratch, cx->dtype, cx->model->heads, width, "context.dmixed");
    Tensor dpooled = arena_tensor(cx->scratch, cx->dtype, cx->model->heads, width, "context.dpooled");
    Tensor dscore = arena_tensor(cx->scratch, cx->dtype, cx->model->heads, width, "context.dscore");
    Tensor dvalues = arena_tensor(cx->scratch, cx->dtype, rows_of(cx, n, s).d[0], width, "context.dvalues");

    op_column_sums(cx->dev, tensor_vector(dpq.p, cx->dtype, dq.d[1]), rows_of(cx, dq, s), 0);
    op_gemm(cx->dev, g->q, dpq, p.mixed, true, false, 1, 1);
    op_gemm(cx->dev, dmixed, dpq, w->q, false, false, 1, 0);
    op_gemm(cx->dev, pooled_half(g->mix), dmixed, p.rows, true, false, 1, 1);
    op_gemm(cx->dev, dpooled, dmixed, pooled_half(w->mix), false, false, 1, 0);
    op_attn_bwd(cx->dev, flat(dscore), rows_of(cx, da, s), dvalues, NO_TENSOR, 0, flat(dpooled), flat(p.rows), p.lse,
                flat(w->score), rows_of(cx, save->a, s), rows_of(cx, n, s), NO_TENSOR, &spec, &pooling.drop);
    op_add(cx->dev, g->score, g->score, dscore);
    op_add(cx->dev, rows_of(cx, dn, s), rows_of(cx, dn, s), dvalues);
    arena_reset(cx->scratch, mark);
}

/* The part of the rows: dn is added to. */
static void rows_bwd(const Ctx *cx, Tensor dn, Tensor dq, Tensor n, const ContextQueryW *w, const ContextQueryW *g,
                     const ContextQuerySave *save)
{
    size_t mark = arena_mark(cx->scratch);
    int64_t size = w->q.d[0];
    Tensor down = arena_tensor(cx->scratch, cx->dtype, n.d[0], size, "context.down");
    Tensor dmixed = arena_tensor(cx->scratch, cx->dtype, n.d[0], n.d[1], "context.dmixed");

    op_copy(cx->dev, down, tensor_slice_cols(dq, 0, size));
    for (int64_t h = 1; h < cx->model->heads; h++)
        op_add(cx->dev, down, down, tensor_slice_cols(dq, h * size, size));
    op_gemm(cx->dev, g->q, down, save->mixed, true, false, 1, 1);
    op_gemm(cx->dev, dmixed, down, w->q, false, false, 1, 0);
    op_gemm(cx->dev, row_half(g->mix), dmixed, n, true, false, 1, 1);
    op_gemm(cx->dev, dn, dmixed, row_half(w->mix), false, false, 1, 1);
    arena_reset(cx->scratch, mark);
}

void context_query_bwd(const Ctx *cx, Tensor dn, Tensor dq, Tensor n, const ContextQueryW *w, const ContextQueryW *g,
                       float beta, const ContextQuerySave *save)
{
    size_t mark = arena_mark(cx->scratch);
    const Tensor added_to[] = { g->q, g->mix, g->score };
    Tensor da = arena_tensor(cx->scratch, cx->dtype, n.d[0], n.d[1], "context.da");

    for (int i = 0; beta == 0 && i < 3; i++)
        op_fill(cx->dev, added_to[i], 0);
    op_fill(cx->dev, da, 0);
    rows_bwd(cx, dn, dq, n, w, g, save);
    for (int32_t s = 0; s < cx->tokens->seq.n; s++)
        if (!is_empty(cx, s))
            pool_bwd(cx, dn, da, dq, n, w, g, save, s);
    op_act_bwd(cx->dev, da, NO_TENSOR, da, save->h, NO_TENSOR, ACT_RELU, &no_dropout);
    op_gemm(cx->dev, g->hidden, da, n, true, false, 1, beta);
    op_gemm(cx->dev, dn, da, w->hidden, false, false, 1, 1);
    arena_reset(cx->scratch, mark);
}
