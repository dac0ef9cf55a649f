#include "nn/ctx.h"

#define DECODER_SITES 16

static float dropout_rate(const ModelSpec *model, DropoutSite site)
{
    switch (site) {
    case SITE_SELF_PROBS:
    case SITE_CROSS_PROBS:
    case SITE_CONTEXT_PROBS:
        return model->attention_dropout;
    case SITE_MLP_HIDDEN:
        return model->activation_dropout;
    case SITE_FINAL:
        return model->final_dropout;
    default:
        return model->dropout;
    }
}

Dropout ctx_dropout(const Ctx *cx, DropoutSite site)
{
    uint32_t purpose = PHILOX_DROPOUT + (uint32_t)site + (cx->layer->decoder ? DECODER_SITES : 0);
    return (Dropout){ .key = philox_key(cx->seed, purpose, (uint32_t)cx->layer->index),
                      .rate = cx->train ? dropout_rate(cx->model, site) : 0,
                      .sample = cx->tokens->sample.p,
                      .position = cx->tokens->dropout_position.p };
}

Tensor ctx_gradient(const Ctx *cx, Tensor g, Tensor w)
{
    if (tensor_present(g) || !tensor_present(w))
        return g;
    return arena_like(cx->scratch, cx->precision.grad, w, "ctx.frozen");
}

Tensor ctx_activation(const Ctx *cx, Tensor t)
{
    if (t.dtype == cx->precision.compute)
        return t;
    Tensor copy = arena_tensor(cx->save, cx->precision.compute, t.d[0], t.d[1], "ctx.activation");
    op_copy(cx->dev, copy, t);
    return copy;
}

AttnSpec ctx_attention(const Ctx *cx, const Sequences *queries, const Sequences *keys)
{
    return (AttnSpec){ .cu_q = queries->cu,
                       .cu_k = keys->cu,
                       .k_first = keys->first,
                       .n_seq = queries->n,
                       .max_q = queries->max_len,
                       .max_k = keys->max_len,
                       .heads = cx->model->heads,
                       .first_head = cx->model->first_head,
                       .kv_heads = cx->model->kv_heads,
                       .scale = cx->model->score_scale,
                       .rescale = cx->layer->score_rescale };
}
