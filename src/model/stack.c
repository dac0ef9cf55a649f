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
                      .x = g_new0(Tensor, n_blocks + 1),
                      .blocks = g_new0(BlockSave, n_blocks) };
    if (config->sparsity.pattern == SPARSE_NONE || decoder != (config->family == FAMILY_GPT))
        return true;
    stack->layouts = g_new(BlockLayout *, n_blocks);
    for (int i = 0; i < n_blocks; i++)
        stack->layouts[i] = sparsity_layout(&config->sparsity, config->max_positions, config->heads, i, decoder);
    return upload_layouts(stack, dev);
}

void stack_clear(Stack *stack, Device *dev)
{
    device_free(dev, stack->layout_memory);
    for (int i = 0; stack->layouts && i < stack->n_blocks; i++)
        sparsity_layout_free(stack->layouts[i]);
    g_free(stack->layouts);
    g_free(stack->x);
    g_free(stack->blocks);
}

static void set_dropout(Ctx *cx, const ModelConfig *config)
{
    cx->dropout = (float)config->dropout;
    cx->attention_dropout = (float)model_config_attention_dropout(config);
    cx->activation_dropout = (float)model_config_activation_dropout(config);
    cx->final_dropout = (float)(config->inner_dropout ? config->dropout : 0);
}

static RelposSpec relpos_spec(const ModelConfig *config, bool decoder)
{
    return (RelposSpec){ .n_buckets = (int32_t)config->rel_buckets,
                         .max_distance = (int32_t)config->rel_max_distance,
                         .rule = (RelposRule)config->rel_rule,
                         .bidirectional = !decoder };
}

Ctx stack_context(Model *model, const Stack *stack, Workspace *work, const Rows *rows, const Rows *memory_rows,
                  const ModelLoss *loss)
{
    const ModelConfig *config = &model->config;
    Ctx cx = { .dev = model->dev,
               .save = &work->save,
               .scratch = &work->scratch,
               .dtype = model->dev->precision.compute,
               .rows = rows,
               .memory_rows = memory_rows,
               .heads = (int32_t)config->heads,
               .kv_heads = (int32_t)model_config_kv_heads(config),
               .activation = (Activation)config->activation,
               .head_activation = model_config_head_activation(config),
               .norm = (NormKind)config->norm,
               .norm_after = config->norm_after,
               .score_scale = config->scale_scores ? 1 / sqrtf((float)config->head_dim) : 1,
               .distance_keys = config->position == POSITION_RELATIVE_KEY_QUERY,
               .decoder = stack->decoder,
               .relpos = relpos_spec(config, stack->decoder),
               .embed_scale = config->scale_embedding ? sqrtf((float)config->width) : 1,
               .seed = loss->seed,
               .eps = (float)config->norm_eps };
    if (loss->train)
        set_dropout(&cx, config);
    return cx;
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
    RelposSpec relpos = cx->relpos;
    bool local = config->window > 0 && config->rotary_local > 0;

    relpos.first = first;
    stack->bias = stack->rotary[0] = stack->rotary[1] = stack->sinusoids = NO_TENSOR;
    if (tensor_present(w->relpos) || config->position == POSITION_ALIBI)
        stack->bias = arena_tensor(&work->save, cx->dtype, cx->heads, n, "stack.bias");
    if (tensor_present(w->relpos))
        op_relpos_fwd(cx->dev, stack->bias, w->relpos, &relpos);
    if (config->position == POSITION_ALIBI)
        op_alibi(cx->dev, stack->bias, first);
    if (config->position == POSITION_SINUSOIDAL) {
        stack->sinusoids = arena_tensor(&work->save, cx->dtype, n_places, config->width, "stack.sinusoids");
        make_sinusoids(stack, cx, config);
    }
    if (config->position != POSITION_ROTARY)
        return;
    for (int i = 0; i < 2; i++) {
        stack->rotary[i] = arena_tensor(&work->save, cx->dtype, n_places, rotated, "stack.rotary");
        op_rotary_table(cx->dev, stack->rotary[i], i && local ? config->rotary_local : config->rotary_base);
    }
}

void stack_enter_layer(const Model *model, const Stack *stack, Ctx *cx, int i)
{
    const ModelConfig *config = &model->config;
    bool local = config->window > 0 && (config->global_every == 0 || i % config->global_every != 0);
    int64_t window = stack->decoder ? config->window - 1 : config->window / 2;

    cx->layer = i;
    cx->window = local ? (int32_t)MAX(1, window) : 0;
    cx->rotary = stack->rotary[local];
    cx->score_rescale = config->qk_layer_scaling ? (float)(i + 1) : 0;
    cx->layout = stack->layouts ? stack->layouts[i] : NULL;
}

/* The stack's embedding, or its gradient, with the table that all share and the rows of learned positions that are in
 * use. */
static EmbedW embed_weights(const Model *model, const StackW *w, Tensor table)
{
    int64_t offset = model->config.position_offset;
    EmbedW embed = w->embed;
    embed.table = table;
    if (tensor_present(embed.positions))
        embed.positions = tensor_slice_rows(embed.positions, offset, embed.positions.d[0] - offset);
    return embed;
}

