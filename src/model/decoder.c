/* decoder.c: the encoder runs once over all prompts. In a decoder-only model the decoder runs once over all tokens of
 * the prompts except the last of each (in a prefix LM over all of them, since a prompt's tokens also attend to its last
 * one). Each step then runs one token per sequence through the decoder's blocks, which cache the keys and values of
 * earlier tokens. In a pipeline each goes through one stage after another, and all get what the last finds. */
#include "model/decoder.h"
#include "base/check.h"
#include "model/heads/heads.h"
#include "model/transformer/transformer.h"

#include <string.h>

/* R: sequences, P: prompts. The cache of a block has `capacity` rows per sequence: in a decoder-only model first those
 * of its prompt, then one per step. */
struct Decoder {
    Model *model;
    Workspace *work;     /* the model's workspace; the arenas of slot 0 belong to the decoder while it is open */
    StackPass pass;      /* the pass of a step, over step_stream */
    TokenStream prompts; /* the prompts' tokens, for the encoder; or, except the last token of each, for the decoder */
    TokenStream
        step_stream; /* R tokens, one per sequence; cross-attention takes all tokens of one prompt as one sequence */
    Tokens prompt_tokens;
    DecodeStep step;
    bool repeats;          /* steps_repeat */
    int32_t t, max_tokens; /* number of steps so far; limit */
    int32_t capacity;
    int32_t *prompt_rows; /* (R) rows of the cache that hold the prompt */
    int32_t *cu_q, *cu_k; /* (R + 1) cumulative lengths of a step's queries, one per sequence, and of their keys */
    int32_t *first_row;   /* (R) first row of the cache */
    int32_t *new_rows;    /* (R) row of the cache for this step's keys and values */
    Tensor cu_k_device;
    BlockCache *caches; /* (n_dec) absent for blocks of other ranks */
    float *logits;      /* (R,V) */
    int32_t *top_ids;   /* (R, most_top) */
    float *top_logits;  /* (R, most_top) */
    double *log_sums;   /* (R) */
};

static const ModelLoss forward = { 0 };

static int32_t most_top(const Decoder *d)
{
    return (int32_t)MIN(d->model->config.vocab, DECODER_TOP * (d->step_stream.max_tokens / d->step_stream.n_seq));
}

/* ---- copies of rows: fill and reorder the caches ---- */

/* A list of row copies from one tensor to another, done by one gather and one scatter. */
typedef struct RowMoves {
    int32_t n, *from, *to; /* row indices, in host memory */
    Tensor device_from, device_to;
} RowMoves;

static RowMoves moves_new(int64_t most)
{
    return (RowMoves){ .from = g_new(int32_t, most), .to = g_new(int32_t, most) };
}

static void moves_add(RowMoves *moves, int32_t from, int32_t to, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        moves->from[moves->n] = from + i;
        moves->to[moves->n++] = to + i;
    }
}

/* Copies the indices to the device and frees the host's. */
static void moves_upload(RowMoves *moves, Device *dev, Arena *arena)
{
    if (moves->n > 0) {
        moves->device_from = indices_upload(dev, arena, moves->from, moves->n, moves->n, "moves.from");
        moves->device_to = indices_upload(dev, arena, moves->to, moves->n, moves->n, "moves.to");
    }
    g_free(moves->from);
    g_free(moves->to);
}

/* y[to] = x[from]; all of x is read before y is written, so y may be x. */
static void moves_make(const RowMoves *moves, Device *dev, Arena *scratch, Tensor y, Tensor x)
{
    size_t mark = arena_mark(scratch);
    if (moves->n == 0)
        return;
    Tensor rows = arena_tensor(scratch, y.dtype, moves->n, y.d[1], "moves.rows");
    op_gather(dev, rows, x, moves->device_from);
    op_scatter(dev, y, rows, moves->device_to);
    arena_reset(scratch, mark);
}

/* ---- opening ---- */

