#include "nn/rows.h"

static int rows_rank(const Ctx *cx)
{
    return cx->dev->computes ? tensor_parallel_rank(cx->tp) : 0;
}

static int64_t first_row(const Ctx *cx, int rank)
{
    return tensor_parallel_start(cx->tokens->n, tensor_parallel_size(cx->tp), rank);
}

int64_t rows_first(const Ctx *cx)
{
    return rows_divided(cx) ? first_row(cx, rows_rank(cx)) : 0;
}

int64_t rows_count(const Ctx *cx)
{
    return rows_divided(cx) ? first_row(cx, rows_rank(cx) + 1) - rows_first(cx) : cx->tokens->n;
}

Tensor rows_own(const Ctx *cx, Tensor whole)
{
    return rows_divided(cx) ? tensor_slice_rows(whole, rows_first(cx), rows_count(cx)) : whole;
}

/* (ranks + 1) the first element of each rank's rows of C columns. g_free. */
static int64_t *starts_of(const Ctx *cx, int64_t cols)
{
    int size = tensor_parallel_size(cx->tp);
    int64_t *starts = g_new(int64_t, size + 1);
    for (int r = 0; r <= size; r++)
        starts[r] = first_row(cx, r) * cols;
    return starts;
}

void rows_gather(const Ctx *cx, Tensor whole, Tensor own)
{
    if (!rows_divided(cx))
        return;
    g_autofree int64_t *starts = starts_of(cx, whole.d[1]);
    tensor_parallel_gather(cx->tp, cx->dev, tensor_flat(whole), tensor_flat(own), starts);
}

Tensor rows_whole(const Ctx *cx, Tensor own)
{
    if (!rows_divided(cx))
        return own;
    Tensor whole = arena_tensor(cx->scratch, own.dtype, cx->tokens->n, own.d[1], "rows.whole");
    rows_gather(cx, whole, own);
    return whole;
}

Tensor rows_sum(const Ctx *cx, Tensor x)
{
    if (!rows_divided(cx)) {
        tensor_parallel_sum(cx->tp, cx->dev, x);
        return x;
    }
    g_autofree int64_t *starts = starts_of(cx, x.d[1]);
    Tensor own = rows_own(cx, x);
    tensor_parallel_scatter(cx->tp, cx->dev, tensor_flat(own), tensor_flat(x), starts);
    return own;
}

Dropout rows_dropout(const Ctx *cx, DropoutSite site)
{
    Dropout drop = ctx_dropout(cx, site);
    if (drop.rate > 0 && rows_divided(cx)) {
        drop.sample += rows_first(cx);
        drop.position += rows_first(cx);
    }
    return drop;
}
