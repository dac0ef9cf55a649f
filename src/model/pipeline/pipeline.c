/* pipeline.c: runs the passes of a stage and its messages to and from neighbouring stages. */
#include "model/pipeline/pipeline.h"

#include "base/check.h"
#include "device/profile.h"
#include "model/transformer/transformer.h"

#include <math.h>

SentBytes model_sent(const Model *model)
{
    SentBytes sent = params_sent(model->params);
    sent.bytes[SENT_PIPELINE] = model->pipeline_sent;
    return sent;
}

int64_t model_sent_bytes(const Model *model)
{
    return sent_total(model_sent(model));
}

static Tensor as_vector(Tensor x)
{
    CHECK(x.ld == x.d[1], "a message with rows %lld apart of %lld columns", (long long)x.ld, (long long)x.d[1]);
    return tensor_vector(x.p, (DType)x.dtype, tensor_count(x));
}

/* ---- one tensor; tensors that are absent on both sides are not sent ---- */

static CommWork send_tensor(Model *model, Comm *group, Tensor x, int to)
{
    if (!tensor_present(x))
        return 0;
    model->pipeline_sent += tensor_count(x) * (int64_t)dtype_bytes((DType)x.dtype);
    return group && model->dev->computes ? comm_send(group, as_vector(x), to) : 0;
}

static void receive_tensor(const Model *model, Comm *group, Tensor x, int from)
{
    if (tensor_present(x) && group && model->dev->computes)
        comm_wait(group, comm_receive(group, as_vector(x), from));
}

/* ---- messages between stages ---- */

static void send(Model *model, Comm *group, StageMessage message, int to, CommWork works[2])
{
    works[0] = send_tensor(model, group, message.x, to);
    works[1] = send_tensor(model, group, message.encoder_output, to);
}

static void receive(const Model *model, Comm *group, StageMessage message, int from)
{
    receive_tensor(model, group, message.x, from);
    receive_tensor(model, group, message.encoder_output, from);
}

/* Waits until the messages of the slot's previous microbatch have been sent, because the slot's memory will be
 * overwritten. */
static void settle(const Model *model, SlotSends *sends)
{
    const Pipeline *pipeline = &model->pipeline;
    for (int i = 0; i < 2; i++) {
        if (sends->forward[i])
            comm_wait(pipeline->forward, sends->forward[i]);
        if (sends->backward[i])
            comm_wait(pipeline->backward, sends->backward[i]);
    }
    *sends = (SlotSends){ 0 };
}

static void forward(Model *model, int slot, const Batch *batch, const ModelLoss *loss)
{
    const Pipeline *pipeline = &model->pipeline;
    profile_begin(model->dev, "forward", -1);
    if (pipeline->size > 1)
        settle(model, &model->sending[slot]);
    receive(model, pipeline->forward, slot_begin(model, slot, batch, loss), pipeline->rank - 1);
    StageMessage out = slot_fwd(model, slot);
    if (pipeline->size > 1)
        send(model, pipeline->forward, out, pipeline->rank + 1, model->sending[slot].forward);
    profile_end(model->dev);
}

static void backward(Model *model, int slot)
{
    const Pipeline *pipeline = &model->pipeline;
    profile_begin(model->dev, "backward", -1);
    receive(model, pipeline->backward, slot_gradient(model, slot), pipeline->rank + 1);
    StageMessage in = slot_bwd(model, slot);
    if (pipeline->size > 1)
        send(model, pipeline->backward, in, pipeline->rank - 1, model->sending[slot].backward);
    if (model->fp8)
        fp8_update(model->fp8);
    profile_end(model->dev);
}

void model_pass(Model *model, const Batch *batch, const ModelLoss *loss)
{
    forward(model, 0, batch, loss);
    if (loss->grad)
        backward(model, 0);
}

/* A copy of the loss with an infinite number of targets, so that all gradients are 0. */
static ModelLoss without_effect(const ModelLoss *loss)
{
    ModelLoss nothing = *loss;
    for (int h = 0; h < HEAD_COUNT; h++)
        nothing.n_targets[h] = INFINITY;
    return nothing;
}

static void forget_sums(Model *model)
{
    op_fill(model->dev, model->sums, 0);
    model->class_rows = 0;
}

void model_passes(Model *model, const Batch *const *batches, int n, int n_empty, const ModelLoss *loss)
{
    const Pipeline *pipeline = &model->pipeline;
    int n_slots = model->work.n_slots, all = n + n_empty;
    g_autofree PipelinePass *passes = g_new(PipelinePass, 2 * all);
    const ModelLoss nothing = without_effect(loss);
    CHECK(loss->grad, "passes without gradients have no schedule");
    pipeline_schedule(passes, pipeline->rank, MAX(pipeline->size, 1), 1, all);
    for (const PipelinePass *pass = passes; pass < passes + 2 * all; pass++) {
        int m = pass->microbatch, slot = m % n_slots;
        if (pass->backward)
            backward(model, slot);
        else if (m < n_empty)
            forward(model, slot, batches[0], &nothing);
        else
            forward(model, slot, batches[m - n_empty], loss);
        if (!pass->backward && m == n_empty - 1)
            forget_sums(model);
    }
}
