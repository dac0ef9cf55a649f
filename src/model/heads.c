/* heads.c: cross-entropy of tokens and of sentence labels. */
#include "model/heads.h"

#include "base/check.h"

#include <math.h>

void heads_acquire(Model *model, ModelW *w)
{
    params_acquire(model->params, BUCKET_SHARED, w);
    params_acquire(model->params, BUCKET_LM_HEAD, w);
}

void heads_release(Model *model)
{
    params_release(model->params, BUCKET_SHARED);
    params_release(model->params, BUCKET_LM_HEAD);
}

HeadW heads_weights(const Model *model, const ModelW *w, const ModelW *g, float beta)
{
    bool tied = model->config.tie_embeddings;
    return (HeadW){ .w = tied ? w->shared : w->lm_head,
                    .dw = tied ? g->shared : g->lm_head,
                    .b = w->head_bias,
                    .db = g->head_bias,
                    .transform = model->config.head_transform ? &w->transform : NULL,
                    .dtransform = model->config.head_transform ? &g->transform : NULL,
                    .scale = model->config.scale_logits ? 1 / sqrtf((float)model->config.width) : 1,
                    .beta = beta };
}

/* The buckets of the head are first touched here, all of them: they take the same beta. */
static float head_gradients_acquire(Model *model, ModelW *g)
{
    float beta = grads_acquire(model->params, model->config.tie_embeddings ? BUCKET_SHARED : BUCKET_LM_HEAD, g);
    if (model->config.tie_embeddings)
        CHECK(grads_acquire(model->params, BUCKET_LM_HEAD, g) == beta, "the head's buckets in step");
    return beta;
}

static void head_gradients_ready(Model *model)
{
    if (model->config.tie_embeddings)
        grads_ready(model->params, BUCKET_SHARED);
    grads_ready(model->params, BUCKET_LM_HEAD);
}

/* Σ of the statistics into sums (XENT_STATS) f64; with loss->grad dx (N,C) and the head's gradient. */
static void token_loss(Model *model, const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Batch *batch,
                       const ModelLoss *loss)
{
    XentSpec xent = { .label_smoothing = loss->label_smoothing,
                      .z_loss = loss->z_loss,
                      .scale = loss->grad ? (float)(1 / loss->n_targets) : 0,
                      .grad = loss->grad };
    ModelW w = { 0 }, g = { 0 };
    int64_t n = MAX(batch->n_targets, 1); /* without a target a row of weight 0: gradients must be written */
    size_t mark = arena_mark(cx->scratch);
    Tensor rows = indices_upload(cx->dev, cx->scratch, batch->target_indices, n, n, "target.rows");
    Tensor ids = indices_upload(cx->dev, cx->scratch, batch->target_ids, n, n, "target.ids");
    Tensor weights = arena_vector(cx->scratch, cx->dtype, n, "target.weights");

    CHECK(!loss->grad || loss->n_targets > 0, "gradient of a mean over %g targets", loss->n_targets);
    op_fill(cx->dev, weights, batch->n_targets > 0);
    heads_acquire(model, &w);
    float beta = loss->grad ? head_gradients_acquire(model, &g) : 0;
    HeadW head = heads_weights(model, &w, &g, beta);
    head_loss(cx, sums, dx, x, &head, rows, ids, weights, &xent);
    if (loss->grad)
        head_gradients_ready(model);
    heads_release(model);
    arena_reset(cx->scratch, mark);
}

/* 1 for each sequence that has a label, else 0. */
static Tensor label_weights(const Ctx *cx, const int32_t *labels, int64_t n)
{
    Tensor weights = arena_vector(cx->scratch, cx->dtype, n, "label.weights");
    g_autofree float *values = g_new(float, n);

    for (int64_t i = 0; i < n; i++)
        values[i] = labels[i] >= 0;
    tensor_write(cx->dev, weights, values, DT_F32);
    return weights;
}

/* The loss of the labels, whose gradient is added to dx. */
static void label_loss(Model *model, const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Batch *batch,
                       const ModelLoss *loss)
{
    XentSpec xent = { .scale = loss->grad ? (float)(1 / MAX(1, loss->n_labels)) : 0, .grad = loss->grad };
    ModelW w = { 0 }, g = { 0 };
    size_t mark = arena_mark(cx->scratch);
    int64_t n = cx->tokens->seq.n;
    Tensor labels = indices_upload(cx->dev, cx->scratch, batch->labels, n, n, "labels");
    Tensor weights = label_weights(cx, batch->labels, n);

    params_acquire(model->params, BUCKET_POOLER, &w);
    float beta = loss->grad ? grads_acquire(model->params, BUCKET_POOLER, &g) : 0;
    pooler_loss(cx, sums, dx, x, &w.pooler, &g.pooler, beta, labels, weights, &xent);
    if (loss->grad)
        grads_ready(model->params, BUCKET_POOLER);
    params_release(model->params, BUCKET_POOLER);
    arena_reset(cx->scratch, mark);
}

void heads_loss(Model *model, const Ctx *cx, Tensor dx, Tensor x, const Batch *batch, const ModelLoss *loss)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor sums = arena_vector(cx->scratch, DT_F64, 2 * XENT_STATS, "sums");
    Tensor tokens = tensor_slice_rows(sums, 0, XENT_STATS), labels = tensor_slice_rows(sums, XENT_STATS, XENT_STATS);

    op_fill(model->dev, labels, 0);
    token_loss(model, cx, tokens, dx, x, batch, loss);
    if (model->config.sentence_head)
        label_loss(model, cx, labels, dx, x, batch, loss);
    op_total_add(model->dev, model->sums, sums);
    arena_reset(cx->scratch, mark);
}
