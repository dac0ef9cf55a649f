#include "nn/nn.h"

#define DECODER_SITES 16

Dropout ctx_dropout(const Ctx *cx, DropoutSite site)
{
    uint32_t purpose = PHILOX_DROPOUT + (uint32_t)site + (cx->decoder ? DECODER_SITES : 0);
    return (Dropout){ .key = philox_key(cx->seed, purpose, (uint32_t)cx->layer),
                      .rate = cx->dropout,
                      .sample = cx->rows->sample,
                      .position = cx->rows->position };
}
