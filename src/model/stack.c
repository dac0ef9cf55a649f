#include "model/transformer.h"

#include <math.h>

static Tensor layout_firsts(Arena *arena, const BlockLayout *layout)
{
    return arena_vector(arena, DT_I32, (int64_t)layout->heads * layout->blocks + 1, "layout.first");
}

static Tensor layout_keys(Arena *arena, const BlockLayout *layout)
{
    return arena_vector(arena, DT_I32, layout->first.host[layout->heads * layout->blocks], "layout.keys");
}

/* Puts the integers of the layouts into memory of the device. */
static bool upload_layouts(Stack *stack, Device *dev)
{
    Arena arena;

    arena_init(&arena, "layouts", NULL, 0);
    for (int i = 0; i < stack->n_blocks; i++) {
        layout_firsts(&arena, stack->layouts[i]);
        layout_keys(&arena, stack->layouts[i]);
    }
    size_t bytes = arena.peak;
    stack->layout_memory = device_alloc(dev, bytes);
    if (stack->layout_memory == NULL)
        return false;
    arena_init(&arena, "layouts", stack->layout_memory, bytes);
    for (int i = 0; i < stack->n_blocks; i++) {
        BlockLayout *layout = stack->layouts[i];
        Tensor first = layout_firsts(&arena, layout), keys = layout_keys(&arena, layout);
        tensor_upload(dev, first, layout->first.host);
        tensor_upload(dev, keys, layout->keys.host);
        layout->first.device = first.p;
        layout->keys.device = keys.p;
    }
    return true;
}

bool stack_init(Stack *stack, Device *dev, const ModelConfig *config, bool decoder)
{
    int n_blocks = (int)(decoder ? config->n_dec : config->n_enc);
    *stack = (Stack){ .decoder = decoder,
                      .n_blocks = n_blocks,
                      .bucket = decoder ? BUCKET_DECODER : BUCKET_ENCODER,
                      .first_block = BUCKET_BLOCK + (decoder ? (int)config->n_enc : 0),
                      .outer = layer_spec_outer(config, decoder),
                      .layers = g_new(LayerSpec, n_blocks),
                      .x = g_new0(Tensor, n_blocks + 1),
                      .blocks = g_new0(BlockSave, n_blocks) };
    bool sparse = config->sparsity.pattern != SPARSE_NONE && decoder == (config->family == FAMILY_GPT);
    if (sparse)
        stack->layouts = g_new(BlockLayout *, n_blocks);
    for (int i = 0; i < n_blocks; i++) {
        BlockLayout *layout = NULL;
        if (sparse)
            layout = stack->layouts[i] =
                sparsity_layout(&config->sparsity, config->max_positions, config->heads, i, decoder);
        stack->layers[i] = layer_spec_block(config, decoder, i, layout);
    }
    return !sparse || upload_layouts(stack, dev);
}

void stack_clear(Stack *stack, Device *dev)
{
    device_free(dev, stack->layout_memory);
    for (int i = 0; stack->layouts && i < stack->n_blocks; i++)
        sparsity_layout_free(stack->layouts[i]);
    g_free(stack->layouts);
    g_free(stack->layers);
    g_free(stack->x);
    g_free(stack->blocks);
}

Ctx stack_context(Model *model, const Stack *stack, Workspace *work, const Tokens *tokens, const Tokens *encoder_tokens,
                  const ModelLoss *loss)
{
    return (Ctx){ .dev = model->dev,
                  .dtype = model->dev->precision.compute,
                  .model = &model->spec,
                  .layer = &stack->outer,
                  .save = &work->save,
                  .scratch = &work->scratch,
                  .tokens = tokens,
                  .encoder_tokens = encoder_tokens,
                  .seed = loss->seed,
                  .train = loss->train };
}

Ctx stack_layer(const Ctx *cx, const Stack *stack, int i)
{
    Ctx block = *cx;
    block.layer = &stack->layers[i];
    return block;
}

/* The table of sinusoids from the row of the first place on. */
static void make_sinusoids(Stack *stack, const Ctx *cx, const ModelConfig *config)
{
    int64_t zero = config->position_zero - config->position_offset;

    op_sinusoid_table(cx->dev, stack->sinusoids, (int32_t)config->position_offset);
    if (config->position_zero >= 0 && zero >= 0 && zero < stack->sinusoids.d[0])
        op_fill(cx->dev, tensor_slice_rows(stack->sinusoids, zero, 1), 0);
}

