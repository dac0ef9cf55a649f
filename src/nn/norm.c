#include "nn/layers.h"
#include "nn/rows.h"

/* Notes the norm's input, and allocates its statistics. */
static void norm_save(const Ctx *cx, Tensor x, NormSave *save)
{
    DType dtype = precision_statistic(cx->precision);

    save->x = x;
    save->rstd = arena_vector(cx->save, dtype, x.d[0], "norm.rstd");
    save->mean = cx->model->norm == NORM_RMS ? NO_TENSOR : arena_vector(cx->save, dtype, x.d[0], "norm.mean");
}

void norm_fwd(const Ctx *cx, Tensor y, Tensor x, NormW w, NormSave *save)
{
    norm_save(cx, x, save);
    op_norm_fwd(cx->dev, y, save->mean, save->rstd, x, w.w, w.b, cx->model->eps);
}

/* norm_bwd; drop is not NULL: also dropped = mask · dx. */
static void norm_dropped_bwd(const Ctx *cx, Tensor dx, Tensor dropped, Tensor dy, Tensor residual, NormBack back,
                             const Dropout *drop)
{
    size_t mark = arena_mark(cx->scratch);
    const NormSave *save = back.save;
    Tensor w = back.w.w, dw = ctx_gradient(cx, back.g.w, w), db = ctx_gradient(cx, back.g.b, back.w.b);

    op_norm_bwd(cx->dev, dx, dropped, dw, db, dy, save->x, w, save->mean, save->rstd, residual, back.beta, drop);
    arena_reset(cx->scratch, mark);
}

void norm_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor residual, NormBack back)
{
    norm_dropped_bwd(cx, dx, NO_TENSOR, dy, residual, back, NULL);
}

Residual residual_begin(const Ctx *cx, Tensor x)
{
    int64_t n = rows_divided(cx) ? cx->tokens->n : x.d[0];
    return (Residual){ .x = x,
                       .output = arena_tensor(cx->scratch, cx->precision.compute, n, x.d[1], "residual.output") };
}

Tensor residual_sum(const Ctx *cx, Residual *stream)
{
    if (tensor_present(stream->out))
        op_dropout_fwd(cx->dev, stream->x, stream->out, stream->from, &stream->drop);
    stream->out = NO_TENSOR;
    return stream->x;
}

void residual_norm(const Ctx *cx, Tensor y, Residual *stream, NormW w, NormSave *save)
{
    Tensor x = stream->x, out = stream->out, from = stream->from;

    if (!tensor_present(out)) {
        norm_fwd(cx, y, x, w, save);
        return;
    }
    norm_save(cx, x, save);
    op_sum_norm_fwd(cx->dev, y, save->mean, save->rstd, x, out, from, w.w, w.b, cx->model->eps, &stream->drop);
    stream->out = NO_TENSOR;
}

ResidualGrad residual_grad_begin(const Ctx *cx, Tensor dx)
{
    return (ResidualGrad){
        .dx = dx, .dout = arena_tensor(cx->scratch, cx->precision.compute, cx->tokens->n, dx.d[1], "residual.dout")
    };
}

void residual_norm_bwd(const Ctx *cx, ResidualGrad *grad, const Dropout *drop, Tensor dy, Tensor residual,
                       NormBack back)
{
    Tensor dropped = drop ? rows_own(cx, grad->dout) : NO_TENSOR;
    norm_dropped_bwd(cx, grad->dx, dropped, dy, residual, back, drop);
    grad->dropped = drop != NULL;
}

static bool norm_before(const Ctx *cx, NormW w)
{
    return !cx->model->post_norm && tensor_present(w.w);
}

static bool post_norm(const Ctx *cx, NormW w)
{
    return cx->model->post_norm && tensor_present(w.w);
}

Tensor sublayer_enter(const Ctx *cx, Residual *stream, NormW w, SublayerSave *save)
{
    if (norm_before(cx, w)) {
        save->n = arena_tensor(cx->save, cx->precision.compute, stream->x.d[0], stream->x.d[1], "sublayer.n");
        residual_norm(cx, save->n, stream, w, &save->norm);
    } else {
        save->n = ctx_activation(cx, residual_sum(cx, stream));
    }
    return sublayer_input(cx, save);
}

Tensor sublayer_input(const Ctx *cx, const SublayerSave *save)
{
    return rows_whole(cx, save->n);
}

void sublayer_leave(const Ctx *cx, Residual *stream, Tensor y, Tensor out, DropoutSite site, NormW w,
                    SublayerSave *save)
{
    stream->from = stream->x;
    stream->out = rows_sum(cx, out);
    stream->drop = rows_dropout(cx, site);
    stream->x = y;
    if (!post_norm(cx, w))
        return;
    stream->x = arena_tensor(cx->save, cx->precision.residual, y.d[0], y.d[1], "sublayer.sum");
    residual_norm(cx, y, stream, w, &save->norm);
    stream->x = y;
}

Tensor sublayer_leave_bwd(const Ctx *cx, ResidualGrad *grad, DropoutSite site, NormW w, NormW g, float beta,
                          const SublayerSave *save)
{
    Dropout drop = rows_dropout(cx, site);
    Tensor own = rows_own(cx, grad->dout);

    if (post_norm(cx, w))
        residual_norm_bwd(cx, grad, &drop, grad->dx, NO_TENSOR, (NormBack){ w, g, beta, &save->norm });
    if (!grad->dropped)
        op_dropout_bwd(cx->dev, own, grad->dx, &drop);
    grad->dropped = false;
    rows_gather(cx, grad->dout, own);
    return grad->dout;
}

void sublayer_enter_bwd(const Ctx *cx, ResidualGrad *grad, Tensor dn, NormW w, NormW g, float beta,
                        const SublayerSave *save)
{
    Tensor own = rows_sum(cx, dn);

    if (norm_before(cx, w))
        residual_norm_bwd(cx, grad, grad->next, own, grad->dx, (NormBack){ w, g, beta, &save->norm });
    else
        op_add(cx->dev, grad->dx, grad->dx, own);
}