/* The prompts, each without its last `left_out` tokens, after n_memory placeholders of memory tokens. */
static void prompts_init(TokenStream *stream, const Prompts *prompts, int32_t left_out, int32_t n_memory)
{
    int32_t more = n_memory - left_out, longest = 0;
    for (int32_t p = 0; p < prompts->n; p++)
        longest = MAX(longest, prompts->cu[p + 1] - prompts->cu[p] + more);
    stream_init(stream, prompts->cu[prompts->n] - prompts->cu[0] + prompts->n * more, prompts->n, longest);
    for (int32_t p = 0; p < prompts->n; p++) {
        int32_t n = prompts->cu[p + 1] - prompts->cu[p] - left_out, first = stream_add(stream, p, 0, n + n_memory);
        if (n > 0)
            memcpy(stream->ids + first + n_memory, prompts->ids + prompts->cu[p], (size_t)n * sizeof *prompts->ids);
    }
}

/* Whether a step is nothing but operations of this rank's device, on weights that stay where they are. */
static bool steps_repeat(const Model *model)
{
    const Sharding shards = params_sharding(model->params);
    const StagePart part = model->stages[0].decoder.part;
    return (shards.size == 1 || shards.level < ZERO_WEIGHTS) && tensor_parallel_size(&shards.tp) == 1 && part.embeds &&
           part.finishes;
}

/* Opens a decoder. Its workspace may still be too small, or be on the null device, which only measures. */
static Decoder *decoder_new(Model *model, const Prompts *prompts, int32_t n_each, int32_t max_tokens)
{
    Decoder *d = g_new0(Decoder, 1);
    int32_t n_rows = prompts->n * n_each;
    bool encodes = model->config.n_enc > 0, prefixed = model->config.prefix_lm;

    Slot *slot = &model->slots[0];
    CHECK(slot->state == SLOT_FREE, "a decoder while slot 0 is in state %d", (int)slot->state);
    pipeline_settle(model);
    slot->state = SLOT_DECODES;
    d->model = model;
    d->work = &model->work;
    arena_reset(d->work->save, 0);
    arena_reset(&d->work->scratch, 0);
    d->pass.stack = &model->stages[0].decoder;
    d->repeats = steps_repeat(model);
    d->max_tokens = max_tokens;
    prompts_init(&d->prompts, prompts, encodes || prefixed ? 0 : 1, (int32_t)model->config.memory_tokens);
    for (int32_t p = 0; prefixed && p < prompts->n; p++)
        d->prompts.prefix_length[p] = d->prompts.cu[p + 1] - d->prompts.cu[p];
    stream_init(&d->step_stream, n_rows, prompts->n, n_each);
    for (int32_t p = 0; p < prompts->n; p++)
        stream_add(&d->step_stream, p, 0, n_each);
    d->prompt_rows = g_new0(int32_t, n_rows);
    d->cu_q = g_new0(int32_t, n_rows + 1);
    d->cu_k = g_new0(int32_t, n_rows + 1);
    d->first_row = g_new0(int32_t, n_rows);
    d->new_rows = g_new0(int32_t, n_rows);
    for (int32_t r = 0; !encodes && r < n_rows; r++)
        d->prompt_rows[r] = prompts->cu[r / n_each + 1] - prompts->cu[r / n_each] - 1;
    d->capacity = max_tokens + (encodes ? 0 : d->prompts.max_len);
    for (int32_t r = 0; r < n_rows; r++) {
        d->cu_q[r + 1] = r + 1;
        d->first_row[r] = r * d->capacity;
    }
    d->caches = g_new0(BlockCache, model->config.n_dec);
    d->logits = g_new0(float, n_rows * model->config.vocab);
    d->top_ids = g_new0(int32_t, n_rows * most_top(d));
    d->top_logits = g_new0(float, n_rows *most_top(d));
    d->log_sums = g_new0(double, n_rows);
    return d;
}

void decoder_close(Decoder *decoder)
{
    if (decoder == NULL)
        return;
    device_forget(decoder->model->dev, decoder);
    arena_reset(decoder->work->save, 0);
    arena_reset(&decoder->work->scratch, 0);
    decoder->model->slots[0].state = SLOT_FREE;
    stream_free(&decoder->prompts);
    stream_free(&decoder->step_stream);
    g_free(decoder->prompt_rows);
    g_free(decoder->cu_q);
    g_free(decoder->cu_k);
    g_free(decoder->first_row);
    g_free(decoder->new_rows);
    g_free(decoder->caches);
    g_free(decoder->logits);
    g_free(decoder->top_ids);
    g_free(decoder->top_logits);
    g_free(decoder->log_sums);
    g_free(decoder);
}