void stack_positions(Model *model, Stack *stack, Ctx *cx, Workspace *work, const StackW *w, int32_t first, int32_t n,
                     int32_t n_places)
{
    const ModelConfig *config = &model->config;
    int64_t rotated = config->rotary_dim ? config->rotary_dim : config->head_dim;
    RelposSpec relpos = stack->outer.relpos;
    bool local = config->window > 0 && config->rotary_local > 0;

    relpos.first = first;
    stack->bias = cx->rotary[0] = cx->rotary[1] = stack->sinusoids = NO_TENSOR;
    if (tensor_present(w->relpos) || config->position == POSITION_ALIBI)
        stack->bias = arena_tensor(&work->save, cx->dtype, cx->model->heads, n, "stack.bias");
    if (tensor_present(w->relpos))
        op_relpos_fwd(cx->dev, stack->bias, w->relpos, &relpos);
    if (config->position == POSITION_ALIBI)
        op_alibi(cx->dev, stack->bias, first, 0, cx->model->heads);
    if (config->position == POSITION_SINUSOIDAL) {
        stack->sinusoids = arena_tensor(&work->save, cx->dtype, n_places, config->width, "stack.sinusoids");
        make_sinusoids(stack, cx, config);
    }
    if (config->position != POSITION_ROTARY)
        return;
    for (int i = 0; i < 2; i++) {
        cx->rotary[i] = arena_tensor(&work->save, cx->dtype, n_places, rotated, "stack.rotary");
        op_rotary_table(cx->dev, cx->rotary[i], i && local ? config->rotary_local : config->rotary_base);
    }
}

/* The stack's embedding, or its gradient, with the table that all share and the rows of learned positions that are in
 * use. */
static EmbeddingW embed_weights(const Model *model, const StackW *w, Tensor table)
{
    int64_t offset = model->config.position_offset;
    EmbeddingW embed = w->embed;
    embed.table = table;
    if (tensor_present(embed.positions))
        embed.positions = tensor_slice_rows(embed.positions, offset, embed.positions.d[0] - offset);
    return embed;
}

void stack_embed(Model *model, Stack *stack, const Ctx *cx, Tensor x, const StackW *w)
{
    ModelW shared = { 0 };

    params_acquire(model->params, BUCKET_SHARED, &shared);
    EmbeddingW embed = embed_weights(model, w, shared.shared);
    if (tensor_present(stack->sinusoids))
        embed.positions = stack->sinusoids;
    embedding_fwd(cx, x, &embed, &stack->embed);
    params_release(model->params, BUCKET_SHARED);
}

/* Block i, its activations into `arena`. */
static void run_block(Model *model, Stack *stack, const Ctx *cx, Arena *arena, int i, Tensor memory)
{
    Ctx block = stack_layer(cx, stack, i);
    BlockW w = { 0 };

    block.save = arena;
    params_acquire(model->params, stack->first_block + i, &w);
    block_fwd(&block, stack->x[i + 1], stack->x[i], memory, stack->bias, &w, &stack->blocks[i]);
    params_release(model->params, stack->first_block + i);
}

Tensor stack_final_norm(const Ctx *cx, Tensor x, const StackW *w, NormSave *save)
{
    if (!tensor_present(w->final_norm.w))
        return x;
    Tensor y = arena_tensor(cx->save, cx->dtype, x.d[0], x.d[1], "stack.y");
    norm_fwd(cx, y, x, w->final_norm, save);
    return y;
}

Tensor stack_fwd(Model *model, Stack *stack, Ctx *cx, Workspace *work, Tensor memory, const ModelLoss *loss)
{
    Arena *arena = loss->recompute ? &work->recompute : &work->save;
    bool forget = loss->recompute || !loss->grad; /* a block's activations, once it has run */
    int32_t max_len = cx->tokens->seq.max_len;
    StackW w = { 0 };

    for (int i = 0; i <= stack->n_blocks; i++)
        stack->x[i] = arena_tensor(&work->save, cx->dtype, cx->tokens->n, model->config.width, "stack.x");
    params_acquire(model->params, stack->bucket, &w);
    stack_positions(model, stack, cx, work, &w, 1 - max_len, 2 * max_len - 1, max_len);
    stack_embed(model, stack, cx, stack->x[0], &w);
    for (int i = 0; i < stack->n_blocks; i++) {
        size_t mark = arena_mark(arena);
        run_block(model, stack, cx, arena, i, memory);
        if (forget)
            arena_reset(arena, mark);
    }
    Tensor y = stack_final_norm(cx, stack->x[stack->n_blocks], &w, &stack->final_norm);
    Dropout drop = ctx_dropout(cx, SITE_FINAL);
    if (drop.rate > 0)
        op_dropout_fwd(cx->dev, y, y, NO_TENSOR, &drop);
    params_release(model->params, stack->bucket);
    return y;
}

