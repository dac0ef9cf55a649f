/* heads.c: the heads of a model above its last block: their losses, and the logits of tokens. */
#include "base/check.h"
#include "model/transformer.h"

#include <math.h>

/* A head as data: what it predicts for which rows, and what its figures are called. */
typedef struct Head {
    HeadNames names;
    int bucket;      /* of its parameters */
    bool vocabulary; /* its classes are the vocabulary's: the embedding may be its projection, and its loss takes label
                        smoothing and z-loss */
    bool (*present)(const ModelConfig *config); /* NULL means in every model */
    double (*count)(const Batch *batch);        /* rows of weight 1 */
    HeadRows (*rows)(const Ctx *cx, const Batch *batch);
    HeadW (*weights)(const ModelConfig *config, const ModelW *w, const ModelW *g);
    /* What its softmax runs over, and its loss. */
    void (*loss)(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const HeadW *head, const HeadRows *rows,
                 const XentSpec *xent);
} Head;

static double tokens_count(const Batch *batch)
{
    return (double)batch->n_targets;
}

/* Without a target, one row of weight 0: gradients must be written. */
static HeadRows tokens_rows(const Ctx *cx, const Batch *batch)
{
    int64_t n = MAX(batch->n_targets, 1);
    HeadRows rows = { .rows = indices_upload(cx->dev, cx->scratch, batch->target_indices, n, n, "target.rows"),
                      .targets = indices_upload(cx->dev, cx->scratch, batch->target_ids, n, n, "target.ids"),
                      .weights = arena_vector(cx->scratch, precision_statistic(cx->precision), n, "target.weights") };
    op_fill(cx->dev, rows.weights, batch->n_targets > 0);
    return rows;
}

static HeadW tokens_weights(const ModelConfig *config, const ModelW *w, const ModelW *g)
{
    bool tied = config->tie_embeddings;
    return (HeadW){ .w = tied ? w->shared : w->lm_head,
                    .dw = tied ? g->shared : g->lm_head,
                    .b = w->head_bias,
                    .db = g->head_bias,
                    .transform = config->head_transform ? &w->transform : NULL,
                    .dtransform = config->head_transform ? &g->transform : NULL,
                    .activation = model_config_head_activation(config),
                    .scale = config->scale_logits ? 1 / sqrtf((float)config->width) : 1 };
}

static bool labels_present(const ModelConfig *config)
{
    return config->sentence_head;
}

static double labels_count(const Batch *batch)
{
    double n = 0;
    for (int32_t i = 0; i < batch_loss_stream(batch)->n_seq; i++)
        n += batch->labels[i] >= 0;
    return n;
}

/* The first token of each sequence. */
static HeadRows labels_rows(const Ctx *cx, const Batch *batch)
{
    int64_t n = cx->tokens->seq.n;
    HeadRows rows = { .rows = cx->tokens->starts,
                      .targets = indices_upload(cx->dev, cx->scratch, batch->labels, n, n, "labels"),
                      .weights = arena_vector(cx->scratch, precision_statistic(cx->precision), n, "label.weights") };
    g_autofree float *weights = g_new(float, n);

    for (int64_t i = 0; i < n; i++)
        weights[i] = batch->labels[i] >= 0;
    tensor_write(cx->dev, rows.weights, weights, DT_F32);
    return rows;
}

static HeadW labels_weights(const ModelConfig *config, const ModelW *w, const ModelW *g)
{
    (void)config;
    return (HeadW){ .w = w->sentence.w,
                    .dw = g->sentence.w,
                    .b = w->sentence.b,
                    .db = g->sentence.b,
                    .transform = &w->pooler,
                    .dtransform = &g->pooler,
                    .activation = ACT_TANH,
                    .scale = 1 };
}

static const Head heads[HEAD_COUNT] = {
    [HEAD_TOKENS] = { .names = { "token", "loss_mlm", "accuracy", "target tokens" },
                      .bucket = BUCKET_LM_HEAD,
                      .vocabulary = true,
                      .count = tokens_count,
                      .rows = tokens_rows,
                      .weights = tokens_weights,
                      .loss = head_loss },
    [HEAD_LABELS] = { .names = { "label", "loss_label", "accuracy_label", "sequences" },
                      .bucket = BUCKET_POOLER,
                      .present = labels_present,
                      .count = labels_count,
                      .rows = labels_rows,
                      .weights = labels_weights,
                      .loss = head_loss },
};

const HeadNames *loss_names(HeadId head)
{
    return &heads[head].names;
}

void loss_count(ModelLoss *loss, const Batch *batch)
{
    for (int h = 0; h < HEAD_COUNT; h++)
        loss->n_targets[h] += heads[h].count(batch);
}

