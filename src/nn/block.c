#include "nn/nn.h"

void block_fwd(Ctx *cx, Tensor y, Tensor x, Tensor memory, Tensor bias, const BlockW *w, BlockSave *save)
{
    Tensor x1 = arena_tensor(cx->save, cx->dtype, x.d[0], x.d[1], "block.x1");

    attention_fwd(cx, x1, x, NO_TENSOR, bias, &w->self, &save->self);
    if (tensor_present(memory)) {
        Tensor x2 = arena_tensor(cx->save, cx->dtype, x.d[0], x.d[1], "block.x2");
        attention_fwd(cx, x2, x1, memory, NO_TENSOR, &w->cross, &save->cross);
        x1 = x2;
    }
    mlp_fwd(cx, y, x1, &w->mlp, &save->mlp);
}

void block_bwd(Ctx *cx, Tensor dx, Tensor dmemory, Tensor dbias, const BlockW *w, const BlockW *g,
               const BlockSave *save)
{
    mlp_bwd(cx, dx, &w->mlp, &g->mlp, &save->mlp);
    if (tensor_present(dmemory))
        attention_bwd(cx, dx, dmemory, NO_TENSOR, &w->cross, &g->cross, &save->cross);
    attention_bwd(cx, dx, NO_TENSOR, dbias, &w->self, &g->self, &save->self);
}

void block_step(Ctx *cx, Tensor y, Tensor x, Tensor bias, const BlockW *w, const BlockCache *cache,
                const CacheRows *rows)
{
    size_t mark = arena_mark(cx->save);
    MlpSave unused;

    attention_step_self(cx, y, x, bias, &w->self, &cache->self, rows);
    if (tensor_present(cache->cross.kv))
        attention_step_cross(cx, y, y, &w->cross, &cache->cross);
    mlp_fwd(cx, y, y, &w->mlp, &unused);
    arena_reset(cx->save, mark);
}
