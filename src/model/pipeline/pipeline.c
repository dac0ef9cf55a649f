/* pipeline.c: runs the passes of a rank and its messages to and from neighbouring ranks. */
#include "model/pipeline/pipeline.h"

#include "base/check.h"
#include "device/profile.h"
#include "model/transformer/transformer.h"

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
    return tensor_vector(x.p, x.dtype, tensor_count(x));
}

/* ---- one tensor; tensors that are absent on both sides are not sent ---- */

static CommWork send_tensor(Model *model, Comm *group, Tensor x, int to)
{
    if (!tensor_present(x))
        return 0;
    model->pipeline_sent += tensor_count(x) * (int64_t)dtype_bytes(x.dtype);
    return group && model->dev->computes ? comm_send(group, as_vector(x), to) : 0;
}

static void receive_tensor(const Model *model, Comm *group, Tensor x, int from)
{
    if (tensor_present(x) && group && model->dev->computes)
        comm_wait(group, comm_receive(group, as_vector(x), from));
}

/* ---- messages between stages ---- */

/* The rank before this one, or behind it; the first one follows the last one. */
static int neighbour(const Pipeline *pipeline, int step)
{
    return (pipeline->rank + step + pipeline->size) % pipeline->size;
}

/* The group for messages between this rank and a neighbour; NULL without communication. */
static Comm *link_to(const Pipeline *pipeline, bool backward, int step)
{
    const Mesh *mesh = pipeline->mesh;
    const int edge = step > 0 ? pipeline->rank : neighbour(pipeline, -1);
    return mesh ? (backward ? mesh->backward : mesh->forward)[mesh_link(pipeline->size, pipeline->interleave > 1, edge)]
                : NULL;
}

static void send(Model *model, bool backward, StageMessage message, CommWork works[2])
{
    const Pipeline *pipeline = &model->pipeline;
    const int step = backward ? -1 : 1;
    if (pipeline->size < 2)
        return;
    works[0] = send_tensor(model, link_to(pipeline, backward, step), message.x, neighbour(pipeline, step));
    works[1] = send_tensor(model, link_to(pipeline, backward, step), message.encoder_output, neighbour(pipeline, step));
}

static void receive(const Model *model, bool backward, StageMessage message)
{
    const Pipeline *pipeline = &model->pipeline;
    const int step = backward ? 1 : -1;
    if (pipeline->size < 2)
        return;
    receive_tensor(model, link_to(pipeline, backward, step), message.x, neighbour(pipeline, step));
    receive_tensor(model, link_to(pipeline, backward, step), message.encoder_output, neighbour(pipeline, step));
}

/* Waits until the messages of the slot's previous microbatch have been sent: its memory will be overwritten. */
static void settle_sends(const Model *model, SlotSends *sends)
{
    const Pipeline *pipeline = &model->pipeline;
    for (int i = 0; i < 2; i++) {
        if (sends->forward[i])
            comm_wait(link_to(pipeline, false, 1), sends->forward[i]);
        if (sends->backward[i])
            comm_wait(link_to(pipeline, true, -1), sends->backward[i]);
    }
    *sends = (SlotSends){ 0 };
}

static void backward(Model *model, int slot)
{
    profile_begin(model->dev, "backward", -1);
    receive(model, true, slot_gradient(model, slot));
    send(model, true, slot_bwd(model, slot), model->sending[slot].backward);
    if (model->fp8 && model->work.stage[slot] == 0) /* the microbatch has been through all of the rank's stages */
        fp8_update(model->fp8);
    profile_end(model->dev);
}

void pipeline_receive(const Model *model, StageMessage message)
{
    receive(model, false, message);
}

void pipeline_hand_on(Model *model, StageMessage message)
{
    CommWork works[2] = { 0 };
    send(model, false, message, works);
    for (int i = 0; i < 2; i++)
        if (works[i])
            comm_wait(link_to(&model->pipeline, false, 1), works[i]);
}

