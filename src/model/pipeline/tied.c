/* tied.c: parameters that several ranks of a pipeline have: embeddings shared with the head, or by encoder and
 * decoder, and tables of relative-position biases. */
#include "model/pipeline/pipeline.h"

#include "base/check.h"
#include "model/params/params.h"
#include "model/transformer/transformer.h"
#include "param/grads.h"

#include <string.h>

/* The parameters outside blocks that a rank of the pipeline has. g_free. */
static ParamSpec *outer_specs(const ModelConfig *config, const Pipeline *pipeline, int rank, int *n)
{
    ParamSpec *specs = model_param_specs(config, pipeline_held(pipeline, rank), n);
    while (*n > 0 && specs[*n - 1].bucket >= BUCKET_BLOCK)
        --*n;
    return specs;
}

static bool has(const ParamSpec *specs, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(specs[i].name, name) == 0)
            return true;
    return false;
}

void pipeline_mark_tied(ParamSpec *specs, int n, const ModelConfig *config, const Pipeline *pipeline)
{
    for (int s = 0; s < pipeline->size; s++) {
        int n_theirs;
        g_autofree ParamSpec *theirs = s == pipeline->rank ? NULL : outer_specs(config, pipeline, s, &n_theirs);
        for (int i = 0; theirs && i < n && specs[i].bucket < BUCKET_BLOCK; i++)
            if (has(theirs, n_theirs, specs[i].name)) {
                specs[i].tie = s < pipeline->rank || specs[i].tie == TIE_COPY ? TIE_COPY : TIE_FIRST;
            }
    }
}

/* Sums one parameter's gradient over the ranks that have it. owners: these ranks in ascending order. */
static void sum_one(Model *model, int index, const int *owners, int n)
{
    const Pipeline *pipeline = &model->pipeline;
    ParamStore *params = model->params;
    const Tensor g = grads_tensor(params, index);
    Comm *ranks = model->dev->computes && pipeline->mesh ? pipeline->mesh->pipeline : NULL;
    const Tensor all = tensor_vector(g.p, (DType)g.dtype, tensor_count(g));
    const int64_t bytes = tensor_count(g) * (int64_t)dtype_bytes((DType)g.dtype);

    if (pipeline->rank != owners[0]) {
        model->pipeline_sent += bytes;
        if (ranks) {
            comm_wait(ranks, comm_send(ranks, all, owners[0]));
            comm_wait(ranks, comm_receive(ranks, all, owners[0]));
        }
        return;
    }
    model->pipeline_sent += (n - 1) * bytes;
    if (ranks == NULL)
        return;
    Tensor theirs = all;
    theirs.p = device_alloc(model->dev, (size_t)bytes);
    CHECK(theirs.p, "no memory for the gradient of %s from another rank", params_spec(params, index)->name);
    for (int i = 1; i < n; i++) {
        comm_wait(ranks, comm_receive(ranks, theirs, owners[i]));
        const Tensor sum = tensor_matrix(all.p, (DType)g.dtype, 1, all.d[0]);
        op_add(model->dev, sum, sum, tensor_matrix(theirs.p, (DType)g.dtype, 1, all.d[0]));
    }
    for (int i = 1; i < n; i++)
        comm_wait(ranks, comm_send(ranks, all, owners[i]));
    device_synchronise(model->dev);
    device_free(model->dev, theirs.p);
}

void pipeline_sum_tied(Model *model)
{
    const Pipeline *pipeline = &model->pipeline;
    ParamStore *params = model->params;
    int n_specs;
    if (pipeline->size < 2)
        return;
    g_autofree ParamSpec *specs = model_param_specs(&model->config, stage_whole(&model->config), &n_specs);
    g_autofree int *owners = g_new(int, pipeline->size);
    for (int i = 0; i < n_specs && specs[i].bucket < BUCKET_BLOCK; i++) {
        int n = 0, index = params_index(params, specs[i].name);
        if (index < 0 || params_spec(params, index)->tie == TIE_NONE || params_spec(params, index)->frozen)
            continue;
        for (int s = 0; s < pipeline->size; s++) {
            int n_theirs;
            g_autofree ParamSpec *theirs = outer_specs(&model->config, pipeline, s, &n_theirs);
            if (has(theirs, n_theirs, specs[i].name))
                owners[n++] = s;
        }
        sum_one(model, index, owners, n);
    }
    grads_reduce_tied(params);
}