/* The pass of the decoder's steps through one of the rank's stages. */
static StackPass pass_through(const Decoder *d, const ModelStage *stage)
{
    StackPass pass = d->pass;
    pass.stack = &stage->decoder;
    return pass;
}

/* Runs the prompts through a stage's blocks of the encoder. Returns the message for the next stage. */
static StageMessage run_encoder(Decoder *d, const ModelStage *stage)
{
    const Stack *stack = &stage->encoder;
    StageMessage out = { 0 };
    StackPass pass;

    stack_pass_init(&pass, stack);
    pass.tokens = d->prompt_tokens;
    stack_context(&pass, d->work, d->work->save, NULL, &forward);
    stack_begin(&pass);
    if (!stack->part.embeds)
        pipeline_receive(d->model, (StageMessage){ .x = pass.x[0] });
    Tensor y = stack_fwd(&pass, NO_TENSOR);
    stack_pass_clear(&pass);
    *(stack->part.finishes ? &out.encoder_output : &out.x) = y;
    return out;
}

/* Runs the prompts through the encoder and caches the keys and values of its output, for cross-attention. */
static void encode_prompts(Decoder *d, const ModelStage *stage)
{
    Model *model = d->model;
    const StackPass pass = pass_through(d, stage);
    StageMessage message = { 0 };

    if (stack_blocks(&stage->encoder) > 0)
        message = run_encoder(d, stage);
    else {
        message.encoder_output = arena_tensor(d->work->save, model->dev->precision.compute, d->prompt_tokens.n,
                                              model->config.width, "decoder.received");
        pipeline_receive(model, message);
    }
    if (!stage->decoder.part.finishes)
        pipeline_hand_on(model, message);
    for (BlockWalk walk = { .pass = &pass }; stack_walk_next(&walk);)
        attention_cross_kv(&walk.cx, d->caches[walk.i].cross, message.encoder_output, &walk.w.cross);
}

/* x (N,C) = the input of a stage's first block of the decoder: the embeddings, or the previous stage's output. */
static void enter_blocks(Model *model, StackPass *pass, Tensor x, const StackW *w)
{
    if (pass->stack->part.embeds)
        stack_embed(pass, x, w);
    else
        pipeline_receive(model, (StageMessage){ .x = x });
}

/* Runs the prompts, each without its last token, through a stage's blocks of the decoder, and caches their keys and
 * values for each sequence. The first step runs the last tokens. */
static void prefill(Decoder *d, const ModelStage *stage)
{
    Model *model = d->model;
    StackPass pass = { .stack = &stage->decoder, .tokens = d->prompt_tokens };
    size_t scratch = arena_mark(&d->work->scratch);
    int32_t longest = d->prompts.max_len, n = d->step_stream.max_tokens, n_each = n / d->step_stream.n_seq;
    RowMoves moves = moves_new((int64_t)n * longest);
    StackW w = { 0 };

    for (int32_t r = 0; r < n; r++)
        moves_add(&moves, d->prompts.cu[r / n_each], d->first_row[r], d->prompt_rows[r]);
    moves_upload(&moves, model->dev, &d->work->scratch);

    stack_context(&pass, d->work, d->work->save, NULL, &forward);
    Tensor x = arena_tensor(&d->work->scratch, pass.cx.precision.residual, d->prompts.max_tokens, model->config.width,
                            "decoder.x");
    params_acquire(model->params, BUCKET_DECODER, &w);
    stack_positions(&pass, &w, 1 - longest, 2 * longest - 1, longest);
    enter_blocks(model, &pass, x, &w);
    params_release(model->params, BUCKET_DECODER);
    Residual stream = residual_begin(&pass.cx, x);
    for (BlockWalk walk = { .pass = &pass }; stack_walk_next(&walk);) {
        size_t mark = arena_mark(d->work->save);
        BlockSave kept;
        walk.cx.forget = true;
        block_fwd(&walk.cx, &stream, x, NO_TENSOR, pass.bias, &walk.w, &kept);
        moves_make(&moves, model->dev, &d->work->scratch, d->caches[walk.i].self, kept.self.p.kv);
        arena_reset(d->work->save, mark);
    }
    if (!stage->decoder.part.finishes)
        pipeline_hand_on(model, (StageMessage){ .x = residual_sum(&pass.cx, &stream) });
    arena_reset(&d->work->scratch, scratch);
}

