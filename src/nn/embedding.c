#include "nn/layers.h"

/* x += table[ids], if table is present. */
static void add_looked_up(const Ctx *cx, Tensor x, Tensor table, Tensor ids)
{
    size_t mark = arena_mark(cx->scratch);

    if (!tensor_present(table))
        return;
    Tensor part = arena_tensor(cx->scratch, cx->precision.compute, x.d[0], x.d[1], "embedding.part");
    op_gather(cx->dev, part, table, ids);
    op_add(cx->dev, x, x, part);
    arena_reset(cx->scratch, mark);
}

/* A tensor (M S, C) for the memory tokens of all sequences, with memory for N rows. */
static Tensor memory_part(const Ctx *cx, Tensor x)
{
    Tensor part = arena_tensor(cx->scratch, cx->precision.compute, x.d[0], x.d[1], "embedding.memory");
    return tensor_slice_rows(part, 0, cx->tokens->memory_at.d[0]);
}

/* x[memory_at] = table[memory_index], where table (M,C) holds the memory tokens. */
static void put_memory_tokens(const Ctx *cx, Tensor x, Tensor table)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor part = memory_part(cx, x);

    op_gather(cx->dev, part, table, cx->tokens->memory_index);
    op_scatter(cx->dev, x, part, cx->tokens->memory_at);
    arena_reset(cx->scratch, mark);
}

/* dtable = beta dtable + the rows of dx at memory tokens, which become zeros: the token table does not have them. */
static void take_memory_tokens(const Ctx *cx, Tensor dtable, float beta, Tensor dx)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor part = memory_part(cx, dx);

    op_gather(cx->dev, part, dx, cx->tokens->memory_at);
    if (tensor_present(dtable))
        op_scatter_add(cx->dev, dtable, part, cx->tokens->memory_index, beta);
    op_fill(cx->dev, part, 0);
    op_scatter(cx->dev, dx, part, cx->tokens->memory_at);
    arena_reset(cx->scratch, mark);
}

/* A tensor for the rows of this rank's tokens among the N rows of x, with memory for N rows. */
static Tensor own_part(const Ctx *cx, Tensor x)
{
    Tensor part = arena_tensor(cx->scratch, x.dtype, x.d[0], x.d[1], "embedding.own");
    return tensor_slice_rows(part, 0, cx->tokens->own_at.d[0]);
}

/* x = table[ids]. Tensor-parallel ranks that divide the table write the rows of their tokens among zeros and add up. */
static void look_up_tokens(const Ctx *cx, Tensor x, Tensor table)
{
    size_t mark = arena_mark(cx->scratch);

    if (tensor_parallel_size(cx->tp) == 1) {
        op_gather(cx->dev, x, table, cx->tokens->ids);
        return;
    }
    Tensor part = own_part(cx, x);
    op_gather(cx->dev, part, table, cx->tokens->own_ids);
    op_fill(cx->dev, x, 0);
    op_scatter(cx->dev, x, part, cx->tokens->own_at);
    tensor_parallel_sum(cx->tp, cx->dev, x);
    arena_reset(cx->scratch, mark);
}

/* dtable = beta dtable + the rows of dx, added up by token; of a divided table, this rank's tokens. */
static void add_to_tokens(const Ctx *cx, Tensor dtable, float beta, Tensor dx)
{
    size_t mark = arena_mark(cx->scratch);

    if (tensor_parallel_size(cx->tp) == 1) {
        op_scatter_add(cx->dev, dtable, dx, cx->tokens->ids, beta);
        return;
    }
    Tensor part = own_part(cx, dx);
    op_gather(cx->dev, part, dx, cx->tokens->own_at);
    op_scatter_add(cx->dev, dtable, part, cx->tokens->own_ids, beta);
    arena_reset(cx->scratch, mark);
}

void embedding_fwd(const Ctx *cx, Tensor y, const EmbeddingW *w, NormSave *save)
{
    Dropout drop = ctx_dropout(cx, SITE_EMBED);
    bool normed = tensor_present(w->norm.w);
    Tensor sum = normed ? arena_tensor(cx->save, cx->precision.residual, y.d[0], y.d[1], "embedding.sum") : y;

    look_up_tokens(cx, sum, w->table);
    if (cx->model->embed_scale != 1)
        op_scale(cx->dev, sum, sum, cx->model->embed_scale);
    if (tensor_present(w->memory_tokens))
        put_memory_tokens(cx, sum, w->memory_tokens);
    add_looked_up(cx, sum, w->positions, cx->tokens->position_ids);
    add_looked_up(cx, sum, w->token_types, cx->tokens->token_types);
    if (normed)
        norm_fwd(cx, y, sum, w->norm, save);
    op_dropout_fwd(cx->dev, y, y, NO_TENSOR, &drop);
}

void embedding_bwd(const Ctx *cx, Tensor dy, const EmbeddingW *w, const EmbeddingW *g, float beta, float table_beta,
                   const NormSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor dsum = arena_tensor(cx->scratch, cx->precision.compute, dy.d[0], dy.d[1], "embedding.dsum");
    Dropout drop = ctx_dropout(cx, SITE_EMBED);

    op_dropout_bwd(cx->dev, dsum, dy, &drop);
    if (tensor_present(w->norm.w))
        norm_bwd(cx, dsum, dsum, NO_TENSOR, (NormBack){ w->norm, g->norm, beta, save });
    if (tensor_present(g->positions))
        op_scatter_add(cx->dev, g->positions, dsum, cx->tokens->position_ids, beta);
    if (tensor_present(g->token_types))
        op_scatter_add(cx->dev, g->token_types, dsum, cx->tokens->token_types, beta);
    if (tensor_present(w->memory_tokens))
        take_memory_tokens(cx, g->memory_tokens, beta, dsum);
    if (cx->model->embed_scale != 1)
        op_scale(cx->dev, dsum, dsum, cx->model->embed_scale);
    if (tensor_present(g->table))
        add_to_tokens(cx, g->table, table_beta, dsum);
    arena_reset(cx->scratch, mark);
}
