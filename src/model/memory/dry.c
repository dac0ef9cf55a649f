/* dry.c: a model on the null device, which computes nothing and counts everything. */
#include "model/memory/memory.h"

#include "base/check.h"
#include "model/transformer/transformer.h"

Model *model_open_dry(const Model *model, bool gradients)
{
    Device *null = device_open_null_of(model->dev->precision);
    const Sharding own = params_sharding(model->params);
    Sharding one = { .tp = own.tp, .cp = own.cp }; /* one rank with the same part of each block, and of the tokens,
                                                      without communication */
    one.tp.ranks = one.cp.ranks = NULL;
    Model *dry = model_open_stages(null, &model->config, model->ranges, gradients, (const char *const *)model->frozen,
                                   &one, NULL, NULL);
    CHECK(dry != NULL, "a checked configuration was refused");
    return dry;
}

void model_close_dry(Model *dry, const Model *model)
{
    Device *null = dry->dev;
    if (model)
        model->dev->gpu.scratch = MAX(model->dev->gpu.scratch, null->gpu.scratch);
    model_close(dry);
    device_close(null);
}
