/* tied.c: parameters that several ranks of a pipeline have: embeddings shared with the head, or by encoder and
 * decoder, and tables of relative-position biases. */

#include "base/check.h"
#include "model/transformer/transformer.h"

#include <string.h>

static bool has_spec(const ParamSpec *specs, int n, const char *name)
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
        g_autofree ParamSpec *theirs =
            s == pipeline->rank ? NULL : model_outer_specs(config, pipeline_held(pipeline, s), &n_theirs);
        for (int i = 0; theirs && i < n && specs[i].bucket < BUCKET_BLOCK; i++)
            if (has_spec(theirs, n_theirs, specs[i].name)) {
                specs[i].tie = s < pipeline->rank || specs[i].tie == TIE_COPY ? TIE_COPY : TIE_FIRST;
            }
    }
}

/* Sums `mine` (n), a part of a gradient, over the ranks that have it. The first of them adds the others' parts, which
 * it receives in `theirs` (n), and sends them the sum. */
static void sum_part(Device *dev, Comm *ranks, Tensor mine, Tensor theirs, const int *owners, int n_owners)
{
    const Tensor sum = tensor_matrix(mine.p, mine.dtype, 1, mine.d[0]);
    const Tensor addend = tensor_matrix(theirs.p, theirs.dtype, 1, theirs.d[0]);
    if (comm_rank(ranks) != owners[0]) {
        comm_wait(ranks, comm_send(ranks, mine, owners[0]));
        comm_wait(ranks, comm_receive(ranks, mine, owners[0]));
        return;
    }
    for (int i = 1; i < n_owners; i++) {
        comm_wait(ranks, comm_receive(ranks, theirs, owners[i]));
        op_add(dev, sum, sum, addend);
    }
    for (int i = 1; i < n_owners; i++)
        comm_wait(ranks, comm_send(ranks, mine, owners[i]));
}

/* Sums one parameter's gradient over the ranks that have it, in parts of PART elements, which stay in a cache meanwhile
 * and need little memory. owners: these ranks in ascending order. */
static void sum_one(Model *model, int index, const int *owners, int n_owners)
{
    enum { PART = 1 << 20 };
    const Pipeline *pipeline = &model->pipeline;
    const Tensor g = grads_tensor(model->params, index);
    const DType dtype = g.dtype;
    const bool first = pipeline->rank == owners[0];
    const int64_t n = tensor_count(g), bytes = (int64_t)dtype_bytes(dtype);
    Comm *ranks = model->dev->computes && pipeline->mesh ? pipeline->mesh->pipeline : NULL;
    void *theirs = first ? device_alloc(model->dev, (size_t)(MIN(n, PART) * bytes)) : NULL;
    CHECK(theirs || !first, "no memory for the gradient of %s from another rank",
          params_spec(model->params, index)->name);
    model->pipeline_sent += (first ? n_owners - 1 : 1) * n * bytes;
    for (int64_t at = 0; ranks && at < n; at += PART) {
        const int64_t length = MIN(n - at, PART);
        sum_part(model->dev, ranks, tensor_vector((char *)g.p + at * bytes, dtype, length),
                 tensor_vector(theirs, dtype, length), owners, n_owners);
    }
    device_free(model->dev, theirs);
}

void pipeline_sum_tied(Model *model)
{
    const Pipeline *pipeline = &model->pipeline;
    ParamStore *params = model->params;
    int n_specs;
    if (pipeline->size < 2)
        return;
    g_autofree ParamSpec *specs = model_outer_specs(&model->config, stage_whole(&model->config), &n_specs);
    g_autofree int *owners = g_new(int, pipeline->size);
    for (int i = 0; i < n_specs; i++) {
        int n = 0, index = params_index(params, specs[i].name);
        if (index < 0 || params_spec(params, index)->tie == TIE_NONE || params_spec(params, index)->frozen)
            continue;
        for (int s = 0; s < pipeline->size; s++) {
            int n_theirs;
            g_autofree ParamSpec *theirs = model_outer_specs(&model->config, pipeline_held(pipeline, s), &n_theirs);
            if (has_spec(theirs, n_theirs, specs[i].name))
                owners[n++] = s;
        }
        sum_one(model, index, owners, n);
    }
    grads_reduce_tied(params);
}
