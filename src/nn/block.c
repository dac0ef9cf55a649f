#include "nn/block.h"

/* Memory for the stream after a sublayer within a block: y itself if backward does not need it. */
static Tensor block_stream(const Ctx *cx, Tensor y, const char *name)
{
    return cx->forget ? y : arena_tensor(cx->save, cx->precision.residual, y.d[0], y.d[1], name);
}

void block_fwd(const Ctx *cx, Residual *stream, Tensor y, Tensor encoder_out, Tensor bias, const BlockW *w,
               BlockSave *save)
{
    attention_fwd(cx, stream, block_stream(cx, y, "block.x1"), NO_TENSOR, bias, &w->self, &save->self);
    if (tensor_present(encoder_out))
        attention_fwd(cx, stream, block_stream(cx, y, "block.x2"), encoder_out, NO_TENSOR, &w->cross, &save->cross);
    mlp_fwd(cx, stream, y, &w->mlp, &save->mlp);
}

void block_bwd(const Ctx *cx, Tensor dx, Tensor dencoder_out, Tensor dbias, const BlockW *w, const BlockW *g,
               float beta, const BlockSave *save)
{
    mlp_bwd(cx, dx, &w->mlp, &g->mlp, beta, &save->mlp);
    if (tensor_present(dencoder_out))
        attention_bwd(cx, dx, dencoder_out, NO_TENSOR, &w->cross, &g->cross, beta, &save->cross);
    attention_bwd(cx, dx, NO_TENSOR, dbias, &w->self, &g->self, beta, &save->self);
}

void block_step(const Ctx *cx, Residual *stream, Tensor y, Tensor bias, const BlockW *w, const BlockCache *cache,
                const DecodeStep *step)
{
    size_t mark = arena_mark(cx->save);
    MlpSave unused;

    attention_step_self(cx, stream, y, bias, &w->self, cache->self, step);
    if (tensor_present(cache->cross))
        attention_step_cross(cx, stream, y, &w->cross, cache->cross);
    mlp_fwd(cx, stream, y, &w->mlp, &unused);
    arena_reset(cx->save, mark);
}
