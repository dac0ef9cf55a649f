/* decoder.c: cached decoding of one sequence. The encoder runs once; a step runs one row through the decoder's blocks,
 * with the keys and values of earlier steps kept. */
#include "base/check.h"
#include "model/transformer.h"

struct Decoder {
    Model *model;
    Workspace work;
    Ctx cx;
    TokenStream inputs; /* one sequence */
    TokenStream row;    /* one token */
    int32_t cu[2];      /* of inputs */
    int32_t token;      /* the id of row */
    int32_t t, max_tokens;
    BlockCache *caches; /* (n_dec) */
    float *logits;      /* (V) */
};

static const ModelLoss forward = { 0 };

/* Without memory for its tensors; inputs are copied. */
static Decoder *decoder_new(Model *model, const int32_t *inputs, int32_t n_inputs, int32_t max_tokens)
{
    Decoder *d = g_new0(Decoder, 1);
    d->model = model;
    d->max_tokens = max_tokens;
    d->cu[1] = n_inputs;
    d->inputs = (TokenStream){ .n_rows = n_inputs,
                               .n_used = n_inputs,
                               .n_seq = 1,
                               .max_seq = 1,
                               .max_len = n_inputs,
                               .ids = g_memdup2(inputs, (size_t)n_inputs * sizeof *inputs),
                               .cu = d->cu };
    d->row = (TokenStream){ .n_rows = 1, .n_used = 1, .n_seq = 1, .max_seq = 1, .max_len = 1, .ids = &d->token };
    d->caches = g_new0(BlockCache, model->config.n_dec);
    d->logits = g_new0(float, model->config.vocab);
    workspace_measure(&d->work);
    return d;
}

void decoder_close(Decoder *decoder)
{
    if (decoder == NULL)
        return;
    workspace_clear(&decoder->work, decoder->model->dev);
    g_free(decoder->inputs.ids);
    g_free(decoder->caches);
    g_free(decoder->logits);
    g_free(decoder);
}

/* Encodes the inputs and keeps what every block's cross-attention needs of them. */
static void begin(Decoder *d)
{
    Model *model = d->model;
    Ctx enc = stack_context(model, &d->work, &d->inputs, NULL, &forward);
    int64_t width = model->config.heads * model->config.head_dim;

    d->cx = stack_context(model, &d->work, &d->row, &d->inputs, &forward);
    for (int i = 0; i < model->decoder.n_blocks; i++) {
        d->caches[i].self.kv = arena_tensor(&d->work.save, d->cx.dtype, d->max_tokens, 2 * width, "decoder.self");
        d->caches[i].cross.kv = arena_tensor(&d->work.save, d->cx.dtype, d->inputs.n_rows, 2 * width, "decoder.cross");
    }
    size_t mark = arena_mark(&d->work.save);
    Tensor memory = stack_fwd(model, &model->encoder, &enc, &d->work, NO_TENSOR, &forward);
    for (int i = 0; i < model->decoder.n_blocks; i++) {
        BlockW w = { 0 };
        params_acquire(model->params, model->decoder.first_block + i, &w);
        attention_remember(&d->cx, &d->caches[i].cross, memory, &w.cross);
        params_release(model->params, model->decoder.first_block + i);
    }
    arena_reset(&d->work.save, mark);
}

/* x (1,C) of the previous token, through the blocks, in place. */
static void run_blocks(Decoder *d, Tensor x, Tensor bias)
{
    Model *model = d->model;
    ModelW embedding = { 0 };

    params_acquire(model->params, BUCKET_SHARED, &embedding);
    embed_fwd(&d->cx, x, embedding.shared);
    params_release(model->params, BUCKET_SHARED);
    for (int i = 0; i < model->decoder.n_blocks; i++) {
        BlockW w = { 0 };
        d->cx.layer = i;
        params_acquire(model->params, model->decoder.first_block + i, &w);
        block_step(&d->cx, x, x, bias, &w, &d->caches[i]);
        params_release(model->params, model->decoder.first_block + i);
    }
}

