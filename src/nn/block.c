#include "nn/block.h"

#include "nn/rows.h"

BlockW block_absent(void)
{
    BlockW w = { 0 };
    w.self.qkv.site = LINEAR_SELF_QKV;
    w.self.o.site = LINEAR_SELF_O;
    w.cross.q.site = LINEAR_CROSS_Q;
    w.cross.kv.site = LINEAR_CROSS_KV;
    w.cross.o.site = LINEAR_CROSS_O;
    w.mlp.wi.site = LINEAR_WI;
    w.mlp.wo.site = LINEAR_WO;
    return w;
}

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

void block_bwd(const Ctx *cx, ResidualGrad *grad, Tensor dencoder_out, Tensor dbias, const BlockW *w, const BlockW *g,
               float beta, const BlockSave *save)
{
    bool has_cross = tensor_present(dencoder_out);
    Dropout self = rows_dropout(cx, SITE_SELF_OUT), cross = rows_dropout(cx, SITE_CROSS_OUT);
    const Dropout *before = grad->next;

    grad->next = has_cross ? &cross : &self;
    mlp_bwd(cx, grad, &w->mlp, &g->mlp, beta, &save->mlp);
    grad->next = &self;
    if (has_cross)
        attention_bwd(cx, grad, dencoder_out, NO_TENSOR, &w->cross, &g->cross, beta, &save->cross);
    grad->next = before;
    attention_bwd(cx, grad, NO_TENSOR, dbias, &w->self, &g->self, beta, &save->self);
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
