/* heads.c: the output heads of a model: their losses, and the logits of tokens. */
#include "model/heads/heads.h"

#include "base/check.h"
#include "model/heads/classifier.h"
#include "model/transformer/transformer.h"

/* A head as data: the rows it predicts, its classes, and the names of its metrics. */
typedef struct Head {
    HeadNames names;
    int bucket;      /* bucket of its parameters */
    bool vocabulary; /* classes are the vocabulary: the projection may be the tied embedding, the loss has z-loss */
    unsigned kinds;  /* bits 1 << LabelKind of the classifiers that have the head; 0: if model.sentence_head */
    /* The sum of the weights of the rows with a target, in a model that has the head. */
    double (*count)(const ModelLoss *loss, const ModelConfig *config, const Batch *batch);
    HeadW (*weights)(const ModelConfig *config, const ModelW *w, const ModelW *g);
    HeadRows (*rows)(const Ctx *cx,
                     const Batch *batch); /* the rows for head_loss; NULL means that the head uses classifier_loss */
} Head;

static double tokens_count(G_GNUC_UNUSED const ModelLoss *loss, G_GNUC_UNUSED const ModelConfig *config,
                           const Batch *batch)
{
    return (double)batch->n_targets;
}

/* n tokens of the vocabulary as HeadRows.targets. */
static Tensor targets_upload(const Ctx *cx, const int32_t *ids, int64_t n)
{
    int rank = tensor_parallel_rank(cx->tp);
    int64_t first = head_first_token(cx, rank), end = head_first_token(cx, rank + 1);
    g_autofree int32_t *own = NULL;

    if (ids && tensor_parallel_size(cx->tp) > 1) {
        own = g_new(int32_t, n);
        for (int64_t i = 0; i < n; i++)
            own[i] = ids[i] >= first && ids[i] < end ? (int32_t)(ids[i] - first) : -1;
    }
    return indices_upload(cx->dev, cx->scratch, own ? own : ids, n, n, "target.ids");
}

/* Number of target tokens before row `end` of the stream. */
static int64_t targets_before(const Batch *batch, int64_t end)
{
    int64_t n = batch->n_targets;
    while (n > 0 && batch->target_indices[n - 1] >= end)
        n--;
    return n;
}

static HeadRows target_rows(const Ctx *cx, const int32_t *rows_of, const int32_t *ids, int64_t n)
{
    return (HeadRows){ .rows = indices_upload(cx->dev, cx->scratch, rows_of, n, n, "target.rows"),
                       .targets = targets_upload(cx, ids, n),
                       .weights = arena_vector(cx->scratch, precision_statistic(cx->precision), n, "target.weights") };
}

/* The rows of the language-model head: tokens with a target among this rank's rows. Without any, one row of weight 0,
 * because the gradients must be written anyway. */
static HeadRows tokens_rows(const Ctx *cx, const Batch *batch)
{
    const int32_t first_row = cx->tokens->first;
    const int64_t first = targets_before(batch, first_row),
                  found = targets_before(batch, first_row + cx->tokens->n) - first, n = MAX(found, 1);
    g_autofree int32_t *rows_of = NULL, *ids = NULL;
    if (cx->tokens->n < cx->tokens->all) {
        rows_of = g_new0(int32_t, n);
        ids = g_new0(int32_t, n);
    }
    for (int64_t i = 0; rows_of && i < found; i++) {
        rows_of[i] = batch->target_indices[first + i] - first_row;
        ids[i] = batch->target_ids[first + i];
    }
    HeadRows rows = target_rows(cx, rows_of ? rows_of : batch->target_indices, ids ? ids : batch->target_ids, n);
    op_fill(cx->dev, rows.weights, found > 0);
    return rows;
}

static HeadW tokens_weights(const ModelConfig *config, const ModelW *w, const ModelW *g)
{
    bool tied = config->tie_embeddings;
    return (HeadW){ .w = tied ? w->shared : w->lm_head,
                    .dw = tied ? g->shared : g->lm_head,
                    .b = w->head_bias,
                    .db = g->head_bias,
                    .vocabulary = true,
                    .transform = config->head_transform ? &w->transform : NULL,
                    .dtransform = config->head_transform ? &g->transform : NULL,
                    .activation = model_config_head_activation(config),
                    .scale = config->scale_logits ? 1 / sqrtf((float)config->width) : 1 };
}

static double pairs_count(G_GNUC_UNUSED const ModelLoss *loss, G_GNUC_UNUSED const ModelConfig *config,
                          const Batch *batch)
{
    double n = 0;
    for (int32_t i = 0; i < batch_loss_stream(batch)->n_seq; i++)
        n += batch->labels[i] >= 0;
    return n;
}

/* Labels and weights (n) of the sentence-pair head, for `rows`. */
static HeadRows pair_rows(const Ctx *cx, Tensor rows, const int32_t *labels, const float *weights, int64_t n)
{
    HeadRows head = { .rows = rows,
                      .targets = indices_upload(cx->dev, cx->scratch, labels, n, n, "labels"),
                      .weights = arena_vector(cx->scratch, precision_statistic(cx->precision), n, "label.weights") };
    tensor_write(cx->dev, head.weights, weights, DT_F32);
    return head;
}

