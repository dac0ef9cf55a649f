/* context_query.c: q mix [pooled_h; n_i] is linear, so the query of token i in head h is the sum of a token part, q
 * mix_right n_i, which all heads share, and a sequence part, q mix_left pooled_h. */
#include "nn/attention.h"

static const Dropout no_dropout = { 0 };

static Tensor left_half(Tensor mix)
{
    return tensor_slice_cols(mix, 0, mix.d[1] / 2);
}

static Tensor right_half(Tensor mix)
{
    return tensor_slice_cols(mix, mix.d[1] / 2, mix.d[1] / 2);
}

/* A matrix without gaps between its rows, viewed with another row width. */
static Tensor with_width(Tensor t, int64_t width)
{
    return tensor_matrix(t.p, t.dtype, tensor_count(t) / width, width);
}

/* The s sequences that are pooled together: all of the stream or, if they are so short that s H vectors would need more
 * memory than an activation (N,C), as many as fit into it. Pooling is attention with one query per sequence: the query
 * of head h is its row of `score`; the keys a = relu(hidden n) and the values n are shared by all heads. */
typedef struct Part {
    int32_t first_seq, n_seq;
    int64_t first_token, n_tokens;
    int32_t *host;   /* the memory of the lengths in `spec`; g_free */
    Tensor sequence; /* (n_tokens) i32: sequence of each token, counted from first_seq */
    AttnSpec spec;
    Dropout drop;
    Tensor pooled, mixed, q; /* pooled (s H, C); mixed (s H, C) = pooled mix_leftᵀ; q (s H, D) = mixed qᵀ */
    Tensor queries, lse;     /* (s, H C), (H, s) */
} Part;

static int32_t most_sequences(const Ctx *cx)
{
    return MAX(1, cx->tokens->n / cx->model->heads);
}

/* A tensor (s H, width), with memory for the most sequences that a part may have. */
static Tensor part_tensor(const Ctx *cx, const Part *part, int64_t width, const char *tag)
{
    int64_t heads = cx->model->heads;
    Tensor room = arena_tensor(cx->scratch, cx->precision.compute, most_sequences(cx) * heads, width, tag);
    return tensor_slice_rows(room, 0, part->n_seq * heads);
}

/* The rows of the part's tokens. */
static Tensor tokens_of(const Part *part, Tensor t)
{
    return tensor_slice_rows(t, part->first_token, part->n_tokens);
}

/* Sets the lengths of queries and keys, and the sequence of each token. */
static void set_lengths(const Ctx *cx, Part *part)
{
    const int32_t *cu = cx->tokens->seq.cu.host + part->first_seq, n = part->n_seq;
    int64_t count = 2 * (n + 1) + part->n_tokens, room = 2 * (most_sequences(cx) + 1) + cx->tokens->n;
    int32_t *cu_q = part->host = g_new(int32_t, count), *cu_k = cu_q + n + 1, *sequence = cu_k + n + 1;

    for (int32_t s = 0; s <= n; s++) {
        cu_q[s] = s;
        cu_k[s] = cu[s] - cu[0];
        for (int32_t i = cu_k[s]; s < n && i < cu[s + 1] - cu[0]; i++)
            sequence[i] = s;
    }
    Tensor all = indices_upload(cx->dev, cx->scratch, part->host, count, room, "context.lengths");
    Tensor device_q = tensor_slice_rows(all, 0, n + 1), device_k = tensor_slice_rows(all, n + 1, n + 1);
    const Sequences queries = { .n = n, .max_len = 1, .cu = both_sides(cu_q, device_q) };
    const Sequences keys = { .n = n, .max_len = cx->tokens->seq.max_len, .cu = both_sides(cu_k, device_k) };
    part->sequence = tensor_slice_rows(all, 2 * (n + 1), part->n_tokens);
    part->spec = ctx_attention(cx, &queries, &keys);
    part->spec.kv_heads = 1;
    part->spec.scale = 1;
    part->spec.rescale = 0;
}

/* Sets the dropout positions: a query has the sample and dropout_position of the first token of its sequence. */
static void set_dropout(const Ctx *cx, Part *part)
{
    part->drop = ctx_dropout(cx, SITE_CONTEXT_PROBS);
    if (part->drop.rate == 0)
        return;
    part->drop.sample = tensor_slice_rows(cx->tokens->first_sample, part->first_seq, part->n_seq).p;
    part->drop.position = tensor_slice_rows(cx->tokens->first_position, part->first_seq, part->n_seq).p;
}