/* Copies the constant description of the sequences to the device. */
static void upload_rows(Decoder *d)
{
    Device *dev = d->model->dev;
    Arena *save = d->work->save;
    int32_t n = d->step_stream.max_tokens;

    d->prompt_tokens = encoder_upload(d->model, save, &d->prompts);
    d->pass.tokens = stream_upload(d->model, save, &d->step_stream);
    d->cu_k_device = indices_upload(dev, save, d->cu_k, n + 1, n + 1, "decoder.cu_k");
    Tensor cu_q = indices_upload(dev, save, d->cu_q, n + 1, n + 1, "decoder.cu_q");
    Tensor start = indices_upload(dev, save, d->first_row, n, n, "decoder.first_row");
    d->step = (DecodeStep){
        .queries = { .n = n, .max_len = 1, .cu = both_sides(d->cu_q, cu_q) },
        .keys = { .n = n, .cu = both_sides(d->cu_k, d->cu_k_device), .first = both_sides(d->first_row, start) },
        .new_rows = indices_upload(dev, save, d->new_rows, n, n, "decoder.new_rows"),
        .capacity = d->capacity
    };
}

/* A step's operations are the same for this many lengths. Attention on a GPU divides keys by the same number
 * (DECODE_KEYS), so rounding max_len up changes no result. */
enum { SAME_LENGTHS = 128 };

/* Copies to the device what changes in every step: tokens, positions, lengths, rows of the caches. */
static void upload_step(Decoder *d)
{
    Device *dev = d->model->dev;
    int32_t longest = 0;

    for (int32_t r = 0; r < d->step_stream.max_tokens; r++) {
        int32_t before = d->prompt_rows[r] + d->t;
        d->step_stream.position_ids[r] = before;
        d->new_rows[r] = d->first_row[r] + before;
        d->cu_k[r + 1] = d->cu_k[r] + before + 1;
        longest = MAX(longest, before + 1);
    }
    d->step.keys.max_len = MIN((longest + SAME_LENGTHS - 1) / SAME_LENGTHS * SAME_LENGTHS, d->capacity);
    tensor_upload(dev, d->pass.tokens.ids, d->step_stream.ids);
    stream_upload_own(d->model, d->work->save, &d->pass.tokens, d->step_stream.ids);
    tensor_upload(dev, d->pass.tokens.position_ids, d->step_stream.position_ids);
    tensor_upload(dev, d->step.new_rows, d->new_rows);
    tensor_upload(dev, d->cu_k_device, d->cu_k);
}

static void open_caches(Decoder *d, const ModelStage *stage)
{
    const int64_t width = stage->decoder.spec.kv_heads * d->model->config.head_dim,
                  rows = (int64_t)d->step_stream.max_tokens * d->capacity;
    const DType dtype = d->pass.cx.precision.compute;
    for (int i = stage->decoder.part.first; i < stage->decoder.part.end; i++) {
        BlockCache *cache = &d->caches[i];
        cache->self = arena_tensor(d->work->save, dtype, rows, 2 * width, "decoder.self");
        if (d->model->config.n_enc > 0)
            cache->cross = arena_tensor(d->work->save, dtype, d->prompts.max_tokens, 2 * width, "decoder.cross");
    }
}

