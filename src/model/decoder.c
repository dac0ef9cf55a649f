/* decoder.c: cached decoding. The encoder runs once over all prompts, or, where there is none, the decoder over all but
 * their last tokens (over all, in a prefix LM, whose prompts see their last token); a step runs one row a sequence
 * through the decoder's blocks, with the keys and values of what came before kept. */
#include "base/check.h"
#include "model/heads.h"
#include "model/row_moves.h"

#include <string.h>

struct Decoder {
    Model *model;
    Workspace work;
    StackPass pass;     /* of steps, whose rows are `rows` below */
    TokenStream inputs; /* the prompts; without an encoder, and prefix LM, each but its last token */
    TokenStream rows;   /* a token a sequence; those of one prompt are its sequence here */
    Tokens input_tokens;
    DecodeStep step;
    int32_t t, max_tokens, capacity;
    int32_t *first;       /* (sequences) rows of the caches that hold the prompt */
    int32_t *last;        /* (prompts) last token of each */
    int32_t *cu_q, *cu_k; /* (sequences + 1) of a step's queries, and of the keys that they see */
    int32_t *start;       /* (sequences) where its rows of the caches begin */
    int32_t *own;         /* (sequences) where a step's keys and values go */
    Tensor cu_k_device;
    BlockCache *caches; /* (n_dec) */
    float *logits;      /* (sequences, V) */
};

static const ModelLoss forward = { 0 };

/* The prompts, each without its last `left_out` tokens, behind n_memory placeholder tokens. */
static void inputs_init(TokenStream *inputs, const Prompts *prompts, int32_t left_out, int32_t n_memory)
{
    int32_t more = n_memory - left_out, longest = 0;
    for (int32_t p = 0; p < prompts->n; p++)
        longest = MAX(longest, prompts->cu[p + 1] - prompts->cu[p] + more);
    stream_init(inputs, prompts->cu[prompts->n] + prompts->n * more, prompts->n, longest);
    for (int32_t p = 0; p < prompts->n; p++) {
        int32_t n = prompts->cu[p + 1] - prompts->cu[p] - left_out, first = stream_add(inputs, p, 0, n + n_memory);
        memcpy(inputs->ids + first + n_memory, prompts->ids + prompts->cu[p], (size_t)n * sizeof *prompts->ids);
    }
}

/* Without memory for its tensors; the prompts are copied. */
static Decoder *decoder_new(Model *model, const Prompts *prompts, int32_t n_each, int32_t max_tokens)
{
    Decoder *d = g_new0(Decoder, 1);
    int32_t n_rows = prompts->n * n_each;
    bool encodes = model->config.n_enc > 0, prefixed = model->config.prefix_lm;

    d->model = model;
    d->max_tokens = max_tokens;
    inputs_init(&d->inputs, prompts, encodes || prefixed ? 0 : 1, (int32_t)model->config.memory_tokens);
    for (int32_t p = 0; prefixed && p < prompts->n; p++)
        d->inputs.prefix_length[p] = d->inputs.cu[p + 1] - d->inputs.cu[p];
    stream_init(&d->rows, n_rows, prompts->n, n_each);
    for (int32_t p = 0; p < prompts->n; p++)
        stream_add(&d->rows, p, 0, n_each);
    d->first = g_new0(int32_t, n_rows);
    d->last = g_new(int32_t, prompts->n);
    d->cu_q = g_new0(int32_t, n_rows + 1);
    d->cu_k = g_new0(int32_t, n_rows + 1);
    d->start = g_new0(int32_t, n_rows);
    d->own = g_new0(int32_t, n_rows);
    for (int32_t p = 0; p < prompts->n; p++)
        d->last[p] = prompts->ids[prompts->cu[p + 1] - 1];
    for (int32_t r = 0; !encodes && r < n_rows; r++)
        d->first[r] = prompts->cu[r / n_each + 1] - prompts->cu[r / n_each] - 1;
    d->capacity = max_tokens + (encodes ? 0 : d->inputs.max_len);
    for (int32_t r = 0; r < n_rows; r++) {
        d->cu_q[r + 1] = r + 1;
        d->start[r] = r * d->capacity;
    }
    d->caches = g_new0(BlockCache, model->config.n_dec);
    d->logits = g_new0(float, n_rows * model->config.vocab);
    workspace_init(&d->work, 1);
    return d;
}