/* Pools the sequences from first_seq on. */
static Part pool(const Ctx *cx, Tensor a, Tensor n, const ContextQueryW *w, int32_t first_seq)
{
    const int32_t *cu = cx->tokens->seq.cu.host, most = most_sequences(cx), heads = cx->model->heads;
    Part p = { .first_seq = first_seq,
               .n_seq = MIN(most, cx->tokens->seq.n - first_seq),
               .first_token = cu[first_seq] };

    p.n_tokens = cu[first_seq + p.n_seq] - p.first_token;
    set_lengths(cx, &p);
    set_dropout(cx, &p);
    p.pooled = part_tensor(cx, &p, n.d[1], "context.pooled");
    p.mixed = part_tensor(cx, &p, n.d[1], "context.mixed");
    p.q = part_tensor(cx, &p, w->q.d[0], "context.q");
    p.queries = with_width(part_tensor(cx, &p, n.d[1], "context.queries"), heads * n.d[1]);
    p.lse = tensor_slice_cols(arena_tensor(cx->scratch, precision_statistic(cx->precision), heads, most, "context.lse"),
                              0, p.n_seq);
    op_fill(cx->dev, p.queries, 0);
    op_bias_add(cx->dev, p.queries, p.queries, tensor_flat(w->score));
    op_attn_fwd(cx->dev, with_width(p.pooled, p.queries.d[1]), p.lse, p.queries, tokens_of(&p, a), tokens_of(&p, n),
                NO_TENSOR, &p.spec, &p.drop);
    op_gemm(cx->dev, p.mixed, p.pooled, left_half(w->mix), false, true, 1, 0);
    op_gemm(cx->dev, p.q, p.mixed, w->q, false, true, 1, 0);
    return p;
}

/* q (N,A) += the sequence part of the queries. */
static void add_pooled(const Ctx *cx, Tensor q, Tensor a, Tensor n, const ContextQueryW *w, int32_t first_seq)
{
    size_t mark = arena_mark(cx->scratch);
    Part p = pool(cx, a, n, w, first_seq);
    Tensor each = tokens_of(&p, arena_tensor(cx->scratch, cx->precision.compute, q.d[0], q.d[1], "context.each"));

    op_gather(cx->dev, each, with_width(p.q, q.d[1]), p.sequence);
    op_add(cx->dev, tokens_of(&p, q), tokens_of(&p, q), each);
    g_free(p.host);
    arena_reset(cx->scratch, mark);
}

void context_query_fwd(const Ctx *cx, Tensor q, Tensor n, const ContextQueryW *w, ContextQuerySave *save)
{
    size_t mark = arena_mark(cx->scratch);
    int64_t size = w->q.d[0];
    Tensor own = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], size, "context.own");

    save->h = arena_tensor(cx->save, cx->precision.compute, n.d[0], n.d[1], "context.h");
    save->a = arena_tensor(cx->save, cx->precision.compute, n.d[0], n.d[1], "context.a");
    save->mixed = arena_tensor(cx->save, cx->precision.compute, n.d[0], n.d[1], "context.mixed");
    op_gemm(cx->dev, save->h, n, w->hidden, false, true, 1, 0);
    op_act_fwd(cx->dev, save->a, save->h, NO_TENSOR, ACT_RELU, &no_dropout);
    op_gemm(cx->dev, save->mixed, n, right_half(w->mix), false, true, 1, 0);
    op_gemm(cx->dev, own, save->mixed, w->q, false, true, 1, 0);
    for (int64_t h = 0; h < cx->model->heads; h++)
        op_copy(cx->dev, tensor_slice_cols(q, h * size, size), own);
    for (int32_t s = 0; s < cx->tokens->seq.n; s += most_sequences(cx))
        add_pooled(cx, q, save->a, n, w, s);
    arena_reset(cx->scratch, mark);
}

/* What the parts of backward share: gradients of the input n, of a and of the queries; weights and their gradients. */
typedef struct Back {
    Tensor n, dn, da, dq;
    const ContextQueryW *w, *g;
    const ContextQuerySave *save;
} Back;

