/* dry.c: a model on the null device, which computes nothing and counts everything. */
#include "model/memory/memory.h"

#include "base/check.h"
#include "model/transformer/transformer.h"

Model *model_open_dry(const Model *model, bool gradients)
{
    Device *null = device_open_null_of(model->dev->precision);
    Sharding one = {
        .tp = params_sharding(model->params).tp
    }; /* one rank with the same tensor-parallel part of each block, without communication */
    one.tp.ranks = NULL;
    Model *dry = model_open_stages(null, &model->config, model->ranges, gradients, (const char *const *)model->frozen,
                                   &one, NULL, NULL);
    CHECK(dry != NULL, "a checked configuration was refused");
    return dry;
}

void model_close_dry(Model *model)
{
    Device *null = model->dev;
    model_close(model);
    device_close(null);
}