static void block_gradients(Model *model, Stack *stack, const Ctx *cx, int i, Tensor dx, Tensor dmemory, Tensor dbias)
{
    int bucket = stack->first_block + i;
    Ctx block = stack_layer(cx, stack, i);
    BlockW w = { 0 }, g = { 0 };

    params_acquire(model->params, bucket, &w);
    float beta = grads_acquire(model->params, bucket, &g);
    block_bwd(&block, dx, dmemory, dbias, &w, &g, beta, &stack->blocks[i]);
    grads_ready(model->params, bucket);
    params_release(model->params, bucket);
}

/* beta is that of the stack's own gradients. */
static void embed_gradients(Model *model, Stack *stack, const Ctx *cx, Tensor dx, const StackW *w, const StackW *g,
                            float beta)
{
    ModelW shared = { 0 }, dshared = { 0 };

    params_acquire(model->params, BUCKET_SHARED, &shared);
    float table_beta = grads_acquire(model->params, BUCKET_SHARED, &dshared);
    EmbeddingW embed = embed_weights(model, w, shared.shared), dembed = embed_weights(model, g, dshared.shared);
    if (tensor_present(dembed.positions) && model->config.position_offset > 0 && beta == 0)
        op_fill(cx->dev, tensor_slice_rows(g->embed.positions, 0, model->config.position_offset), 0);
    embedding_bwd(cx, dx, &embed, &dembed, beta, table_beta, &stack->embed);
    grads_ready(model->params, BUCKET_SHARED);
    params_release(model->params, BUCKET_SHARED);
}

/* dx (N,C), of the last block's output, from dy, of the stack's. */
static Tensor final_gradient(Stack *stack, const Ctx *cx, Tensor dy, const StackW *w, const StackW *g, float beta)
{
    Dropout drop = ctx_dropout(cx, SITE_FINAL);

    if (drop.rate > 0)
        op_dropout_bwd(cx->dev, dy, dy, &drop);
    if (!tensor_present(w->final_norm.w))
        return dy;
    Tensor dx = arena_tensor(cx->scratch, cx->dtype, dy.d[0], dy.d[1], "stack.dx");
    norm_bwd(cx, dx, dy, NO_TENSOR, w->final_norm, g->final_norm, beta, &stack->final_norm);
    return dx;
}

void stack_bwd(Model *model, Stack *stack, const Ctx *cx, Workspace *work, Tensor dy, Tensor memory, Tensor dmemory,
               const ModelLoss *loss)
{
    size_t mark = arena_mark(&work->scratch);
    RelposSpec relpos = stack->outer.relpos;
    Tensor dbias = NO_TENSOR;
    StackW w = { 0 }, g = { 0 };

    params_acquire(model->params, stack->bucket, &w);
    float beta = grads_acquire(model->params, stack->bucket, &g);
    Tensor dx = final_gradient(stack, cx, dy, &w, &g, beta);
    if (tensor_present(w.relpos)) {
        dbias = arena_tensor(&work->scratch, cx->dtype, stack->bias.d[0], stack->bias.d[1], "stack.dbias");
        op_fill(cx->dev, dbias, 0);
    }
    for (int i = stack->n_blocks - 1; i >= 0; i--) {
        size_t block = arena_mark(&work->recompute);
        if (loss->recompute)
            run_block(model, stack, cx, &work->recompute, i, memory);
        block_gradients(model, stack, cx, i, dx, dmemory, dbias);
        arena_reset(&work->recompute, block);
    }
    relpos.first = 1 - cx->tokens->seq.max_len;
    if (tensor_present(dbias))
        op_relpos_bwd(cx->dev, g.relpos, dbias, &relpos, beta);
    embed_gradients(model, stack, cx, dx, &w, &g, beta);
    grads_ready(model->params, stack->bucket);
    params_release(model->params, stack->bucket);
    arena_reset(&work->scratch, mark);
}