void pipeline_share(Model *model, void *x, size_t bytes)
{
    const Pipeline *pipeline = &model->pipeline;
    Device *dev = model->dev;
    const int last = pipeline->size - 1;
    if (last < 1 || pipeline->mesh == NULL || !dev->computes)
        return;
    Comm *ranks = pipeline->mesh->pipeline;
    const Tensor t = tensor_vector(device_alloc(dev, bytes), DT_I32, (int64_t)(bytes / sizeof(int32_t)));
    CHECK(t.p && bytes % sizeof(int32_t) == 0, "no memory for %zu bytes of the last stage", bytes);
    tensor_upload(dev, t, x);
    comm_wait(ranks, comm_broadcast(ranks, t, last));
    if (pipeline->rank < last)
        tensor_download(dev, x, t);
    else
        model->pipeline_sent += last * (int64_t)bytes;
    device_synchronise(dev);
    device_free(dev, t.p);
}

void pipeline_settle(Model *model)
{
    settle_sends(model, &model->sending[0]);
}

Tensor pipeline_run(Model *model, const Batch *batch)
{
    const ModelLoss loss = { 0 };
    Tensor y = NO_TENSOR;
    for (int s = 0; s < model->ranges.n; s++) {
        const int index = workspace_slot(&model->work, s);
        Slot *slot = &model->slots[index];
        settle_sends(model, &model->sending[index]);
        receive(model, false, slot_begin(model, index, batch, &loss));
        y = slot_fwd(model, index);
        pipeline_hand_on(model, slot->sent);
        slot->state = SLOT_FREE;
    }
    return y;
}

/* A copy of the loss with an infinite number of targets, so that all gradients are 0. */
static ModelLoss without_effect(const ModelLoss *loss)
{
    ModelLoss nothing = *loss;
    for (int h = 0; h < HEAD_COUNT; h++)
        nothing.n_targets[h] = INFINITY;
    return nothing;
}

/* The slot of a microbatch in one of the rank's stages. */
static int slot_of(const Model *model, int stage, int microbatch)
{
    const Workspace *work = &model->work;
    const int first = workspace_slot(work, stage);
    int n = 0;
    while (first + n < work->n_slots && work->stage[first + n] == stage)
        n++;
    return first + microbatch % n;
}

void model_passes(Model *model, const Batch *const *batches, int n, int n_empty, const ModelLoss *loss)
{
    const Pipeline *pipeline = &model->pipeline;
    const int all = n + n_empty, n_passes = 2 * all * model->ranges.n;
    PipelinePass *passes = (PipelinePass *)(void *)g_array_set_size(model->passes, (guint)n_passes)->data;
    const ModelLoss nothing = without_effect(loss);
    pipeline_schedule(passes, pipeline->rank, MAX(pipeline->size, 1), model->ranges.n, all);
    for (const PipelinePass *pass = passes; pass < passes + n_passes; pass++) {
        const int m = pass->microbatch, slot = slot_of(model, pass->stage, m);
        const bool empty = m < n_empty;
        if (pass->backward) {
            if (loss->grad)
                backward(model, slot);
            continue;
        }
        profile_begin(model->dev, "forward", -1);
        settle_sends(model, &model->sending[slot]);
        receive(model, false, slot_begin(model, slot, batches[empty ? 0 : m - n_empty], empty ? &nothing : loss));
        send(model, false, slot_loss(model, slot, slot_fwd(model, slot)), model->sending[slot].forward);
        profile_end(model->dev);
        if (m == n_empty - 1 && pass->stage == model->ranges.n - 1) { /* forget the sums */
            op_fill(model->dev, model->sums, 0);
            model->class_rows = 0;
        }
    }
}

void model_pass(Model *model, const Batch *batch, const ModelLoss *loss)
{
    model_passes(model, &batch, 1, 0, loss);
}