void stack_embed(Model *model, Stack *stack, Ctx *cx, Tensor x, const StackW *w)
{
    ModelW shared = { 0 };

    cx->layer = 0;
    params_acquire(model->params, BUCKET_SHARED, &shared);
    EmbedW embed = embed_weights(model, w, shared.shared);
    if (tensor_present(stack->sinusoids))
        embed.positions = stack->sinusoids;
    embed_fwd(cx, x, &embed, &stack->embed);
    params_release(model->params, BUCKET_SHARED);
}

/* Block i, its activations into `arena`. */
static void run_block(Model *model, Stack *stack, Ctx *cx, Arena *arena, int i, Tensor memory)
{
    Arena *save = cx->save;
    BlockW w = { 0 };

    stack_enter_layer(model, stack, cx, i);
    cx->save = arena;
    params_acquire(model->params, stack->first_block + i, &w);
    block_fwd(cx, stack->x[i + 1], stack->x[i], memory, stack->bias, &w, &stack->blocks[i]);
    params_release(model->params, stack->first_block + i);
    cx->save = save;
}

Tensor stack_final_norm(Ctx *cx, Tensor x, const StackW *w, NormSave *save)
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
    int32_t max_len = cx->rows->max_len;
    StackW w = { 0 };

    for (int i = 0; i <= stack->n_blocks; i++)
        stack->x[i] = arena_tensor(&work->save, cx->dtype, cx->rows->n_rows, model->config.width, "stack.x");
    params_acquire(model->params, stack->bucket, &w);
    stack_positions(model, stack, cx, work, &w, 1 - max_len, 2 * max_len - 1, max_len);
    stack_embed(model, stack, cx, stack->x[0], &w);
    for (int i = 0; i < stack->n_blocks; i++) {
        size_t mark = arena_mark(arena);
        run_block(model, stack, cx, arena, i, memory);
        if (forget)
            arena_reset(arena, mark);
    }
    cx->layer = 0;
    Tensor y = stack_final_norm(cx, stack->x[stack->n_blocks], &w, &stack->final_norm);
    Dropout drop = ctx_dropout(cx, SITE_FINAL);
    if (drop.rate > 0)
        op_dropout_fwd(cx->dev, y, y, NO_TENSOR, &drop);
    params_release(model->params, stack->bucket);
    return y;
}

static void block_gradients(Model *model, Stack *stack, Ctx *cx, int i, Tensor dx, Tensor dmemory, Tensor dbias)
{
    int bucket = stack->first_block + i;
    BlockW w = { 0 }, g = { 0 };

    stack_enter_layer(model, stack, cx, i);
    params_acquire(model->params, bucket, &w);
    cx->g_beta = grads_acquire(model->params, bucket, &g);
    block_bwd(cx, dx, dmemory, dbias, &w, &g, &stack->blocks[i]);
    grads_ready(model->params, bucket);
    params_release(model->params, bucket);
}

/* beta is that of the stack's own gradients. */
static void embed_gradients(Model *model, Stack *stack, Ctx *cx, Tensor dx, const StackW *w, const StackW *g,
                            float beta)
{
    ModelW shared = { 0 }, dshared = { 0 };

    cx->layer = 0;
    params_acquire(model->params, BUCKET_SHARED, &shared);
    float table_beta = grads_acquire(model->params, BUCKET_SHARED, &dshared);
    EmbedW embed = embed_weights(model, w, shared.shared), dembed = embed_weights(model, g, dshared.shared);
    if (tensor_present(dembed.positions) && model->config.position_offset > 0 && beta == 0)
        op_fill(cx->dev, tensor_slice_rows(g->embed.positions, 0, model->config.position_offset), 0);
    cx->g_beta = beta;
    embed_bwd(cx, dx, &embed, &dembed, table_beta, &stack->embed);
    grads_ready(model->params, BUCKET_SHARED);
    params_release(model->params, BUCKET_SHARED);
}

/* dx (N,C), of the last block's output, from dy, of the stack's. */
static Tensor final_gradient(Stack *stack, Ctx *cx, Tensor dy, const StackW *w, const StackW *g)
{
    Dropout drop = ctx_dropout(cx, SITE_FINAL);

    if (drop.rate > 0)
        op_dropout_bwd(cx->dev, dy, dy, &drop);
    if (!tensor_present(w->final_norm.w))
        return dy;
    Tensor dx = arena_tensor(cx->scratch, cx->dtype, dy.d[0], dy.d[1], "stack.dx");
    norm_bwd(cx, dx, dy, NO_TENSOR, w->final_norm, g->final_norm, &stack->final_norm);
    return dx;
}

void stack_bwd(Model *model, Stack *stack, Ctx *cx, Workspace *work, Tensor dy, Tensor memory, Tensor dmemory,
               const ModelLoss *loss)
{
    size_t mark = arena_mark(&work->scratch);
    RelposSpec relpos = cx->relpos;
    Tensor dbias = NO_TENSOR;
    StackW w = { 0 }, g = { 0 };

    params_acquire(model->params, stack->bucket, &w);
    float beta = grads_acquire(model->params, stack->bucket, &g);
    cx->layer = 0;
    cx->g_beta = beta;
    Tensor dx = final_gradient(stack, cx, dy, &w, &g);
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
    relpos.first = 1 - cx->rows->max_len;
    if (tensor_present(dbias))
        op_relpos_bwd(cx->dev, g.relpos, dbias, &relpos, beta);
    embed_gradients(model, stack, cx, dx, &w, &g, beta);
    grads_ready(model->params, stack->bucket);
    params_release(model->params, stack->bucket);
    arena_reset(&work->scratch, mark);
}
