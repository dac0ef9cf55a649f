/* decoder.c: cached decoding. The encoder runs once over all prompts; a step runs one row a sequence through the
 * decoder's blocks, with the keys and values of earlier steps kept. */
#include "base/check.h"
#include "model/transformer.h"

#include <string.h>

struct Decoder {
    Model *model;
    Workspace work;
    Ctx cx;
    TokenStream inputs; /* the prompts */
    TokenStream rows;   /* a token a sequence; those of one prompt are its sequence here */
    int32_t t, max_tokens;
    BlockCache *caches; /* (n_dec) */
    Tensor spare;       /* the shape of one self-attention cache: reordered into, then exchanged with it */
    float *logits;      /* (sequences, V) */
};

static const ModelLoss forward = { 0 };

static TokenStream stream_new(int32_t n_rows, int32_t n_seq, const int32_t *cu)
{
    TokenStream stream = { .n_rows = n_rows, .n_used = n_rows, .n_seq = n_seq, .max_seq = n_seq };
    stream.ids = g_new0(int32_t, n_rows);
    stream.cu = g_memdup2(cu, (size_t)(n_seq + 1) * sizeof *cu);
    for (int32_t i = 0; i < n_seq; i++)
        stream.max_len = MAX(stream.max_len, cu[i + 1] - cu[i]);
    return stream;
}

/* Without memory for its tensors; the prompts are copied. */
static Decoder *decoder_new(Model *model, const Prompts *prompts, int32_t n_each, int32_t max_tokens)
{
    Decoder *d = g_new0(Decoder, 1);
    int32_t n_inputs = prompts->cu[prompts->n], n_rows = prompts->n * n_each;
    g_autofree int32_t *cu = g_new(int32_t, prompts->n + 1);

    for (int32_t i = 0; i <= prompts->n; i++)
        cu[i] = i * n_each;
    d->model = model;
    d->max_tokens = max_tokens;
    d->inputs = stream_new(n_inputs, prompts->n, prompts->cu);
    memcpy(d->inputs.ids, prompts->ids, (size_t)n_inputs * sizeof *prompts->ids);
    d->rows = stream_new(n_rows, prompts->n, cu);
    d->caches = g_new0(BlockCache, model->config.n_dec);
    d->logits = g_new0(float, n_rows * model->config.vocab);
    workspace_measure(&d->work);
    return d;
}

void decoder_close(Decoder *decoder)
{
    if (decoder == NULL)
        return;
    workspace_clear(&decoder->work, decoder->model->dev);
    g_free(decoder->inputs.ids);
    g_free(decoder->inputs.cu);
    g_free(decoder->rows.ids);
    g_free(decoder->rows.cu);
    g_free(decoder->caches);
    g_free(decoder->logits);
    g_free(decoder);
}

static AttentionCache self_cache(Decoder *d, int64_t width)
{
    Tensor kv =
        arena_tensor(&d->work.save, d->cx.dtype, (int64_t)d->rows.n_rows * d->max_tokens, 2 * width, "decoder.self");
    return (AttentionCache){ .kv = kv, .capacity = d->max_tokens };
}

