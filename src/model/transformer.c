#include "model/transformer.h"

#include "base/check.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>

enum { SUMS = 2 * XENT_STATS };

Model *model_open(Device *dev, const ModelConfig *config, bool gradients, GError **error)
{
    if (!model_config_check(config, error))
        return NULL;
    CHECK(config->vocab > 0, "a model with a vocabulary of %" PRId64, config->vocab);
    Model *model = g_new0(Model, 1);
    int n_specs;
    g_autofree ParamSpec *specs = model_param_specs(config, &n_specs);
    g_autofree int *uses = model_bucket_uses(config);

    model->dev = dev;
    model->config = model_config_copy(config);
    model->roles = token_roles_none();
    model->params = params_open(dev, specs, n_specs, uses, gradients);
    if (model->params == NULL) {
        g_autofree char *count = text_grouped(model_config_params(config));
        fail_machine(error, "no memory for %s parameters%s", count, gradients ? " and their gradients" : "");
        model_config_clear(&model->config);
        g_free(model);
        return NULL;
    }
    workspace_measure(&model->work);
    model->sums = tensor_vector(device_alloc(dev, SUMS * sizeof(double)), DT_F64, SUMS);
    bool ok = stack_init(&model->encoder, dev, config, false) && stack_init(&model->decoder, dev, config, true);
    if (!ok || model->sums.p == NULL) {
        fail_machine(error, "no memory for the layouts of attention");
        model_close(model);
        return NULL;
    }
    op_fill(dev, model->sums, 0);
    return model;
}

void model_close(Model *model)
{
    if (model == NULL)
        return;
    workspace_clear(&model->work, model->dev);
    stream_close(model->behind_memory);
    device_free(model->dev, model->sums.p);
    stack_clear(&model->encoder, model->dev);
    stack_clear(&model->decoder, model->dev);
    params_close(model->params);
    g_free(model->tokenizer_hash);
    model_config_clear(&model->config);
    token_roles_clear(&model->roles);
    g_free(model);
}

const ModelConfig *model_config(const Model *model)
{
    return &model->config;
}

ParamStore *model_params(Model *model)
{
    return model->params;
}

TokenRoles *model_roles(Model *model)
{
    return &model->roles;
}

const char *model_tokenizer_hash(const Model *model)
{
    return model->tokenizer_hash;
}

void model_set_tokenizer_hash(Model *model, const char *hash)
{
    g_free(model->tokenizer_hash);
    model->tokenizer_hash = g_strdup(hash);
}

void model_head_acquire(Model *model, ModelW *w)
{
    params_acquire(model->params, BUCKET_SHARED, w);
    params_acquire(model->params, BUCKET_LM_HEAD, w);
}

void model_head_release(Model *model)
{
    params_release(model->params, BUCKET_SHARED);
    params_release(model->params, BUCKET_LM_HEAD);
}

HeadW model_head(const Model *model, const ModelW *w, const ModelW *g)
{
    bool tied = model->config.tie_embeddings;
    return (HeadW){ .w = tied ? w->shared : w->lm_head,
                    .dw = tied ? g->shared : g->lm_head,
                    .b = w->head_bias,
                    .db = g->head_bias,
                    .transform = model->config.head_transform ? &w->transform : NULL,
                    .dtransform = model->config.head_transform ? &g->transform : NULL,
                    .scale = model->config.scale_logits ? 1 / sqrtf((float)model->config.width) : 1 };
}

/* A pass over a batch. Without an encoder memory is absent; without a decoder there is only the encoder's output. */
typedef struct Pass {
    Rows enc_rows, dec_rows;
    Ctx enc, dec;
    Ctx *last; /* of the stack that carries the loss */
    Tensor memory, x;
} Pass;

static void empty_arenas(Model *model)
{
    Workspace *work = &model->work;

    CHECK(work->save.base || !model->dev->computes, "model_reserve comes before the first batch");
    arena_reset(&work->save, 0);
    arena_reset(&work->scratch, 0);
    arena_reset(&work->recompute, 0);
}

/* What the encoder reads: the batch's stream, or that behind rows of memory, with room for n_seq times those. */
static const TokenStream *encoder_rows(Model *model, const TokenStream *enc, int32_t n_seq)
{
    int32_t n_memory = (int32_t)model->config.memory_tokens;
    TokenStream *kept = model->behind_memory;

    if (n_memory == 0)
        return enc;
    if (kept == NULL || kept->max_tokens != enc->max_tokens + n_memory * n_seq || kept->max_seq != enc->max_seq ||
        kept->max_len != enc->max_len + n_memory) {
        stream_close(kept);
        kept = model->behind_memory = stream_memory_new(enc, n_memory, n_seq);
    }
    stream_copy_behind_memory(kept, enc, n_memory);
    return kept;
}

Rows encoder_upload(Model *model, Workspace *work, const TokenStream *enc)
{
    Rows rows = rows_upload(model->dev, &work->save, enc);
    if (model->config.memory_tokens > 0)
        rows_upload_memory(&rows, model->dev, &work->save, (int32_t)model->config.memory_tokens);
    return rows;
}