void decoder_close(Decoder *decoder)
{
    if (decoder == NULL)
        return;
    workspace_clear(&decoder->work, decoder->model->dev);
    stream_free(&decoder->inputs);
    stream_free(&decoder->rows);
    g_free(decoder->first);
    g_free(decoder->last);
    g_free(decoder->cu_q);
    g_free(decoder->cu_k);
    g_free(decoder->start);
    g_free(decoder->own);
    g_free(decoder->caches);
    g_free(decoder->logits);
    g_free(decoder);
}

static AttentionCache self_cache(Decoder *d, int64_t width)
{
    Tensor kv = arena_tensor(d->work.save, d->pass.cx.precision.compute, (int64_t)d->rows.max_tokens * d->capacity,
                             2 * width, "decoder.self");
    return (AttentionCache){ kv };
}

/* Encodes the inputs and keeps what every block's cross-attention needs of them. */
static void encode(Decoder *d)
{
    Model *model = d->model;
    StackPass pass;

    stack_pass_init(&pass, &model->encoder);
    pass.tokens = d->input_tokens;
    stack_context(&model->encoder, &pass, d->work.save, &d->work.scratch, NULL, &forward);
    stack_begin(&model->encoder, &pass);
    Tensor encoder_output = stack_fwd(&model->encoder, &pass, &d->work.recompute, NO_TENSOR, &forward);
    for (BlockWalk walk = stack_walk(&model->decoder, &d->pass); stack_walk_next(&walk);)
        attention_cache_encoder(&walk.cx, &d->caches[walk.i].cross, encoder_output, &walk.w.cross);
    stack_pass_clear(&pass);
}

/* The rows of the inputs' keys and values that go into the cache of each sequence: its prompt's. */
static RowMoves prompt_moves(Decoder *d)
{
    int32_t n = d->rows.max_tokens, n_each = n / d->rows.n_seq;
    RowMoves moves = row_moves_new((int64_t)n * d->inputs.max_len);

    for (int32_t r = 0; r < n; r++)
        row_moves_add(&moves, d->inputs.cu[r / n_each], d->start[r], d->first[r]);
    row_moves_upload(&moves, d->model->dev, &d->work.scratch);
    return moves;
}

/* Runs the inputs through the decoder, with nothing before them, and keeps the keys and values of all but the last
 * token of a prompt, which the first step feeds. */
static void prefill(Decoder *d)
{
    Model *model = d->model;
    const Stack *stack = &model->decoder;
    StackPass pass = { .tokens = d->input_tokens };
    size_t scratch = arena_mark(&d->work.scratch);
    int32_t longest = d->inputs.max_len;
    RowMoves moves = prompt_moves(d);
    StackW w = { 0 };

    stack_context(stack, &pass, d->work.save, &d->work.scratch, NULL, &forward);
    Tensor x = arena_tensor(&d->work.scratch, pass.cx.precision.residual, d->inputs.max_tokens, model->config.width,
                            "decoder.x");
    params_acquire(model->params, stack->bucket, &w);
    stack_positions(stack, &pass, &w, 1 - longest, 2 * longest - 1, longest);
    stack_embed(stack, &pass, x, &w);
    params_release(model->params, stack->bucket);
    for (BlockWalk walk = stack_walk(stack, &pass); stack_walk_next(&walk);) {
        size_t mark = arena_mark(d->work.save);
        BlockSave kept;
        block_fwd(&walk.cx, x, x, NO_TENSOR, pass.bias, &walk.w, &kept);
        row_moves_make(&moves, model->dev, &d->work.scratch, d->caches[walk.i].self.kv, kept.self.p.kv);
        arena_reset(d->work.save, mark);
    }
    row_moves_free(&moves);
    arena_reset(&d->work.scratch, scratch);
}