static void step(Decoder *d)
{
    Model *model = d->model;
    const ModelConfig *config = &model->config;
    size_t save = arena_mark(&d->work.save), scratch = arena_mark(&d->work.scratch);
    Tensor x = arena_tensor(&d->work.scratch, d->cx.dtype, 1, config->width, "decoder.x");
    Tensor y = arena_tensor(&d->work.scratch, d->cx.dtype, 1, config->width, "decoder.y");
    Tensor bias = arena_tensor(&d->work.scratch, d->cx.dtype, config->heads, d->t + 1, "decoder.bias");
    RelposSpec relpos = stack_relpos(model, true, -d->t); /* the query stands at t: key 0 is t tokens back */
    StackW stack = { 0 };
    ModelW w = { 0 }, none = { 0 };
    NormSave unused;

    params_acquire(model->params, BUCKET_DECODER, &stack);
    op_relpos_fwd(model->dev, bias, stack.relpos, &relpos);
    run_blocks(d, x, bias);
    norm_fwd(&d->cx, y, x, stack.final_norm, &unused);
    params_release(model->params, BUCKET_DECODER);
    params_acquire(model->params, model_head_bucket(model), &w);
    HeadW head = model_head(model, &w, &none);
    head_logits(&d->cx, tensor_matrix(d->logits, DT_F32, 1, config->vocab), y, &head);
    params_release(model->params, model_head_bucket(model));
    arena_reset(&d->work.save, save);
    arena_reset(&d->work.scratch, scratch);
    d->t++;
}

/* What the arenas need, up to the last step. */
static Workspace measure(const Model *model, const int32_t *inputs, int32_t n_inputs, int32_t max_tokens)
{
    Model *dry_model = model_open_dry(&model->config, model->dev->real, false);
    Decoder *dry = decoder_new(dry_model, inputs, n_inputs, max_tokens);

    begin(dry);
    dry->t = max_tokens - 1;
    for (int i = 0; i < dry_model->decoder.n_blocks; i++)
        dry->caches[i].self.n = dry->t;
    step(dry);
    Workspace work = dry->work;
    decoder_close(dry);
    model_close_dry(dry_model);
    return work;
}

static bool check_request(const Model *model, const int32_t *inputs, int64_t n_inputs, int64_t max_tokens,
                          GError **error)
{
    const int64_t most = 1 << 20, vocab = model->config.vocab;

    if (n_inputs < 1 || n_inputs > most || max_tokens < 1 || max_tokens > most)
        return fail_user(error,
                         "decoding %" G_GINT64_FORMAT " input tokens into at most %" G_GINT64_FORMAT
                         ": both must be from 1 to %" G_GINT64_FORMAT,
                         n_inputs, max_tokens, most);
    for (int64_t i = 0; i < n_inputs; i++)
        if (inputs[i] < 0 || inputs[i] >= vocab)
            return fail_user(error,
                             "input token %" G_GINT64_FORMAT " has id %d; the model's ids are 0 to %" G_GINT64_FORMAT,
                             i, inputs[i], vocab - 1);
    return true;
}

Decoder *decoder_open(Model *model, const int32_t *inputs, int64_t n_inputs, int64_t max_tokens, GError **error)
{
    if (!check_request(model, inputs, n_inputs, max_tokens, error))
        return NULL;
    Workspace measured = measure(model, inputs, (int32_t)n_inputs, (int32_t)max_tokens);
    Decoder *d = decoder_new(model, inputs, (int32_t)n_inputs, (int32_t)max_tokens);
    if (!workspace_reserve(&d->work, model->dev, &measured, error)) {
        decoder_close(d);
        return NULL;
    }
    begin(d);
    return d;
}

const float *decoder_step(Decoder *decoder, int32_t token)
{
    CHECK(decoder->t < decoder->max_tokens, "step %d of a decoder for %d", decoder->t, decoder->max_tokens);
    decoder->token = token;
    step(decoder);
    return decoder->logits;
}