static void begin(Decoder *d)
{
    Model *model = d->model;
    const ModelStage *stages = model->stages, *end = stages + model->ranges.n;
    StackW w = { 0 };

    upload_rows(d);
    for (const ModelStage *stage = stages; stage < end; stage++) /* tables of positions are made for the embedding */
        if (stage->decoder.part.embeds)
            d->pass.stack = &stage->decoder;
    stack_context(&d->pass, d->work, d->work->save, &d->prompt_tokens, &forward);
    params_acquire(model->params, BUCKET_DECODER, &w);
    stack_positions(&d->pass, &w, 1 - d->capacity, d->capacity, d->capacity);
    params_release(model->params, BUCKET_DECODER);
    for (const ModelStage *stage = stages; stage < end; stage++)
        open_caches(d, stage);
    size_t mark = arena_mark(d->work->save);
    for (const ModelStage *stage = stages; stage < end; stage++)
        if (model->config.n_enc > 0)
            encode_prompts(d, stage);
        else if (d->prompts.max_tokens > 0)
            prefill(d, stage);
    arena_reset(d->work->save, mark);
}

/* Reads the k most likely tokens after y (R,C) into the decoder's arrays. */
static void read_top(Decoder *d, Tensor y, int32_t k)
{
    Device *dev = d->model->dev;
    Arena *scratch = &d->work->scratch;
    size_t mark = arena_mark(scratch);
    Tensor values = arena_tensor(scratch, precision_statistic(dev->precision), y.d[0], k, "top.values");
    Tensor ids = arena_tensor(scratch, DT_I32, y.d[0], k, "top.ids");
    Tensor log_sums = arena_vector(scratch, DT_F64, y.d[0], "top.log_sums");

    heads_top(d->model, &d->pass.cx, values, ids, log_sums, y);
    tensor_download(dev, d->top_ids, ids);
    tensor_download(dev, d->log_sums, log_sums);
    tensor_read(dev, d->top_logits, DT_F32, values);
    arena_reset(scratch, mark);
}

/* The pass of a step through a stage. */
typedef struct StepPass {
    Decoder *decoder;
    const ModelStage *stage;
    Tensor x, y; /* (R,C) residual stream; output of the decoder, absent in other stages than the last */
} StepPass;

/* y = the decoder's output, in the compute dtype. */
static void leave_blocks(const Ctx *cx, Tensor y, Residual *stream, const StackW *w)
{
    NormSave unused;

    if (tensor_present(w->final_norm.w))
        residual_norm(cx, y, stream, w->final_norm, &unused);
    else
        op_copy(cx->dev, y, residual_sum(cx, stream));
}

/* Runs the step's tokens through a stage's blocks of the decoder. data: the StepPass. */
static void run_blocks(void *data)
{
    const StepPass *step = data;
    Decoder *d = step->decoder;
    StackPass pass = pass_through(d, step->stage);
    StackW w = { 0 };

    params_acquire(d->model->params, BUCKET_DECODER, &w);
    enter_blocks(d->model, &pass, step->x, &w);
    Residual stream = residual_begin(&pass.cx, step->x);
    for (BlockWalk walk = { .pass = &pass }; stack_walk_next(&walk);)
        block_step(&walk.cx, &stream, step->x, pass.bias, &walk.w, &d->caches[walk.i], &d->step);
    if (tensor_present(step->y))
        leave_blocks(&pass.cx, step->y, &stream, &w);
    else
        pipeline_hand_on(d->model, (StageMessage){ .x = residual_sum(&pass.cx, &stream) });
    params_release(d->model->params, BUCKET_DECODER);
}

/* Runs a step through a stage; in the last one, reads what the step asks for. k: number of most likely tokens; 0 means
 * all logits. The blocks of two steps are the same operations if their keys.max_len is the same: all memory of a step
 * is taken in the same order. */
