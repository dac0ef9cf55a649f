#include "nn/block.h"

void block_fwd(const Ctx *cx, Tensor y, Tensor x, Tensor encoder_out, Tensor bias, const BlockW *w, BlockSave *save)
{
    Tensor x1 = arena_tensor(cx->save, cx->precision.residual, x.d[0], x.d[1], "block.x1");

    attention_fwd(cx, x1, x, NO_TENSOR, bias, &w->self, &save->self);
    if (tensor_present(encoder_out)) {
        Tensor x2 = arena_tensor(cx->save, cx->precision.residual, x.d[0], x.d[1], "block.x2");
        attention_fwd(cx, x2, x1, encoder_out, NO_TENSOR, &w->cross, &save->cross);
        x1 = x2;
    }
    mlp_fwd(cx, y, x1, &w->mlp, &save->mlp);
}

void block_bwd(const Ctx *cx, Tensor dx, Tensor dencoder_out, Tensor dbias, const BlockW *w, const BlockW *g,
               float beta, const BlockSave *save)
{
    mlp_bwd(cx, dx, &w->mlp, &g->mlp, beta, &save->mlp);
    if (tensor_present(dencoder_out))
        attention_bwd(cx, dx, dencoder_out, NO_TENSOR, &w->cross, &g->cross, beta, &save->cross);
    attention_bwd(cx, dx, NO_TENSOR, dbias, &w->self, &g->self, beta, &save->self);
}

void block_step(const Ctx *cx, Tensor y, Tensor x, Tensor bias, const BlockW *w, const BlockCache *cache,
                const DecodeStep *step)
{
    size_t mark = arena_mark(cx->save);
    MlpSave unused;

    attention_step_self(cx, y, x, bias, &w->self, cache->self, step);
    if (tensor_present(cache->cross))
        attention_step_cross(cx, y, y, &w->cross, cache->cross);
    mlp_fwd(cx, y, y, &w->mlp, &unused);
    arena_reset(cx->save, mark);
}
