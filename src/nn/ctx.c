#include "nn/nn.h"

#define DECODER_SITES 16

static float dropout_rate(const Ctx *cx, DropoutSite site)
{
    switch (site) {
    case SITE_SELF_PROBS:
    case SITE_CROSS_PROBS:
    case SITE_CONTEXT_PROBS:
        return cx->attention_dropout;
    case SITE_MLP_HIDDEN:
        return cx->activation_dropout;
    case SITE_FINAL:
        return cx->final_dropout;
    default:
        return cx->dropout;
    }
}

Dropout ctx_dropout(const Ctx *cx, DropoutSite site)
{
    uint32_t purpose = PHILOX_DROPOUT + (uint32_t)site + (cx->decoder ? DECODER_SITES : 0);
    return (Dropout){ .key = philox_key(cx->seed, purpose, (uint32_t)cx->layer),
                      .rate = dropout_rate(cx, site),
                      .sample = cx->rows->sample.p,
                      .position = cx->rows->position.p };
}