static void run_decoder_step(Decoder *d, const ModelStage *stage, int32_t k)
{
    Model *model = d->model;
    const int64_t n = d->step_stream.max_tokens, width = model->config.width;
    const Precision *precision = &model->dev->precision;
    Arena *save = d->work->save, *scratch = &d->work->scratch;
    size_t save_mark = arena_mark(save), scratch_mark = arena_mark(scratch);
    StepPass step = { d, stage, arena_tensor(scratch, precision->residual, n, width, "decoder.x"), NO_TENSOR };

    if (stage->decoder.part.finishes)
        step.y = arena_tensor(save, precision->compute, n, width, "decoder.y");
    if (d->repeats)
        device_repeat(model->dev, d, d->step.keys.max_len, run_blocks, &step);
    else
        run_blocks(&step);
    if (tensor_present(step.y) && k > 0)
        read_top(d, step.y, k);
    else if (tensor_present(step.y))
        heads_logits(model, &d->pass.cx, d->logits, step.y);
    arena_reset(save, save_mark);
    arena_reset(scratch, scratch_mark);
}

/* Runs a step; a rank without blocks of the decoder only waits for what it finds. k: as in run_decoder_step. */
static void step_decoder(Decoder *d, int32_t k)
{
    Model *model = d->model;
    const size_t n = (size_t)d->step_stream.max_tokens, top = n * (size_t)k;

    upload_step(d);
    for (const ModelStage *stage = model->stages; stage < model->stages + model->ranges.n; stage++)
        if (stack_blocks(&stage->decoder) > 0)
            run_decoder_step(d, stage, k);
    if (k > 0) {
        pipeline_share(model, d->top_ids, top * sizeof *d->top_ids);
        pipeline_share(model, d->top_logits, top * sizeof *d->top_logits);
        pipeline_share(model, d->log_sums, n * sizeof *d->log_sums);
    } else
        pipeline_share(model, d->logits, n * (size_t)model->config.vocab * sizeof *d->logits);
    d->t++;
}

/* Measures, on the null device, the memory for the prompts, the last step and a reordering. */
static void measure_decoder(Decoder *dry)
{
    int32_t n = dry->step_stream.max_tokens, n_each = n / dry->step_stream.n_seq;
    g_autofree int32_t *from = g_new(int32_t, n);
    for (int32_t r = 0; r < n; r++)
        from[r] = r / n_each * n_each + (r + 1) % n_each;
    begin(dry);
    for (int32_t i = 0; i < 2; i++) {
        dry->t = dry->max_tokens - 1;
        step_decoder(dry, i * most_top(dry));
    }
    decoder_reorder(dry, from);
}

/* Measures the memory by a dry run and allocates it. */
static bool reserve_decoder(Decoder *d, const Prompts *prompts, int32_t n_each, GError **error)
{
    const Model *model = d->model;
    Model *dry_model = model_open_dry(model, false);
    Decoder *dry = decoder_new(dry_model, prompts, n_each, d->max_tokens);

    measure_decoder(dry);
    bool ok = workspace_grow(d->work, model->dev, dry->work, error);
    decoder_close(dry);
    model_close_dry(dry_model, model);
    return ok;
}

/* Limit on the tokens of a prompt and on steps, which keeps every number of rows within 32 bits. */
#define MOST_ROWS (1 << 20)

static bool check_prompt(const int32_t *ids, int32_t n, int64_t max_tokens, int64_t vocab, GError **error)
{
    if (n < 1 || n > MOST_ROWS || max_tokens < 1 || max_tokens > MOST_ROWS)
        return fail_user(error, "decoding %d input tokens into at most %" G_GINT64_FORMAT ": both must be from 1 to %d",
                         n, max_tokens, MOST_ROWS);
    for (int32_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= vocab)
            return fail_user(error, "input token %d has id %d; the model's ids are 0 to %" G_GINT64_FORMAT, i, ids[i],
                             vocab - 1);
    return true;
}