/* What the device has to know of the sequences; a step changes some of it. */
static void upload_rows(Decoder *d)
{
    Device *dev = d->model->dev;
    Arena *save = d->work.save;
    int32_t n = d->rows.max_tokens;

    d->input_tokens = encoder_upload(d->model, save, &d->inputs);
    d->pass.tokens = tokens_upload(dev, save, &d->rows);
    d->cu_k_device = indices_upload(dev, save, d->cu_k, n + 1, n + 1, "decoder.cu_k");
    Tensor cu_q = indices_upload(dev, save, d->cu_q, n + 1, n + 1, "decoder.cu_q");
    Tensor start = indices_upload(dev, save, d->start, n, n, "decoder.start");
    d->step = (DecodeStep){
        .queries = { .n = n, .max_len = 1, .cu = both_sides(d->cu_q, cu_q) },
        .keys = { .n = n, .cu = both_sides(d->cu_k, d->cu_k_device), .first = both_sides(d->start, start) },
        .new_rows = indices_upload(dev, save, d->own, n, n, "decoder.own"),
        .capacity = d->capacity
    };
}

/* The same for the next step, of the tokens in d->rows. */
static void upload_step(Decoder *d)
{
    Device *dev = d->model->dev;

    d->step.keys.max_len = 0;
    for (int32_t r = 0; r < d->rows.max_tokens; r++) {
        int32_t before = d->first[r] + d->t;
        d->rows.position_ids[r] = before;
        d->own[r] = d->start[r] + before;
        d->cu_k[r + 1] = d->cu_k[r] + before + 1;
        d->step.keys.max_len = MAX(d->step.keys.max_len, before + 1);
    }
    tensor_upload(dev, d->pass.tokens.ids, d->rows.ids);
    tensor_upload(dev, d->pass.tokens.position_ids, d->rows.position_ids);
    tensor_upload(dev, d->step.new_rows, d->own);
    tensor_upload(dev, d->cu_k_device, d->cu_k);
}

static void begin(Decoder *d)
{
    Model *model = d->model;
    const Stack *stack = &model->decoder;
    bool encodes = model->config.n_enc > 0;
    int64_t width = model_config_kv_heads(&model->config) * model->config.head_dim;
    StackW w = { 0 };

    upload_rows(d);
    stack_context(stack, &d->pass, d->work.save, &d->work.scratch, &d->input_tokens, &forward);
    params_acquire(model->params, stack->bucket, &w);
    stack_positions(stack, &d->pass, &w, 1 - d->capacity, d->capacity, d->capacity);
    params_release(model->params, stack->bucket);
    for (int i = 0; i < model->config.n_dec; i++) {
        d->caches[i].self = self_cache(d, width);
        if (encodes)
            d->caches[i].cross.kv = arena_tensor(d->work.save, d->pass.cx.precision.compute, d->inputs.max_tokens,
                                                 2 * width, "decoder.cross");
    }
    size_t mark = arena_mark(d->work.save);
    if (encodes)
        encode(d);
    else if (d->inputs.max_tokens > 0)
        prefill(d);
    arena_reset(d->work.save, mark);
}

static void step(Decoder *d)
{
    Model *model = d->model;
    int64_t n = d->rows.max_tokens;
    size_t save = arena_mark(d->work.save), scratch = arena_mark(&d->work.scratch);
    Tensor x = arena_tensor(&d->work.scratch, d->pass.cx.precision.residual, n, model->config.width, "decoder.x");
    StackW stack = { 0 };
    NormSave norm;

    upload_step(d);
    params_acquire(model->params, BUCKET_DECODER, &stack);
    stack_embed(&model->decoder, &d->pass, x, &stack);
    for (BlockWalk walk = stack_walk(&model->decoder, &d->pass); stack_walk_next(&walk);)
        block_step(&walk.cx, x, x, d->pass.bias, &walk.w, &d->caches[walk.i], &d->step);
    Tensor y = stack_final_norm(&d->pass.cx, x, &stack, &norm);
    params_release(model->params, BUCKET_DECODER);
    heads_logits(model, &d->pass.cx, d->logits, y);
    arena_reset(d->work.save, save);
    arena_reset(&d->work.scratch, scratch);
    d->t++;
}