/* The rows of the sentence-pair head: the first token of each sequence that begins among this rank's rows. Without any,
 * one row of weight 0, as in tokens_rows. */
static HeadRows pairs_rows(const Ctx *cx, const Batch *batch)
{
    const Tokens *tokens = cx->tokens;
    const int64_t room = MAX(tokens->seq.n, 1);
    if (tokens->n == tokens->all)
        return pair_rows(cx, tokens->starts, batch->labels, batch->label_weights, tokens->seq.n);
    g_autofree int32_t *rows_of = g_new0(int32_t, room), *labels = g_new0(int32_t, room);
    g_autofree float *weights = g_new0(float, room);
    int64_t found = 0;
    for (int32_t s = 0; s < tokens->seq.n; s++) {
        const int32_t row = tokens->seq.cu.host[s] - tokens->first;
        if (row < 0 || row >= tokens->n)
            continue;
        rows_of[found] = row;
        labels[found] = batch->labels[s];
        weights[found++] = batch->label_weights[s];
    }
    const int64_t n = MAX(found, 1);
    return pair_rows(cx, indices_upload(cx->dev, cx->scratch, rows_of, n, n, "label.rows"), labels, weights, n);
}

static HeadW pairs_weights(G_GNUC_UNUSED const ModelConfig *config, const ModelW *w, const ModelW *g)
{
    return (HeadW){ .w = w->sentence.w,
                    .dw = g->sentence.w,
                    .b = w->sentence.b,
                    .db = g->sentence.b,
                    .transform = &w->pooler,
                    .dtransform = &g->pooler,
                    .activation = ACT_TANH,
                    .scale = 1 };
}

/* ---- the classifier of a fine-tuned encoder ---- */

static double classes_count(const ModelLoss *loss, const ModelConfig *config, const Batch *batch)
{
    return classifier_count((LabelKind)config->classifier, loss->class_weights, batch);
}

static HeadW classifier_weights(const ModelConfig *config, const ModelW *w, const ModelW *g)
{
    bool dense = config->pooler || config->classifier_dense;
    const TransformW *own[] = { &w->classifier_dense, &g->classifier_dense };
    const TransformW *pooler[] = { &w->pooler, &g->pooler }, *transform[] = { &w->transform, &g->transform };
    const TransformW *const *layer = config->pooler             ? pooler
                                     : config->classifier_dense ? own
                                     : config->head_transform   ? transform
                                                                : NULL;
    return (HeadW){ .w = w->classifier.w,
                    .dw = g->classifier.w,
                    .b = w->classifier.b,
                    .db = g->classifier.b,
                    .transform = layer ? layer[0] : NULL,
                    .dtransform = layer ? layer[1] : NULL,
                    .activation = dense ? ACT_TANH : model_config_head_activation(config),
                    .scale = 1 };
}

static Classifier classifier_of(const ModelConfig *config, const HeadW *weights, const ModelLoss *loss)
{
    float rate = (float)model_config_classifier_dropout(config);
    return (Classifier){ .kind = (LabelKind)config->classifier,
                         .last = model_config_shifts(config),
                         .head = weights,
                         .dropout_in = config->classifier_dense ? rate : 0,
                         .dropout = rate,
                         .class_weights = loss->class_weights };
}

static const Head heads[HEAD_COUNT] = {
    [HEAD_TOKENS] = { .names = { "token", "loss_mlm", "accuracy", "target tokens" },
                      .bucket = BUCKET_LM_HEAD,
                      .kinds = 1 << LABELS_NONE,
                      .vocabulary = true,
                      .count = tokens_count,
                      .rows = tokens_rows,
                      .weights = tokens_weights },
    [HEAD_LABELS] = { .names = { "label", "loss_label", "accuracy_label", "sequences" },
                      .bucket = BUCKET_POOLER,
                      .count = pairs_count,
                      .rows = pairs_rows,
                      .weights = pairs_weights },
    [HEAD_CLASSES] = { .names = { "class", "loss_class", "accuracy_class", "labels" },
                       .bucket = BUCKET_POOLER,
                       .kinds = 1 << LABELS_SEQUENCE | 1 << LABELS_TOKENS | 1 << LABELS_SPAN | 1 << LABELS_CHOICE,
                       .count = classes_count,
                       .weights = classifier_weights },
    [HEAD_VALUE] = { .names = { "value", "loss_value", NULL, "values" },
                     .bucket = BUCKET_POOLER,
                     .kinds = 1 << LABELS_VALUE,
                     .count = classes_count,
                     .weights = classifier_weights },
};

static bool has_head(const ModelConfig *config, HeadId head)
{
    return heads[head].kinds ? heads[head].kinds >> config->classifier & 1 : config->sentence_head;
}