/* Backward of a part of the sequences: da is written, dn and the gradients are added to. */
static void pool_bwd(const Ctx *cx, const Back *back, int32_t first_seq)
{
    size_t mark = arena_mark(cx->scratch);
    const ContextQueryW *w = back->w, *g = back->g;
    Tensor n = back->n, dq = back->dq, a = back->save->a;
    Part p = pool(cx, a, n, w, first_seq);
    int64_t flat = p.queries.d[1];
    Tensor dpq = part_tensor(cx, &p, w->q.d[0], "context.dpq");
    Tensor dmixed = part_tensor(cx, &p, n.d[1], "context.dmixed");
    Tensor dpooled = part_tensor(cx, &p, n.d[1], "context.dpooled");
    Tensor dqueries = with_width(part_tensor(cx, &p, n.d[1], "context.dqueries"), flat);
    Tensor dvalues = tokens_of(&p, arena_tensor(cx->scratch, cx->precision.compute, n.d[0], n.d[1], "context.dvalues"));

    op_scatter_add(cx->dev, with_width(dpq, dq.d[1]), tokens_of(&p, dq), p.sequence, 0);
    op_gemm(cx->dev, g->q, dpq, p.mixed, true, false, 1, 1);
    op_gemm(cx->dev, dmixed, dpq, w->q, false, false, 1, 0);
    op_gemm(cx->dev, left_half(g->mix), dmixed, p.pooled, true, false, 1, 1);
    op_gemm(cx->dev, dpooled, dmixed, left_half(w->mix), false, false, 1, 0);
    op_attn_bwd(cx->dev, dqueries, tokens_of(&p, back->da), dvalues, NO_TENSOR, 0, with_width(dpooled, flat),
                with_width(p.pooled, flat), p.lse, p.queries, tokens_of(&p, a), tokens_of(&p, n), NO_TENSOR, &p.spec,
                &p.drop);
    op_column_sums(cx->dev, tensor_flat(g->score), dqueries, 1);
    op_add(cx->dev, tokens_of(&p, back->dn), tokens_of(&p, back->dn), dvalues);
    g_free(p.host);
    arena_reset(cx->scratch, mark);
}

/* Backward of the part of the tokens: dn and the gradients are added to. */
static void tokens_bwd(const Ctx *cx, const Back *back)
{
    size_t mark = arena_mark(cx->scratch);
    const ContextQueryW *w = back->w, *g = back->g;
    Tensor n = back->n, dq = back->dq;
    int64_t size = w->q.d[0];
    Tensor down = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], size, "context.down");
    Tensor dmixed = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], n.d[1], "context.dmixed");

    op_copy(cx->dev, down, tensor_slice_cols(dq, 0, size));
    for (int64_t h = 1; h < cx->model->heads; h++)
        op_add(cx->dev, down, down, tensor_slice_cols(dq, h * size, size));
    op_gemm(cx->dev, g->q, down, back->save->mixed, true, false, 1, 1);
    op_gemm(cx->dev, dmixed, down, w->q, false, false, 1, 0);
    op_gemm(cx->dev, right_half(g->mix), dmixed, n, true, false, 1, 1);
    op_gemm(cx->dev, back->dn, dmixed, right_half(w->mix), false, false, 1, 1);
    arena_reset(cx->scratch, mark);
}

void context_query_bwd(const Ctx *cx, Tensor dn, Tensor dq, Tensor n, const ContextQueryW *w, const ContextQueryW *g,
                       float beta, const ContextQuerySave *save)
{
    size_t mark = arena_mark(cx->scratch);
    const ContextQueryW all = { .hidden = ctx_gradient(cx, g->hidden, w->hidden),
                                .score = ctx_gradient(cx, g->score, w->score),
                                .mix = ctx_gradient(cx, g->mix, w->mix),
                                .q = ctx_gradient(cx, g->q, w->q) };
    const Tensor added_to[] = { all.q, all.mix, all.score };
    Tensor da = arena_tensor(cx->scratch, cx->precision.compute, n.d[0], n.d[1], "context.da");

    for (int i = 0; beta == 0 && i < 3; i++)
        op_fill(cx->dev, added_to[i], 0);
    op_fill(cx->dev, da, 0);
    const Back back = { n, dn, da, dq, w, &all, save };
    tokens_bwd(cx, &back);
    for (int32_t s = 0; s < cx->tokens->seq.n; s += most_sequences(cx))
        pool_bwd(cx, &back, s);
    op_act_bwd(cx->dev, da, NO_TENSOR, da, save->h, NO_TENSOR, ACT_RELU, &no_dropout);
    op_gemm(cx->dev, all.hidden, da, n, true, false, 1, beta);
    op_gemm(cx->dev, dn, da, w->hidden, false, false, 1, 1);
    arena_reset(cx->scratch, mark);
}