/* Gives the arenas what a dry run needs, up to the last step. */
static bool reserve(Decoder *d, const Prompts *prompts, int32_t n_each, GError **error)
{
    const Model *model = d->model;
    Model *dry_model = model_open_dry(model, false);
    Decoder *dry = decoder_new(dry_model, prompts, n_each, d->max_tokens);

    int32_t n = dry->rows.max_tokens;
    g_autofree int32_t *from = g_new(int32_t, n);
    for (int32_t r = 0; r < n; r++)
        from[r] = r / n_each * n_each + (r + 1) % n_each;
    begin(dry);
    dry->t = d->max_tokens - 1;
    step(dry);
    decoder_reorder(dry, from);
    bool ok = workspace_reserve(&d->work, model->dev, &dry->work, error);
    decoder_close(dry);
    model_close_dry(dry_model);
    return ok;
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
    if (model->config.n_dec == 0)
        return fail_user(error, "this model has no decoder: it generates nothing");
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
    for (int32_t p = 0; p < prompts->n; p++) {
        bool encodes = model->config.n_enc > 0;
        int64_t n_inputs = prompts->cu[p + 1] - prompts->cu[p] + model->config.memory_tokens;
        if (!model_config_fits(&model->config, encodes ? MAX(n_inputs, max_tokens) : n_inputs - 1 + max_tokens, error))
            return NULL;
    }
    Decoder *d = decoder_new(model, prompts, n_each, (int32_t)max_tokens);
    if (!reserve(d, prompts, n_each, error)) {
        decoder_close(d);
        return NULL;
    }
    begin(d);
    return d;
}

int32_t decoder_first_token(const Decoder *decoder, int32_t sequence, int32_t start)
{
    if (decoder->model->config.n_enc > 0)
        return start;
    return decoder->last[sequence / (decoder->rows.max_tokens / decoder->rows.n_seq)];
}

float *decoder_step(Decoder *decoder, const int32_t *tokens)
{
    CHECK(decoder->t < decoder->max_tokens, "step %d of a decoder for %d", decoder->t, decoder->max_tokens);
    memcpy(decoder->rows.ids, tokens, (size_t)decoder->rows.max_tokens * sizeof *tokens);
    step(decoder);
    return decoder->logits;
}

/* The rows of a prompt are the same in all its sequences. */
void decoder_reorder(Decoder *decoder, const int32_t *from)
{
    Model *model = decoder->model;
    Arena *scratch = &decoder->work.scratch;
    int32_t n = decoder->rows.max_tokens, n_each = n / decoder->rows.n_seq;
    size_t mark = arena_mark(scratch);
    RowMoves moves = row_moves_new((int64_t)n * decoder->t);

    for (int32_t r = 0; r < n; r++) {
        int32_t prompt = decoder->first[r];
        CHECK(from[r] / n_each == r / n_each && from[r] >= 0, "sequence %d goes on from %d of another prompt", r,
              from[r]);
        if (from[r] != r)
            row_moves_add(&moves, decoder->start[from[r]] + prompt, decoder->start[r] + prompt, decoder->t);
    }
    if (moves.n > 0)
        row_moves_upload(&moves, model->dev, scratch);
    for (int i = 0; moves.n > 0 && i < model->config.n_dec; i++)
        row_moves_make(&moves, model->dev, scratch, decoder->caches[i].self.kv, decoder->caches[i].self.kv);
    row_moves_free(&moves);
    arena_reset(scratch, mark);
}
