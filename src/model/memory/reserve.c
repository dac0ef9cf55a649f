/* reserve.c: the memory and the FLOPs that a model needs, found by running it on the null device, which computes
 * nothing and counts everything. */
#include "base/check.h"
#include "model/decoder.h"
#include "model/transformer/transformer.h"

/* A batch filled to its capacity. If it has only one stream, target_share of its tokens have a target. */
static Batch *full_batch(int32_t samples, int32_t enc_len, int32_t dec_len, double target_share)
{
    Batch *batch = batch_new(samples, enc_len, dec_len);
    int32_t longest = MAX(enc_len, dec_len);
    g_autofree int32_t *ids = g_new0(int32_t, longest);
    g_autofree float *weights = g_new0(float, longest);
    for (int32_t i = 0; i < longest; i++)
        weights[i] = i < target_share * longest;
    for (int32_t i = 0; i < samples; i++) {
        const BatchSequence sequence = { .sample = i, .n = longest, .ids = ids, .targets = ids, .weights = weights };
        if (enc_len > 0 && dec_len > 0)
            batch_add(batch, i, ids, enc_len, ids, dec_len, 0);
        else
            batch_add_sequence(batch, &sequence);
    }
    return batch;
}

Batch *model_full_batch(int32_t samples, int32_t enc_len, int32_t dec_len)
{
    return full_batch(samples, enc_len, dec_len, 1);
}

/* PACKED_TEXTS: largest number of texts in one packed sequence; ANSWER_TOKENS: tokens in a batch of model_classify. */
enum { PACKED_TEXTS = 64, ANSWER_TOKENS = 4096 };

Batch *model_classifier_batch(int64_t length)
{
    return batch_new_packed((int32_t)MAX(ANSWER_TOKENS / length, 1), PACKED_TEXTS, (int32_t)length, 0);
}

/* Runs a batch filled to its capacity, which is empty afterwards. */
static void classify_full(Model *dry, Batch *batch)
{
    const TokenStream *stream = &batch->enc;
    g_autofree int32_t *ids = g_new0(int32_t, stream->max_len);
    g_autofree float *weights = g_new0(float, stream->max_len);
    const BatchSequence longest = { .n = stream->max_len, .ids = ids, .targets = ids, .weights = weights };
    const ModelLoss forward = { 0 };

    while (stream->n_seq < stream->max_seq && stream->n_tokens + stream->max_len <= stream->max_tokens)
        batch_add_sequence(batch, &longest);
    model_pass(dry, batch, &forward);
    batch_clear(batch);
}

void model_set_answers(Model *model, int32_t n, int32_t length, int32_t max_tokens)
{
    model->answers.n = n;
    model->answers.length = length;
    model->answers.max_tokens = max_tokens;
}

static bool measure_answers(const Model *model, Model *dry, GError **error)
{
    return decoder_measure(dry, model->answers.n, model->answers.length, model->answers.max_tokens, error) ||
           fail_context(error, "answers of up to %d tokens (data.target_length), which evaluations write",
                        model->answers.max_tokens);
}

bool model_reserve_by(Model *dry, Model *model, int32_t max_samples, int32_t enc_len, int32_t dec_len,
                      const ModelLoss *loss, size_t *bytes, GError **error)
{
    if (!model_config_fits(&model->config, MAX(enc_len + model->config.memory_tokens, dec_len), error))
        return false;
    g_autoptr(Batch) batch = model_full_batch(max_samples, enc_len, dec_len);
    const ModelLoss forward = { .divided = loss->divided };

    workspace_measure(&dry->work);
    dry->dev->gpu.scratch = 0;
    if (loss->grad)
        grads_begin(model_params(dry), 1);
    model_pass(dry, batch, loss);
    model_pass(dry, batch, &forward);                            /* held-out loss and logits, between steps */
    if (loss->grad && model->config.classifier != LABELS_NONE) { /* the evaluation between training steps */
        g_autoptr(Batch) texts = model_classifier_batch(MAX(enc_len, dec_len));
        classify_full(dry, texts);
    }
    bool ok = !loss->grad || model->answers.n == 0 || measure_answers(model, dry, error);
    if (bytes)
        *bytes = workspace_bytes(&model->work, &dry->work);
    model->dev->gpu.scratch = MAX(model->dev->gpu.scratch, dry->dev->gpu.scratch);
    return ok && workspace_reserve(&model->work, model->dev, &dry->work, error);
}

bool model_reserve(Model *model, int32_t max_samples, int32_t enc_len, int32_t dec_len, const ModelLoss *loss,
                   size_t *bytes, GError **error)
{
    Model *dry = model_open_dry(model, loss->grad);
    bool ok = model_reserve_by(dry, model, max_samples, enc_len, dec_len, loss, bytes, error);
    model_close_dry(dry, NULL);
    return ok;
}

bool model_reserve_encoder(Model *model, Batch *batch, GError **error)
{
    const TokenStream *rows = &batch->enc;
    g_autofree int32_t *ids = g_new0(int32_t, rows->max_len);
    g_autofree float *weights = g_new0(float, rows->max_len);
    float unused = 0;

    if (!model_config_fits(&model->config, rows->max_len + model->config.memory_tokens, error))
        return false;
    Model *dry = model_open_dry(model, false);
    while (rows->n_seq < rows->max_seq && rows->n_tokens < rows->max_tokens) {
        const int32_t left = rows->max_tokens - rows->n_tokens, texts = rows->max_seq - rows->n_seq;
        const BatchSequence text = { .n = (left + texts - 1) / texts, .ids = ids, .targets = ids, .weights = weights };
        batch_add_sequence(batch, &text);
    }
    model_encode(dry, batch, &unused, model->config.pooler ? &unused : NULL);
    bool ok = workspace_reserve(&model->work, model->dev, &dry->work, error);
    batch_clear(batch);
    model_close_dry(dry, model);
    return ok;
}

bool model_reserve_classifier(Model *model, Batch *batch, GError **error)
{
    if (!model_config_fits(&model->config, batch->enc.max_len, error))
        return false;
    Model *dry = model_open_dry(model, false);
    classify_full(dry, batch);
    bool ok = workspace_grow(&model->work, model->dev, &dry->work, error);
    model_close_dry(dry, model);
    return ok;
}

double model_step_flops(const ModelConfig *config, int32_t samples, int32_t enc_len, int32_t dec_len,
                        double target_share)
{
    Model *dry = model_open(device_open_null(), config, true, NULL);
    g_autoptr(Batch) batch = full_batch(samples, enc_len, dec_len, target_share);
    const ModelLoss loss = { .train = true, .grad = true };

    CHECK(dry != NULL, "a checked configuration was refused");
    grads_begin(model_params(dry), 1);
    model_pass(dry, batch, &loss);
    double flops = dry->dev->counts.flops;
    model_close_dry(dry, NULL);
    return flops;
}