const HeadNames *loss_names(HeadId head)
{
    return &heads[head].names;
}

void loss_count(ModelLoss *loss, const ModelConfig *config, const Batch *batch)
{
    for (int h = 0; h < HEAD_COUNT; h++)
        if (has_head(config, (HeadId)h))
            loss->n_targets[h] += heads[h].count(loss, config, batch);
}

/* The buckets of a head's parameters: its own, preceded by the bucket of the embedding if tied, or of the transform
 * that a classifier reads. Returns their number. */
static int head_buckets(const ModelConfig *config, const Head *head, int buckets[2])
{
    bool tied = head->vocabulary && config->tie_embeddings;
    bool transform = head->rows == NULL && config->head_transform, two = tied || transform;
    buckets[0] = tied ? BUCKET_SHARED : BUCKET_LM_HEAD;
    buckets[two] = head->bucket;
    return 1 + two;
}

bool loss_reaches(const ModelLoss *loss, const ModelConfig *config, int bucket)
{
    for (HeadId h = 0; h < HEAD_COUNT; h++) {
        int buckets[2], n = head_buckets(config, &heads[h], buckets);
        if (has_head(config, h) && loss->n_targets[h] > 0 && (buckets[0] == bucket || buckets[n - 1] == bucket))
            return true;
    }
    return false;
}

/* The weights of a head and, with loss->grad, its gradients: views into *w and *g, which are zeroed first. This is the
 * first use of the head's buckets in backward, so they have the same beta. */
static HeadW head_acquire(Model *model, const Head *head, const ModelLoss *loss, ModelW *w, ModelW *g)
{
    float beta = 0;
    int buckets[2], n = head_buckets(&model->config, head, buckets);

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
    int buckets[2], n = head_buckets(&model->config, head, buckets);

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
    const bool smooth =
        head->vocabulary || (id == HEAD_CLASSES && labels_have_names((LabelKind)model->config.classifier));
    const XentSpec xent = { .label_smoothing = smooth ? loss->label_smoothing : 0,
                            .z_loss = head->vocabulary ? loss->z_loss : 0,
                            .scale = loss->grad
                                         ? (float)(loss_scale / (loss->n_targets[id] > 0 ? loss->n_targets[id] : 1))
                                         : 0,
                            .grad = loss->grad };
    size_t mark = arena_mark(cx->scratch);
    ModelW w = { 0 }, g = { 0 };
    const HeadRows rows = head->rows ? head->rows(cx, batch) : (HeadRows){ 0 };
    HeadW weights = head_acquire(model, head, loss, &w, &g);
    const Classifier classifier = classifier_of(&model->config, &weights, loss);

    weights.n_ids = loss->of_ids && id == HEAD_TOKENS ? model->roles.n_ids : 0;
    if (head->rows)
        head_loss(cx, sums, dx, x, &weights, &rows, &xent);
    else
        classifier_loss(cx, sums, dx, x, &classifier, batch, &xent);
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
    if (loss->class_weights && cx->dev->computes)
        model->class_rows += classifier_count((LabelKind)model->config.classifier, NULL, batch);
    for (HeadId h = 0; h < HEAD_COUNT; h++)
        if (has_head(&model->config, h))
            run_loss(model, h, cx, tensor_slice_rows(sums, h * XENT_STATS, XENT_STATS), dx, x, batch, loss);
    op_total_add(cx->dev, model->sums, sums);
    arena_reset(cx->scratch, mark);
}

void heads_logits(Model *model, const Ctx *cx, float *logits, Tensor x)
{
    const ModelLoss forward = { 0 };
    ModelW w = { 0 }, g = { 0 };
    HeadW weights = head_acquire(model, &heads[HEAD_TOKENS], &forward, &w, &g);

    weights.n_ids = model->roles.n_ids;
    head_logits(cx, logits, x, &weights);
    head_release(model, &heads[HEAD_TOKENS], &forward);
}

void heads_classify(Model *model, const Ctx *cx, float *logits, Tensor x, const Batch *batch)
{
    const ModelLoss forward = { 0 };
    const Head *head = &heads[HEAD_CLASSES]; /* HEAD_VALUE has the same weights */
    size_t mark = arena_mark(cx->scratch);
    ModelW w = { 0 }, g = { 0 };
    const HeadW weights = head_acquire(model, head, &forward, &w, &g);
    const Classifier classifier = classifier_of(&model->config, &weights, &forward);

    classifier_logits(cx, logits, x, &classifier, batch);
    head_release(model, head, &forward);
    arena_reset(cx->scratch, mark);
}

void heads_top(Model *model, const Ctx *cx, Tensor values, Tensor ids, Tensor log_sum, Tensor x)
{
    const ModelLoss forward = { 0 };
    ModelW w = { 0 }, g = { 0 };
    HeadW weights = head_acquire(model, &heads[HEAD_TOKENS], &forward, &w, &g);

    weights.n_ids = model->roles.n_ids;
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
