#include "nn/nn.h"

static Tensor stream_ids(const Ctx *cx)
{
    return tensor_vector(cx->rows->ids, DT_I32, cx->rows->n_rows);
}

void embed_fwd(Ctx *cx, Tensor y, Tensor table)
{
    Dropout drop = ctx_dropout(cx, SITE_EMBED);

    op_embedding_fwd(cx->dev, y, table, stream_ids(cx));
    op_dropout_fwd(cx->dev, y, y, NO_TENSOR, &drop);
}

void embed_bwd(Ctx *cx, Tensor dtable, Tensor dy)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor de = arena_tensor(cx->scratch, cx->dtype, dy.d[0], dy.d[1], "embed.de");
    Dropout drop = ctx_dropout(cx, SITE_EMBED);

    op_dropout_bwd(cx->dev, de, dy, &drop);
    op_embedding_bwd(cx->dev, dtable, de, stream_ids(cx), cx->g_beta);
    arena_reset(cx->scratch, mark);
}