/* The buckets of a head's parameters: its own, before it the embedding where that is the projection. Returns how many.
 */
static int head_buckets(const Model *model, const Head *head, int buckets[2])
{
    bool tied = head->vocabulary && model->config.tie_embeddings;
    buckets[0] = BUCKET_SHARED;
    buckets[tied] = head->bucket;
    return 1 + tied;
}

/* The weights of a head and, with loss->grad, its gradients: views into *w and *g, which are zeroed before. The head's
 * buckets are first touched here, so they take the same beta. */
static HeadW head_acquire(Model *model, const Head *head, const ModelLoss *loss, ModelW *w, ModelW *g)
{
    float beta = 0;
    int buckets[2], n = head_buckets(model, head, buckets);

    for (int i = 0; i < n; i++) {
        params_acquire(model->params, buckets[i], w);
        float found = loss->grad ? grads_acquire(model->params, buckets[i], g) : 0;
        CHECK(i == 0 || found == beta, "the head's buckets in step");
        beta = found;
    }
    HeadW weights = head->weights(&model->config, w, g);
    weights.beta = beta;
    return weights;
}

static void head_release(Model *model, const Head *head, const ModelLoss *loss)
{
    int buckets[2], n = head_buckets(model, head, buckets);

    for (int i = 0; i < n; i++) {
        if (loss->grad)
            grads_ready(model->params, buckets[i]);
        params_release(model->params, buckets[i]);
    }
}

static void run_loss(Model *model, HeadId id, const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Batch *batch,
                     const ModelLoss *loss)
{
    const Head *head = &heads[id];
    double loss_scale = loss->loss_scale > 0 ? loss->loss_scale : 1;
    const XentSpec xent = { .label_smoothing = head->vocabulary ? loss->label_smoothing : 0,
                            .z_loss = head->vocabulary ? loss->z_loss : 0,
                            .scale = loss->grad ? (float)(loss_scale / MAX(1, loss->n_targets[id])) : 0,
                            .grad = loss->grad };
    size_t mark = arena_mark(cx->scratch);
    ModelW w = { 0 }, g = { 0 };
    const HeadRows rows = head->rows(cx, batch);
    const HeadW weights = head_acquire(model, head, loss, &w, &g);

    head->loss(cx, sums, dx, x, &weights, &rows, &xent);
    head_release(model, head, loss);
    arena_reset(cx->scratch, mark);
}

void heads_loss(Model *model, const Ctx *cx, Tensor dx, Tensor x, const Batch *batch, const ModelLoss *loss)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor sums = arena_vector(cx->scratch, DT_F64, HEAD_COUNT * XENT_STATS, "sums");

    op_fill(cx->dev, sums, 0);
    if (loss->grad)
        op_fill(cx->dev, dx, 0);
    for (HeadId h = 0; h < HEAD_COUNT; h++)
        if (heads[h].present == NULL || heads[h].present(&model->config))
            run_loss(model, h, cx, tensor_slice_rows(sums, h * XENT_STATS, XENT_STATS), dx, x, batch, loss);
    op_total_add(cx->dev, model->sums, sums);
    arena_reset(cx->scratch, mark);
}

void heads_logits(Model *model, const Ctx *cx, float *logits, Tensor x)
{
    const ModelLoss forward = { 0 };
    ModelW w = { 0 }, g = { 0 };
    const HeadW weights = head_acquire(model, &heads[HEAD_TOKENS], &forward, &w, &g);

    head_logits(cx, logits, x, &weights);
    head_release(model, &heads[HEAD_TOKENS], &forward);
}

void heads_top(Model *model, const Ctx *cx, Tensor values, Tensor ids, Tensor log_sum, Tensor x)
{
    const ModelLoss forward = { 0 };
    ModelW w = { 0 }, g = { 0 };
    const HeadW weights = head_acquire(model, &heads[HEAD_TOKENS], &forward, &w, &g);

    head_top(cx, values, ids, log_sum, x, &weights);
    head_release(model, &heads[HEAD_TOKENS], &forward);
}

void heads_pool(Model *model, const Ctx *cx, Tensor pooled, Tensor x)
{
    size_t mark = arena_mark(cx->scratch);
    Tensor first = arena_tensor(cx->scratch, cx->precision.compute, pooled.d[0], x.d[1], "pooler.first");
    TransformSave unused;
    ModelW w = { 0 };

    params_acquire(model->params, BUCKET_POOLER, &w);
    op_gather(cx->dev, first, x, cx->tokens->starts);
    transform_fwd(cx, pooled, first, &w.pooler, ACT_TANH, &unused);
    params_release(model->params, BUCKET_POOLER);
    arena_reset(cx->scratch, mark);
}
