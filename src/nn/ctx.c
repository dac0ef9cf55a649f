#include "nn/nn.h"

#define DECODER_SITES 16

Dropout ctx_dropout(const Ctx *cx, DropoutSite site)
{
    uint32_t purpose = PHILOX_DROPOUT + (uint32_t)site + (cx->decoder ? DECODER_SITES : 0);
    bool inner = site == SITE_MLP_HIDDEN || site == SITE_FINAL;
    return (Dropout){ .key = philox_key(cx->seed, purpose, (uint32_t)cx->layer),
                      .rate = inner && !cx->inner_dropout ? 0 : cx->dropout,
                      .sample = cx->rows->sample,
                      .position = cx->rows->position };
}
