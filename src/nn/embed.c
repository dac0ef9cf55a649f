#include "nn/nn.h"

/* x += table[rows], where there is a table. */
static void add_rows(Ctx *cx, Tensor x, Tensor table, Tensor rows)
{
    size_t mark = arena_mark(cx->scratch);

    if (!tensor_present(table))
        return;
    Tensor part = arena_tensor(cx->scratch, cx->dtype, x.d[0], x.d[1], "embed.part");
    op_gather(cx->dev, part, table, rows);
    op_add(cx->dev, x, x, part);
    arena_reset(cx->scratch, mark);
}

/* For the rows of memory of all sequences, which are fewer than the rows. */
static Tensor memory_part(Ctx *cx, Tensor x)
{
    Tensor part = arena_tensor(cx->scratch, cx->dtype, x.d[0], x.d[1], "embed.memory");
    return tensor_slice_rows(part, 0, cx->rows->memory_at.d[0]);
}

static void put_memory(Ctx *cx, Tensor x, Tensor memory)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor part = memory_part(cx, x);

    op_gather(cx->dev, part, memory, cx->rows->memory_row);
    op_scatter(cx->dev, x, part, cx->rows->memory_at);
    arena_reset(cx->scratch, mark);
}

/* The gradient of memory, whose rows of dx become zeros: none of it is the table's. */
static void take_memory(Ctx *cx, Tensor dmemory, Tensor dx)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor part = memory_part(cx, dx);

    op_gather(cx->dev, part, dx, cx->rows->memory_at);
    op_scatter_add(cx->dev, dmemory, part, cx->rows->memory_row, cx->g_beta);
    op_fill(cx->dev, part, 0);
    op_scatter(cx->dev, dx, part, cx->rows->memory_at);
    arena_reset(cx->scratch, mark);
}

void embed_fwd(Ctx *cx, Tensor y, const EmbedW *w, EmbedSave *save)
{
    Dropout drop = ctx_dropout(cx, SITE_EMBED);
    bool normed = tensor_present(w->norm.w);
    Tensor sum = normed ? arena_tensor(cx->save, cx->dtype, y.d[0], y.d[1], "embed.sum") : y;

    op_gather(cx->dev, sum, w->table, cx->rows->ids);
    if (cx->embed_scale != 1)
        op_scale(cx->dev, sum, sum, cx->embed_scale);
    if (tensor_present(w->memory))
        put_memory(cx, sum, w->memory);
    add_rows(cx, sum, w->positions, cx->rows->place);
    add_rows(cx, sum, w->segments, cx->rows->segment);
    if (normed)
        norm_fwd(cx, y, sum, w->norm, &save->norm);
    op_dropout_fwd(cx->dev, y, y, NO_TENSOR, &drop);
}

void embed_bwd(Ctx *cx, Tensor dy, const EmbedW *w, const EmbedW *g, float table_beta, const EmbedSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor de = arena_tensor(cx->scratch, cx->dtype, dy.d[0], dy.d[1], "embed.de");
    Dropout drop = ctx_dropout(cx, SITE_EMBED);

    op_dropout_bwd(cx->dev, de, dy, &drop);
    if (tensor_present(w->norm.w))
        norm_bwd(cx, de, de, NO_TENSOR, w->norm, g->norm, &save->norm);
    if (tensor_present(g->positions))
        op_scatter_add(cx->dev, g->positions, de, cx->rows->place, cx->g_beta);
    if (tensor_present(w->segments))
        op_scatter_add(cx->dev, g->segments, de, cx->rows->segment, cx->g_beta);
    if (tensor_present(w->memory))
        take_memory(cx, g->memory, de);
    if (cx->embed_scale != 1)
        op_scale(cx->dev, de, de, cx->embed_scale);
    op_scatter_add(cx->dev, g->table, de, cx->rows->ids, table_beta);
    arena_reset(cx->scratch, mark);
}