/* Empties the arenas for a pass and runs the stacks forward. */
static void pass_fwd(Model *model, Pass *pass, const Batch *batch, const ModelLoss *loss)
{
    Workspace *work = &model->work;
    bool encodes = model->encoder.n_blocks > 0, decodes = model->decoder.n_blocks > 0;
    int32_t enc_len = batch->enc.max_len;
    const TokenStream *enc = encoder_rows(model, &batch->enc, enc_len ? batch->enc.max_tokens / enc_len : 0);

    CHECK(encodes == (batch->enc.max_tokens > 0) && decodes == (batch->dec.max_tokens > 0),
          "a batch of %d and %d rows for %d and %d blocks", batch->enc.max_tokens, batch->dec.max_tokens,
          model->encoder.n_blocks, model->decoder.n_blocks);
    empty_arenas(model);
    *pass = (Pass){ 0 };
    if (encodes)
        pass->enc_rows = encoder_upload(model, work, enc);
    if (decodes)
        pass->dec_rows = rows_upload(model->dev, &work->save, &batch->dec);
    pass->enc = stack_context(model, &model->encoder, work, &pass->enc_rows, NULL, loss);
    pass->dec = stack_context(model, &model->decoder, work, &pass->dec_rows, &pass->enc_rows, loss);
    pass->last = decodes ? &pass->dec : &pass->enc;
    if (encodes)
        pass->memory = pass->x = stack_fwd(model, &model->encoder, &pass->enc, work, NO_TENSOR, loss);
    if (decodes)
        pass->x = stack_fwd(model, &model->decoder, &pass->dec, work, pass->memory, loss);
}

/* From dx (N,C) of the last stack's output. */
static void pass_bwd(Model *model, Pass *pass, Tensor dx, const ModelLoss *loss)
{
    Workspace *work = &model->work;
    Tensor dmemory = NO_TENSOR;

    if (pass->last == &pass->enc) {
        stack_bwd(model, &model->encoder, &pass->enc, work, dx, NO_TENSOR, NO_TENSOR, loss);
        return;
    }
    if (tensor_present(pass->memory)) {
        dmemory = arena_tensor(&work->scratch, pass->enc.dtype, pass->memory.d[0], pass->memory.d[1], "dmemory");
        op_fill(model->dev, dmemory, 0);
    }
    stack_bwd(model, &model->decoder, &pass->dec, work, dx, pass->memory, dmemory, loss);
    if (tensor_present(pass->memory))
        stack_bwd(model, &model->encoder, &pass->enc, work, dmemory, NO_TENSOR, NO_TENSOR, loss);
}

/* The buckets of the head are first touched here, all of them: they take the same beta. */
static void head_gradients_acquire(Model *model, Ctx *cx, ModelW *g)
{
    cx->g_beta = grads_acquire(model->params, model->config.tie_embeddings ? BUCKET_SHARED : BUCKET_LM_HEAD, g);
    if (model->config.tie_embeddings)
        CHECK(grads_acquire(model->params, BUCKET_LM_HEAD, g) == cx->g_beta, "the head's buckets in step");
}

static void head_gradients_ready(Model *model)
{
    if (model->config.tie_embeddings)
        grads_ready(model->params, BUCKET_SHARED);
    grads_ready(model->params, BUCKET_LM_HEAD);
}

/* Σ of the statistics into sums (XENT_STATS) f64; with loss->grad dx (N,C) and the head's gradient. */
static void token_loss(Model *model, Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Batch *batch,
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
    model_head_acquire(model, &w);
    if (loss->grad)
        head_gradients_acquire(model, cx, &g);
    HeadW head = model_head(model, &w, &g);
    head_loss(cx, sums, dx, x, &head, rows, ids, weights, &xent);
    if (loss->grad)
        head_gradients_ready(model);
    model_head_release(model);
    arena_reset(cx->scratch, mark);
}

/* 1 for each sequence that has a label, else 0. */
static Tensor label_weights(Ctx *cx, const int32_t *labels, int64_t n)
{
    Tensor weights = arena_vector(cx->scratch, cx->dtype, n, "label.weights");
    g_autofree float *values = g_new(float, n);

    for (int64_t i = 0; i < n; i++)
        values[i] = labels[i] >= 0;
    tensor_write(cx->dev, weights, values, DT_F32);
    return weights;
}

/* The loss of the labels, whose gradient is added to dx. */
static void label_loss(Model *model, Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Batch *batch,
                       const ModelLoss *loss)
{
    XentSpec xent = { .scale = loss->grad ? (float)(1 / MAX(1, loss->n_labels)) : 0, .grad = loss->grad };
    ModelW w = { 0 }, g = { 0 };
    size_t mark = arena_mark(cx->scratch);
    int64_t n = cx->rows->n_seq;
    Tensor labels = indices_upload(cx->dev, cx->scratch, batch->labels, n, n, "labels");
    Tensor weights = label_weights(cx, batch->labels, n);

    params_acquire(model->params, BUCKET_POOLER, &w);
    if (loss->grad)
        cx->g_beta = grads_acquire(model->params, BUCKET_POOLER, &g);
    sentence_loss(cx, sums, dx, x, &w.pooler, &g.pooler, labels, weights, &xent);
    if (loss->grad)
        grads_ready(model->params, BUCKET_POOLER);
    params_release(model->params, BUCKET_POOLER);
    arena_reset(cx->scratch, mark);
}

