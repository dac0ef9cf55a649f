#include "model/transformer.h"

#include "base/check.h"
#include "base/text.h"

#include <math.h>

Model *model_open(Device *dev, const ModelConfig *config, bool gradients, GError **error)
{
    if (!model_config_check(config, error))
        return NULL;
    CHECK(config->vocab > 0, "a model with a vocabulary of %ld", (long)config->vocab);
    Model *model = g_new0(Model, 1);
    int n_specs;
    g_autofree ParamSpec *specs = model_param_specs(config, &n_specs);

    model->dev = dev;
    model->config = *config;
    model->config.preset = g_strdup(config->preset);
    model->params = params_open(dev, specs, n_specs, gradients);
    if (model->params == NULL) {
        g_autofree char *count = text_grouped(model_config_params(config));
        fail_machine(error, "no memory for %s parameters%s", count, gradients ? " and their gradients" : "");
        g_free(model->config.preset);
        g_free(model);
        return NULL;
    }
    stack_init(&model->encoder, config, false);
    stack_init(&model->decoder, config, true);
    workspace_measure(&model->work);
    return model;
}

void model_close(Model *model)
{
    if (model == NULL)
        return;
    workspace_clear(&model->work, model->dev);
    stack_clear(&model->encoder);
    stack_clear(&model->decoder);
    params_close(model->params);
    g_free(model->config.preset);
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

int model_head_bucket(const Model *model)
{
    return model->config.tie_embeddings ? BUCKET_SHARED : BUCKET_LM_HEAD;
}

HeadW model_head(const Model *model, const ModelW *w, const ModelW *g)
{
    bool tied = model->config.tie_embeddings;
    return (HeadW){ .w = tied ? w->shared : w->lm_head,
                    .dw = tied ? g->shared : g->lm_head,
                    .scale = model->config.scale_logits ? 1 / sqrtf((float)model->config.width) : 1 };
}

/* Empties the arenas for a pass and runs both stacks forward; the decoder's output (N,C) comes back. */
static Tensor hidden_states(Model *model, Ctx *enc, Ctx *dec, Tensor *memory, const ModelLoss *loss)
{
    Workspace *work = &model->work;

    CHECK(work->save.base || !model->dev->computes, "model_reserve comes before the first batch");
    arena_reset(&work->save, 0);
    arena_reset(&work->scratch, 0);
    arena_reset(&work->recompute, 0);
    *memory = stack_fwd(model, &model->encoder, enc, work, NO_TENSOR, loss);
    return stack_fwd(model, &model->decoder, dec, work, *memory, loss);
}

/* Σ of the statistics into sums (XENT_STATS) f64; with loss->grad dx (N,C) and the head's gradient. */
static void loss_of(Model *model, Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Batch *batch, const ModelLoss *loss)
{
    XentSpec xent = { .label_smoothing = loss->label_smoothing,
                      .z_loss = loss->z_loss,
                      .scale = loss->grad ? (float)(1 / loss->n_targets) : 0,
                      .grad = loss->grad };
    int bucket = model_head_bucket(model);
    ModelW w = { 0 }, g = { 0 };

    CHECK(!loss->grad || loss->n_targets > 0, "gradient of a mean over %g targets", loss->n_targets);
    params_acquire(model->params, bucket, &w);
    if (loss->grad)
        cx->g_beta = grads_acquire(model->params, bucket, &g);
    HeadW head = model_head(model, &w, &g);
    head_loss(cx, sums, dx, x, &head, tensor_vector(batch->targets, DT_I32, batch->dec.n_rows),
              tensor_vector(batch->weights, DT_F32, batch->dec.n_rows), &xent);
    if (loss->grad)
        grads_ready(model->params, bucket);
    params_release(model->params, bucket);
}

static void add_sums(LossSums *sums, const double *batch)
{
    sums->loss += batch[XENT_LOSS];
    sums->nll += batch[XENT_NLL];
    sums->correct += batch[XENT_CORRECT];
    sums->weight += batch[XENT_WEIGHT];
}

void model_loss(Model *model, const Batch *batch, const ModelLoss *loss, LossSums *sums)
{
    Workspace *work = &model->work;
    Ctx enc = stack_context(model, work, &batch->enc, NULL, loss);
    Ctx dec = stack_context(model, work, &batch->dec, &batch->enc, loss);
    Tensor memory, x = hidden_states(model, &enc, &dec, &memory, loss);
    Tensor dx = NO_TENSOR, batch_sums = arena_vector(&work->scratch, DT_F64, XENT_STATS, "sums");

    if (loss->grad)
        dx = arena_tensor(&work->scratch, dec.dtype, x.d[0], x.d[1], "dx");
    loss_of(model, &dec, batch_sums, dx, x, batch, loss);
    if (loss->grad) {
        Tensor dmemory = arena_tensor(&work->scratch, enc.dtype, memory.d[0], memory.d[1], "dmemory");
        op_fill(model->dev, dmemory, 0);
        stack_bwd(model, &model->decoder, &dec, work, dx, memory, dmemory, loss);
        stack_bwd(model, &model->encoder, &enc, work, dmemory, NO_TENSOR, NO_TENSOR, loss);
    }
    if (model->dev->computes)
        add_sums(sums, batch_sums.p);
}

void model_logits(Model *model, const Batch *batch, float *logits)
{
    const ModelLoss forward = { 0 };
    Ctx enc = stack_context(model, &model->work, &batch->enc, NULL, &forward);
    Ctx dec = stack_context(model, &model->work, &batch->dec, &batch->enc, &forward);
    Tensor memory, x = hidden_states(model, &enc, &dec, &memory, &forward);
    ModelW w = { 0 }, none = { 0 };

    params_acquire(model->params, model_head_bucket(model), &w);
    HeadW head = model_head(model, &w, &none);
    head_logits(&dec, tensor_matrix(logits, DT_F32, x.d[0], model->config.vocab), x, &head);
    params_release(model->params, model_head_bucket(model));
}