/* Encodes the inputs and keeps what every block's cross-attention needs of them. */
static void begin(Decoder *d)
{
    Model *model = d->model;
    Ctx enc = stack_context(model, &d->work, &d->inputs, NULL, &forward);
    int64_t width = model->config.heads * model->config.head_dim;

    d->cx = stack_context(model, &d->work, &d->rows, &d->inputs, &forward);
    d->spare = self_cache(d, width).kv;
    for (int i = 0; i < model->decoder.n_blocks; i++) {
        d->caches[i].self = self_cache(d, width);
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

/* x (B,C) of the previous tokens, through the blocks, in place. */
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
    int64_t n = d->rows.n_rows;
    size_t save = arena_mark(&d->work.save), scratch = arena_mark(&d->work.scratch);
    Tensor x = arena_tensor(&d->work.scratch, d->cx.dtype, n, config->width, "decoder.x");
    Tensor y = arena_tensor(&d->work.scratch, d->cx.dtype, n, config->width, "decoder.y");
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
    head_logits(&d->cx, tensor_matrix(d->logits, DT_F32, n, config->vocab), y, &head);
    params_release(model->params, model_head_bucket(model));
    arena_reset(&d->work.save, save);
    arena_reset(&d->work.scratch, scratch);
    d->t++;
}

/* What the arenas need, up to the last step. */
static Workspace measure(const Model *model, const Prompts *prompts, int32_t n_each, int32_t max_tokens)
{
    Model *dry_model = model_open_dry(&model->config, model->dev->real, false);
    Decoder *dry = decoder_new(dry_model, prompts, n_each, max_tokens);

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

/* Keeps every count of rows in 32 bits. */
#define MOST_ROWS (1 << 20)

static bool check_request(const Model *model, const Prompts *prompts, int32_t n_each, int64_t max_tokens,
                          GError **error)
{
    const int64_t vocab = model->config.vocab;

    for (int32_t p = 0; p < prompts->n; p++) {
        int32_t n_inputs = prompts->cu[p + 1] - prompts->cu[p];
        if (n_inputs < 1 || n_inputs > MOST_ROWS || max_tokens < 1 || max_tokens > MOST_ROWS)
            return fail_user(error,
                             "decoding %d input tokens into at most %" G_GINT64_FORMAT ": both must be from 1 to %d",
                             n_inputs, max_tokens, MOST_ROWS);
        const int32_t *ids = prompts->ids + prompts->cu[p];
        for (int32_t i = 0; i < n_inputs; i++)
            if (ids[i] < 0 || ids[i] >= vocab)
                return fail_user(error, "input token %d has id %d; the model's ids are 0 to %" G_GINT64_FORMAT, i,
                                 ids[i], vocab - 1);
    }
    if ((int64_t)prompts->n * n_each > MOST_ROWS)
        return fail_user(error, "%d prompts with %d sequences each at once: at most %d in all", prompts->n, n_each,
                         MOST_ROWS);
    return true;
}

Decoder *decoder_open(Model *model, const Prompts *prompts, int32_t n_each, int64_t max_tokens, GError **error)
{
    CHECK(prompts->n >= 1 && n_each >= 1, "%d prompts, %d sequences each", prompts->n, n_each);
    if (!check_request(model, prompts, n_each, max_tokens, error))
        return NULL;
    Workspace measured = measure(model, prompts, n_each, (int32_t)max_tokens);
    Decoder *d = decoder_new(model, prompts, n_each, (int32_t)max_tokens);
    if (!workspace_reserve(&d->work, model->dev, &measured, error)) {
        decoder_close(d);
        return NULL;
    }
    begin(d);
    return d;
}

float *decoder_step(Decoder *decoder, const int32_t *tokens)
{
    CHECK(decoder->t < decoder->max_tokens, "step %d of a decoder for %d", decoder->t, decoder->max_tokens);
    memcpy(decoder->rows.ids, tokens, (size_t)decoder->rows.n_rows * sizeof *tokens);
    step(decoder);
    return decoder->logits;
}

void decoder_reorder(Decoder *decoder, const int32_t *from)
{
    int32_t n = decoder->rows.n_rows, n_each = n / decoder->rows.n_seq, moved = 0;

    for (int32_t r = 0; r < n; r++) {
        CHECK(from[r] / n_each == r / n_each && from[r] >= 0, "sequence %d goes on from %d of another prompt", r,
              from[r]);
        moved += from[r] != r;
    }
    for (int i = 0; moved && i < decoder->model->decoder.n_blocks; i++) {
        AttentionCache *cache = &decoder->caches[i].self;
        Tensor old = cache->kv;
        for (int64_t r = 0; r < n; r++)
            op_copy(decoder->cx.dev, tensor_slice_rows(decoder->spare, r * cache->capacity, cache->n),
                    tensor_slice_rows(old, (int64_t)from[r] * cache->capacity, cache->n));
        cache->kv = decoder->spare;
        decoder->spare = old;
    }
}