void loss_sums_add(LossSums *sums, const LossSums *more)
{
    sums->loss += more->loss;
    sums->nll += more->nll;
    sums->correct += more->correct;
    sums->weight += more->weight;
    sums->label_nll += more->label_nll;
    sums->label_correct += more->label_correct;
    sums->label_weight += more->label_weight;
}

double loss_sums_label(const LossSums *sums)
{
    return sums->label_weight > 0 ? sums->label_nll / sums->label_weight : 0;
}

double loss_sums_label_accuracy(const LossSums *sums)
{
    return sums->label_weight > 0 ? sums->label_correct / sums->label_weight : 0;
}

static LossSums sums_of(const double *tokens, const double *labels)
{
    return (LossSums){ .loss = tokens[XENT_LOSS],
                       .nll = tokens[XENT_NLL],
                       .correct = tokens[XENT_CORRECT],
                       .weight = tokens[XENT_WEIGHT],
                       .label_nll = labels[XENT_NLL],
                       .label_correct = labels[XENT_CORRECT],
                       .label_weight = labels[XENT_WEIGHT] };
}

void model_pass(Model *model, const Batch *batch, const ModelLoss *loss)
{
    Workspace *work = &model->work;
    Pass pass;
    pass_fwd(model, &pass, batch, loss);
    Tensor x = pass.x, dx = NO_TENSOR, sums = arena_vector(&work->scratch, DT_F64, SUMS, "sums");
    Tensor tokens = tensor_slice_rows(sums, 0, XENT_STATS), labels = tensor_slice_rows(sums, XENT_STATS, XENT_STATS);

    if (loss->grad)
        dx = arena_tensor(&work->scratch, pass.last->dtype, x.d[0], x.d[1], "dx");
    op_fill(model->dev, labels, 0);
    token_loss(model, pass.last, tokens, dx, x, batch, loss);
    if (model->config.sentence_head)
        label_loss(model, pass.last, labels, dx, x, batch, loss);
    op_total_add(model->dev, model->sums, sums);
    if (loss->grad)
        pass_bwd(model, &pass, dx, loss);
}

void model_take_sums(Model *model, LossSums *sums)
{
    double found[SUMS] = { 0 };

    tensor_download(model->dev, found, model->sums);
    op_fill(model->dev, model->sums, 0);
    device_wait(model->dev, device_record(model->dev));
    const LossSums taken = sums_of(found, found + XENT_STATS);
    loss_sums_add(sums, &taken);
}

void model_loss(Model *model, const Batch *batch, const ModelLoss *loss, LossSums *sums)
{
    model_pass(model, batch, loss);
    model_take_sums(model, sums);
}

void model_logits(Model *model, const Batch *batch, float *logits)
{
    const ModelLoss forward = { 0 };
    Pass pass;
    ModelW w = { 0 }, none = { 0 };

    pass_fwd(model, &pass, batch, &forward);
    model_head_acquire(model, &w);
    HeadW head = model_head(model, &w, &none);
    head_logits(pass.last, logits, pass.x, &head);
    model_head_release(model);
}

/* The rows of x that are text, of a stream behind memory; else all. */
static void read_text(Ctx *cx, float *hidden, Tensor x)
{
    size_t mark = arena_mark(cx->scratch);

    if (tensor_present(cx->rows->text)) {
        Tensor all = arena_tensor(cx->scratch, cx->dtype, x.d[0], x.d[1], "text");
        Tensor text = tensor_slice_rows(all, 0, cx->rows->text.d[0]);
        op_gather(cx->dev, text, x, cx->rows->text);
        x = text;
    }
    tensor_read(cx->dev, hidden, DT_F32, x);
    arena_reset(cx->scratch, mark);
}

void model_encode(Model *model, const Batch *batch, float *hidden, float *pooled)
{
    const ModelLoss forward = { 0 };
    Workspace *work = &model->work;
    const TokenStream *enc = encoder_rows(model, &batch->enc, batch->enc.max_seq);
    ModelW w = { 0 };

    empty_arenas(model);
    Rows rows = encoder_upload(model, work, enc);
    Ctx cx = stack_context(model, &model->encoder, work, &rows, NULL, &forward);
    Tensor x = stack_fwd(model, &model->encoder, &cx, work, NO_TENSOR, &forward);
    read_text(&cx, hidden, x);
    if (pooled == NULL)
        return;
    Tensor y = arena_tensor(&work->scratch, cx.dtype, batch->enc.n_seq, x.d[1], "pooled");
    params_acquire(model->params, BUCKET_POOLER, &w);
    pooler_fwd(&cx, y, x, &w.pooler);
    params_release(model->params, BUCKET_POOLER);
    tensor_read(model->dev, pooled, DT_F32, y);
}