static bool check_request(const ModelConfig *config, const Prompts *prompts, int32_t n_each, int64_t max_tokens,
                          GError **error)
{
    const int32_t *cu = prompts->cu;
    bool encodes = config->n_enc > 0;
    int64_t longest = 0;

    for (int32_t p = 0; p < prompts->n; p++) {
        if (!check_prompt(prompts->ids + cu[p], cu[p + 1] - cu[p], max_tokens, config->vocab, error))
            return false;
        longest = MAX(longest, cu[p + 1] - cu[p]);
    }
    if (config->n_dec == 0)
        return fail_user(error, "this model has no decoder, so it cannot generate text");
    if ((int64_t)prompts->n * n_each > MOST_ROWS)
        return fail_user(error, "%d prompts with %d sequences each at once: at most %d in all", prompts->n, n_each,
                         MOST_ROWS);
    /* The rows of a block's cache are numbered in 32 bits too. */
    int64_t cached = max_tokens + (encodes ? 0 : longest);
    if ((int64_t)prompts->n * n_each * cached > INT32_MAX)
        return fail_user(error,
                         "%d prompts with %d sequences of up to %" G_GINT64_FORMAT
                         " tokens each at once: at most %d tokens in all",
                         prompts->n, n_each, cached, INT32_MAX);
    return model_config_fits(config, encodes ? MAX(longest + config->memory_tokens, max_tokens) : cached - 1, error);
}

bool decoder_measure(Model *dry, int32_t n, int32_t length, int32_t max_tokens, GError **error)
{
    g_autofree int32_t *ids = g_new0(int32_t, (gsize)n * (gsize)length), *cu = g_new(int32_t, n + 1);
    for (int32_t p = 0; p <= n; p++)
        cu[p] = p * length;
    const Prompts prompts = { ids, cu, n };
    if (!check_request(&dry->config, &prompts, 1, max_tokens, error))
        return false;
    Decoder *decoder = decoder_new(dry, &prompts, 1, max_tokens);
    measure_decoder(decoder);
    decoder_close(decoder);
    return true;
}

Decoder *decoder_open(Model *model, const Prompts *prompts, int32_t n_each, int64_t max_tokens, GError **error)
{
    CHECK(prompts->n >= 1 && n_each >= 1, "%d prompts, %d sequences each", prompts->n, n_each);
    if (!check_request(&model->config, prompts, n_each, max_tokens, error))
        return NULL;
    Decoder *d = decoder_new(model, prompts, n_each, (int32_t)max_tokens);
    if (reserve_decoder(d, prompts, n_each, error))
        begin(d);
    else
        g_clear_pointer(&d, decoder_close);
    return d;
}

static void feed(Decoder *d, const int32_t *tokens)
{
    CHECK(d->t < d->max_tokens, "step %d of a decoder for %d", d->t, d->max_tokens);
    memcpy(d->step_stream.ids, tokens, (size_t)d->step_stream.max_tokens * sizeof *tokens);
}

float *decoder_step(Decoder *decoder, const int32_t *tokens)
{
    feed(decoder, tokens);
    step_decoder(decoder, 0);
    return decoder->logits;
}

TopTokens decoder_step_top(Decoder *decoder, const int32_t *tokens, int32_t k)
{
    CHECK(k >= 1 && k <= most_top(decoder), "%d of at most %d tokens", k, most_top(decoder));
    feed(decoder, tokens);
    step_decoder(decoder, k);
    return (TopTokens){ k, decoder->top_ids, decoder->top_logits, decoder->log_sums };
}

/* Cache rows of a prompt are equal in all its sequences, so only later rows are copied. */
void decoder_reorder(Decoder *decoder, const int32_t *from)
{
    Model *model = decoder->model;
    Arena *scratch = &decoder->work->scratch;
    int32_t n = decoder->step_stream.max_tokens, n_each = n / decoder->step_stream.n_seq;
    size_t mark = arena_mark(scratch);
    RowMoves moves = moves_new((int64_t)n * decoder->t);

    for (int32_t r = 0; r < n; r++) {
        int32_t prompt = decoder->prompt_rows[r];
        CHECK(from[r] / n_each == r / n_each && from[r] >= 0, "sequence %d goes on from %d of another prompt", r,
              from[r]);
        if (from[r] != r)
            moves_add(&moves, decoder->first_row[from[r]] + prompt, decoder->first_row[r] + prompt, decoder->t);
    }
    moves_upload(&moves, model->dev, scratch);
    for (int i = 0; i < model->config.n_dec; i++)
        if (tensor_present(decoder->caches[i].self))
            moves_make(&moves, model->dev, scratch, decoder->caches[i].self, decoder->caches[i].self);
    arena_reset(scratch, mark);
}
