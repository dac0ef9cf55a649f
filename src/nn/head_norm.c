/* head_norm.c: the norm of each head's queries, or keys (Qwen 3). The operation reads the heads of a token as rows,
 * which must follow each other, so queries and keys, which lie beside each other, are copied. */
#include "nn/attention.h"

/* A matrix (N, heads D) without gaps between its rows as (N heads, D). */
static Tensor as_heads(Tensor t, Tensor gain)
{
    return tensor_matrix(t.p, t.dtype, tensor_count(t) / gain.d[0], gain.d[0]);
}

void head_norm_fwd(const Ctx *cx, Tensor t, Tensor gain, HeadNormSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    if (!tensor_present(gain))
        return;
    Tensor y = arena_tensor(cx->scratch, t.dtype, t.d[0], t.d[1], "head_norm.y");

    save->x = arena_tensor(cx->save, t.dtype, t.d[0], t.d[1], "head_norm.x");
    save->rstd =
        arena_vector(cx->save, precision_statistic(cx->precision), tensor_count(t) / gain.d[0], "head_norm.rstd");
    op_copy(cx->dev, save->x, t);
    op_norm_fwd(cx->dev, as_heads(y, gain), NO_TENSOR, save->rstd, as_heads(save->x, gain), gain, NO_TENSOR,
                cx->model->eps);
    op_copy(cx->dev, t, y);
    arena_reset(cx->scratch, mark);
}

void head_norm_bwd(const Ctx *cx, Tensor dt, Tensor gain, Tensor dgain, float beta, const HeadNormSave *save)
{
    size_t mark = arena_mark(cx->scratch);
    if (!tensor_present(gain))
        return;
    Tensor dy = arena_tensor(cx->scratch, dt.dtype, dt.d[0], dt.d[1], "head_norm.dy"), rows = as_heads(dy, gain);

    op_copy(cx->dev, dy, dt);
    op_norm_bwd(cx->dev, rows, NO_TENSOR, ctx_gradient(cx, dgain, gain), NO_TENSOR, rows, as_heads(save->x, gain), gain,
                NO_TENSOR, save->rstd, NO_TENSOR, beta, NULL);
    op_copy(cx->dev, dt, dy);
    arena_reset(cx->scratch, mark);
}
