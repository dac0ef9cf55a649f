#include "model/transformer.h"

void stack_init(Stack *stack, const ModelConfig *config, bool decoder)
{
    int n_blocks = (int)(decoder ? config->n_dec : config->n_enc);
    *stack = (Stack){ .decoder = decoder,
                      .n_blocks = n_blocks,
                      .bucket = decoder ? BUCKET_DECODER : BUCKET_ENCODER,
                      .first_block = BUCKET_BLOCK + (decoder ? (int)config->n_enc : 0),
                      .x = g_new0(Tensor, n_blocks + 1),
                      .blocks = g_new0(BlockSave, n_blocks) };
}

void stack_clear(Stack *stack)
{
    g_free(stack->x);
    g_free(stack->blocks);
}

Ctx stack_context(Model *model, Workspace *work, const TokenStream *rows, const TokenStream *memory_rows,
                  const ModelLoss *loss)
{
    return (Ctx){ .dev = model->dev,
                  .save = &work->save,
                  .scratch = &work->scratch,
                  .dtype = model->dev->real,
                  .rows = rows,
                  .memory_rows = memory_rows,
                  .heads = (int32_t)model->config.heads,
                  .activation = (Activation)model->config.activation,
                  .decoder = memory_rows != NULL,
                  .dropout = loss->train ? (float)model->config.dropout : 0,
                  .seed = loss->seed,
                  .eps = (float)model->config.norm_eps };
}

RelposSpec stack_relpos(const Model *model, bool decoder, int32_t first)
{
    return (RelposSpec){ .first = first,
                         .n_buckets = (int32_t)model->config.rel_buckets,
                         .max_distance = (int32_t)model->config.rel_max_distance,
                         .bidirectional = !decoder };
}

static void embed(Model *model, Ctx *cx, Tensor x)
{
    ModelW w = { 0 };

    params_acquire(model->params, BUCKET_SHARED, &w);
    embed_fwd(cx, x, w.shared);
    params_release(model->params, BUCKET_SHARED);
}

/* Block i, its activations into `arena`. */
static void run_block(Model *model, Stack *stack, Ctx *cx, Arena *arena, int i, Tensor memory)
{
    Arena *save = cx->save;
    BlockW w = { 0 };

    cx->layer = i;
    cx->save = arena;
    params_acquire(model->params, stack->first_block + i, &w);
    block_fwd(cx, stack->x[i + 1], stack->x[i], memory, stack->bias, &w, &stack->blocks[i]);
    params_release(model->params, stack->first_block + i);
    cx->save = save;
}

Tensor stack_fwd(Model *model, Stack *stack, Ctx *cx, Workspace *work, Tensor memory, const ModelLoss *loss)
{
    Arena *arena = loss->recompute ? &work->recompute : &work->save;
    bool forget = loss->recompute || !loss->grad; /* a block's activations, once it has run */
    int32_t max_len = cx->rows->max_len;
    RelposSpec relpos = stack_relpos(model, stack->decoder, 1 - max_len);
    Dropout drop;
    StackW w = { 0 };

    for (int i = 0; i <= stack->n_blocks; i++)
        stack->x[i] = arena_tensor(&work->save, cx->dtype, cx->rows->n_rows, model->config.width, "stack.x");
    Tensor y = arena_tensor(&work->save, cx->dtype, cx->rows->n_rows, model->config.width, "stack.y");
    stack->bias = arena_tensor(&work->save, cx->dtype, cx->heads, 2 * (int64_t)max_len - 1, "stack.bias");
    cx->layer = 0;
    embed(model, cx, stack->x[0]);
    params_acquire(model->params, stack->bucket, &w);
    op_relpos_fwd(cx->dev, stack->bias, w.relpos, &relpos);
    for (int i = 0; i < stack->n_blocks; i++) {
        size_t mark = arena_mark(arena);
        run_block(model, stack, cx, arena, i, memory);
        if (forget)
            arena_reset(arena, mark);
    }
    cx->layer = 0;
    drop = ctx_dropout(cx, SITE_FINAL);
    norm_fwd(cx, y, stack->x[stack->n_blocks], w.final_norm, &stack->final_norm);
    op_dropout_fwd(cx->dev, y, y, NO_TENSOR, &drop);
    params_release(model->params, stack->bucket);
    return y;
}

static void block_gradients(Model *model, Stack *stack, Ctx *cx, int i, Tensor dx, Tensor dmemory, Tensor dbias)
{
    int bucket = stack->first_block + i;
    BlockW w = { 0 }, g = { 0 };

    cx->layer = i;
    params_acquire(model->params, bucket, &w);
    cx->g_beta = grads_acquire(model->params, bucket, &g);
    block_bwd(cx, dx, dmemory, dbias, &w, &g, &stack->blocks[i]);
    grads_ready(model->params, bucket);
    params_release(model->params, bucket);
}

static void embed_gradients(Model *model, Ctx *cx, Tensor dx)
{
    ModelW g = { 0 };

    cx->layer = 0;
    cx->g_beta = grads_acquire(model->params, BUCKET_SHARED, &g);
    embed_bwd(cx, g.shared, dx);
    grads_ready(model->params, BUCKET_SHARED);
}

void stack_bwd(Model *model, Stack *stack, Ctx *cx, Workspace *work, Tensor dy, Tensor memory, Tensor dmemory,
               const ModelLoss *loss)
{
    size_t mark = arena_mark(&work->scratch);
    RelposSpec relpos = stack_relpos(model, stack->decoder, 1 - cx->rows->max_len);
    Tensor dx = arena_tensor(&work->scratch, cx->dtype, dy.d[0], dy.d[1], "stack.dx");
    Tensor dbias = arena_tensor(&work->scratch, cx->dtype, stack->bias.d[0], stack->bias.d[1], "stack.dbias");
    StackW w = { 0 }, g = { 0 };

    params_acquire(model->params, stack->bucket, &w);
    float beta = grads_acquire(model->params, stack->bucket, &g);
    cx->layer = 0;
    cx->g_beta = beta;
    Dropout drop = ctx_dropout(cx, SITE_FINAL);
    op_dropout_bwd(cx->dev, dy, dy, &drop);
    norm_bwd(cx, dx, dy, NO_TENSOR, w.final_norm, g.final_norm, &stack->final_norm);
    op_fill(cx->dev, dbias, 0);
    for (int i = stack->n_blocks - 1; i >= 0; i--) {
        size_t block = arena_mark(&work->recompute);
        if (loss->recompute)
            run_block(model, stack, cx, &work->recompute, i, memory);
        block_gradients(model, stack, cx, i, dx, dmemory, dbias);
        arena_reset(&work->recompute, block);
    }
    op_relpos_bwd(cx->dev, g.relpos, dbias, &relpos, beta);
    grads_ready(model->params, stack->bucket);
    params_release(model->params, stack->bucket);
    embed_gradients(model, cx, dx);
    arena_reset(&work->scratch, mark);
}
