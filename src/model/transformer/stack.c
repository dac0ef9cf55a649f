#include "model/transformer/stack.h"

#include "device/profile.h"
#include "model/lora/lora.h"
#include "nn/rows.h"

/* ---- the configuration as layers read it ---- */

static ModelSpec model_spec(const ModelConfig *config, const TensorParallel *tp)
{
    int32_t size = tensor_parallel_size(tp), heads = (int32_t)config->heads / size;
    return (ModelSpec){ .heads = heads,
                        .kv_heads = (int32_t)model_config_kv_heads(config) * tensor_parallel_copies(tp) / size,
                        .first_head = heads * tensor_parallel_rank(tp),
                        .all_heads = (int32_t)config->heads,
                        .vocab = config->vocab,
                        .activation = (Activation)config->activation,
                        .norm = (NormKind)config->norm,
                        .post_norm = config->post_norm,
                        .eps = (float)config->norm_eps,
                        .score_scale = config->scale_scores ? 1 / sqrtf((float)config->head_dim) : 1,
                        .distance_keys = config->position == POSITION_RELATIVE_KEY_QUERY,
                        .embed_scale = config->scale_embedding ? sqrtf((float)config->width) : 1,
                        .dropout = (float)config->dropout,
                        .attention_dropout = (float)model_config_attention_dropout(config),
                        .activation_dropout = (float)model_config_activation_dropout(config),
                        .final_dropout = (float)(config->inner_dropout ? config->dropout : 0),
                        .lora_scale = (float)lora_scale(&config->lora),
                        .lora_dropout = (float)config->lora.dropout };
}

/* The LayerSpec of the embedding and the final norm. */
static LayerSpec outer_spec(const ModelConfig *config, bool decoder)
{
    return (LayerSpec){ .decoder = decoder,
                        .relpos = { .n_buckets = (int32_t)config->rel_buckets,
                                    .max_distance = (int32_t)config->rel_max_distance,
                                    .rule = (RelposRule)config->rel_rule,
                                    .bidirectional = !decoder } };
}

/* The LayerSpec of block i. layout: of its self-attention; NULL means dense. */
static LayerSpec block_spec(const ModelConfig *config, bool decoder, int i, const BlockLayout *layout)
{
    LayerSpec spec = outer_spec(config, decoder);
    bool local = config->window > 0 && (config->global_every == 0 || i % config->global_every != 0);
    int64_t window = decoder ? config->window - 1 : config->window / 2;

    spec.index = i;
    spec.block = (decoder ? (int)config->n_enc : 0) + i;
    spec.window = local ? (int32_t)MAX(1, window) : 0;
    spec.layout = layout;
    spec.score_rescale = config->qk_layer_scaling ? (float)(i + 1) : 0;
    spec.local_rotary = local;
    return spec;
}

/* ---- a stage's part of an encoder or a decoder ---- */

/* Copies n integers of a layout to the device. false: no memory. */
static bool upload(Device *dev, BothSides *side, int64_t n)
{
    Tensor copy = tensor_vector(device_alloc(dev, (size_t)n * sizeof(int32_t)), DT_I32, n);
    side->device = copy.p;
    if (copy.p)
        tensor_upload(dev, copy, side->host);
    return copy.p != NULL;
}

static bool upload_layout(Device *dev, BlockLayout *layout)
{
    int64_t rows = (int64_t)layout->heads * layout->blocks;
    return upload(dev, &layout->first, rows + 1) && upload(dev, &layout->keys, layout->first.host[rows]);
}

bool stack_init(Stack *stack, Device *dev, const ModelConfig *config, ParamStore *params, Stage stage, bool decoder)
{
    bool sparse = config->sparsity.pattern != SPARSE_NONE && decoder == (config->family == FAMILY_GPT), done = true;
    *stack = (Stack){ .dev = dev,
                      .config = config,
                      .params = params,
                      .part = stage_part(config, stage, decoder),
                      .spec = model_spec(config, params_tensor_parallel(params)),
                      .tp = params_tensor_parallel(params),
                      .cp = params_context_parallel(params),
                      .outer = outer_spec(config, decoder),
                      .bucket = decoder ? BUCKET_DECODER : BUCKET_ENCODER,
                      .block_bucket = BUCKET_BLOCK + (decoder ? (int)config->n_enc : 0) };
    stack->layouts = g_new0(BlockLayout *, stack_blocks(stack));
    stack->layers = g_new(LayerSpec, stack_blocks(stack));
    for (int here = 0, i = stack->part.first; i < stack->part.end; here++, i++) {
        if (sparse) {
            stack->layouts[here] = sparsity_layout(&config->sparsity, config->max_positions, config->heads, i, decoder);
            done = upload_layout(dev, stack->layouts[here]) && done;
        }
        stack->layers[here] = block_spec(config, decoder, i, stack->layouts[here]);
    }
    return done;
}

void stack_clear(Stack *stack)
{
    for (int i = 0; i < stack_blocks(stack); i++)
        if (stack->layouts[i]) {
            device_free(stack->dev, (void *)(gintptr)stack->layouts[i]->first.device);
            device_free(stack->dev, (void *)(gintptr)stack->layouts[i]->keys.device);
            sparsity_layout_free(stack->layouts[i]);
        }
    g_free(stack->layouts);
    g_free(stack->layers);
}

void stack_pass_init(StackPass *pass, const Stack *stack)
{
    *pass = (StackPass){ .stack = stack,
                         .x = g_new0(Tensor, stack_blocks(stack) + 1),
                         .blocks = g_new0(BlockSave, stack_blocks(stack)) };
}

void stack_pass_clear(StackPass *pass)
{
    g_free(pass->x);
    g_free(pass->blocks);
}

void stack_context(StackPass *pass, Workspace *work, Arena *save, const Tokens *encoder_tokens, const ModelLoss *loss)
{
    const Stack *stack = pass->stack;
    pass->loss = loss;
    pass->recompute = &work->recompute;
    pass->cx = (Ctx){ .dev = stack->dev,
                      .precision = stack->dev->precision,
                      .model = &stack->spec,
                      .layer = &stack->outer,
                      .save = save,
                      .scratch = &work->scratch,
                      .tokens = &pass->tokens,
                      .encoder_tokens = encoder_tokens,
                      .seed = loss->seed,
                      .train = loss->train,
                      .tp = stack->tp,
                      .fp8 = loss->grad ? stack->fp8 : NULL };
}

bool stack_walk_next(BlockWalk *walk)
{
    const Stack *stack = walk->pass->stack;
    int n = stack_blocks(stack);

    if (walk->n_visited > 0)
        profile_end(stack->dev);
    if (walk->n_visited > 0 && walk->back)
        grads_ready(stack->params, stack->block_bucket + walk->i);
    if (walk->n_visited > 0)
        params_release(stack->params, stack->block_bucket + walk->i);
    if (walk->n_visited == n)
        return false;
    walk->n_visited++;
    walk->here = walk->back ? n - walk->n_visited : walk->n_visited - 1;
    walk->i = stack->part.first + walk->here;
    walk->cx = walk->pass->cx;
    walk->cx.layer = &stack->layers[walk->here];
    profile_begin(stack->dev, stack->outer.decoder ? "decoder block" : "encoder block", walk->i);
    walk->w = walk->g = block_absent();
    params_acquire(stack->params, stack->block_bucket + walk->i, &walk->w);
    if (walk->n_visited < n)
        params_prefetch(stack->params, stack->block_bucket + walk->i + (walk->back ? -1 : 1));
    if (walk->back)
        walk->beta = grads_acquire(stack->params, stack->block_bucket + walk->i, &walk->g);
    return true;
}

/* table (n, C): the sinusoids of position_ids 0 to n - 1. */
static void make_sinusoids(Tensor table, const Ctx *cx, const ModelConfig *config)
{
    int64_t zero = config->position_zero - config->position_offset;

    op_sinusoid_table(cx->dev, table, (int32_t)config->position_offset);
    if (config->position_zero >= 0 && zero >= 0 && zero < table.d[0])
        op_fill(cx->dev, tensor_slice_rows(table, zero, 1), 0);
}

void stack_positions(StackPass *pass, const StackW *w, int32_t first, int32_t n, int32_t n_positions)
{
    const Stack *stack = pass->stack;
    const ModelConfig *config = stack->config;
    Ctx *cx = &pass->cx;
    int64_t rotated = config->rotary_dim ? config->rotary_dim : config->head_dim;
    RelposSpec relpos = stack->outer.relpos;
    bool local = config->window > 0 && config->rotary_local > 0;

    relpos.first = first;
    pass->bias = cx->rotary[0] = cx->rotary[1] = pass->sinusoids = NO_TENSOR;
    if (tensor_present(w->relpos) || config->position == POSITION_ALIBI)
        pass->bias = arena_tensor(cx->save, cx->precision.compute, cx->model->heads, n, "stack.bias");
    if (tensor_present(w->relpos))
        op_relpos_fwd(cx->dev, pass->bias, w->relpos, &relpos);
    if (config->position == POSITION_ALIBI)
        op_alibi(cx->dev, pass->bias, first, cx->model->first_head, cx->model->all_heads);
    if (config->position == POSITION_SINUSOIDAL && stack->part.embeds) {
        pass->sinusoids = arena_tensor(cx->save, cx->precision.compute, n_positions, config->width, "stack.sinusoids");
        make_sinusoids(pass->sinusoids, cx, config);
    }
    if (config->position != POSITION_ROTARY)
        return;
    for (int i = 0; i < 2; i++) {
        cx->rotary[i] = arena_tensor(cx->save, cx->precision.compute, n_positions, rotated, "stack.rotary");
        op_rotary_table(cx->dev, cx->rotary[i], i && local ? config->rotary_local : config->rotary_base);
    }
}

/* The weights of the stack's embedding, or their gradients: with the table that encoder, decoder and head share, and
 * learned positions from model.position_offset on. */
static EmbeddingW embed_weights(const Stack *stack, const StackW *w, Tensor table)
{
    int64_t offset = stack->config->position_offset;
    EmbeddingW embed = w->embed;
    embed.table = table;
    if (tensor_present(embed.positions))
        embed.positions = tensor_slice_rows(embed.positions, offset, embed.positions.d[0] - offset);
    return embed;
}

void stack_embed(StackPass *pass, Tensor x, const StackW *w)
{
    const Stack *stack = pass->stack;
    ModelW shared = { 0 };

    params_acquire(stack->params, BUCKET_SHARED, &shared);
    EmbeddingW embed = embed_weights(stack, w, shared.shared);
    if (tensor_present(pass->sinusoids))
        embed.positions = pass->sinusoids;
    embedding_fwd(&pass->cx, x, &embed, &pass->embed);
    params_release(stack->params, BUCKET_SHARED);
}

/* The context of the walk's current block, which saves activations in `arena`. forget: backward does not need them. */
static Ctx block_ctx(const BlockWalk *walk, Arena *arena, bool forget)
{
    Ctx cx = walk->cx;
    cx.save = arena;
    cx.forget = forget;
    return cx;
}

/* Runs the walk's current block forward once more, from its input; its output is not added up again. */
static void run_block_again(const BlockWalk *walk, Tensor encoder_output)
{
    const StackPass *pass = walk->pass;
    size_t mark = arena_mark(walk->cx.scratch);
    Residual stream = residual_begin(&walk->cx, pass->x[walk->here]);
    const Ctx cx = block_ctx(walk, pass->recompute, false);

    block_fwd(&cx, &stream, pass->x[walk->here + 1], encoder_output, pass->bias, &walk->w, &pass->blocks[walk->here]);
    arena_reset(walk->cx.scratch, mark);
}

/* The final norm of the stream, or, if the model has none, the stream in the compute dtype: its tensor or a copy. */
static Tensor final_norm(const Ctx *cx, Residual *stream, const StackW *w, NormSave *save)
{
    if (!tensor_present(w->final_norm.w))
        return ctx_activation(cx, residual_sum(cx, stream));
    Tensor y = arena_tensor(cx->save, cx->precision.compute, stream->x.d[0], stream->x.d[1], "stack.y");
    residual_norm(cx, y, stream, w->final_norm, save);
    return y;
}

void stack_begin(StackPass *pass)
{
    const Stack *stack = pass->stack;
    const Ctx *cx = &pass->cx;

    for (int i = 0; i <= stack_blocks(stack); i++)
        pass->x[i] = arena_tensor(cx->save, cx->precision.residual, rows_count(cx), stack->config->width, "stack.x");
}

/* x[0] = this rank's rows of the embedding, of which every rank computes all. */
static void embed_rows(StackPass *pass, const StackW *w)
{
    const Ctx *cx = &pass->cx;
    size_t mark = arena_mark(cx->scratch);

    if (!rows_divided(cx)) {
        stack_embed(pass, pass->x[0], w);
        return;
    }
    Tensor all = arena_tensor(cx->scratch, cx->precision.residual, cx->tokens->n, pass->x[0].d[1], "stack.embedding");
    stack_embed(pass, all, w);
    op_copy(cx->dev, pass->x[0], rows_own(cx, all));
    arena_reset(cx->scratch, mark);
}

/* The result of a stage: the output of the last block, of which it has this rank's rows, or, where the stack ends, the
 * final norm of the rows of all ranks. */
static Tensor finish_stack(StackPass *pass, Residual *stream, const StackW *w)
{
    const Ctx *cx = &pass->cx;

    if (!pass->stack->part.finishes)
        return residual_sum(cx, stream);
    if (rows_divided(cx)) {
        Tensor own = residual_sum(cx, stream);
        stream->x = arena_tensor(cx->save, cx->precision.residual, cx->tokens->n, own.d[1], "stack.output");
        rows_gather(cx, stream->x, own);
    }
    return final_norm(cx, stream, w, &pass->final_norm);
}

/* Dropout after the final norm; rate 0 if the final norm is in another stage. */
static Dropout final_dropout(const Stack *stack, const Ctx *cx)
{
    return stack->part.finishes ? ctx_dropout(cx, SITE_FINAL) : (Dropout){ 0 };
}

Tensor stack_fwd(StackPass *pass, Tensor encoder_output)
{
    const Stack *stack = pass->stack;
    const ModelLoss *loss = pass->loss;
    const Ctx *cx = &pass->cx;
    Arena *arena = loss->recompute ? pass->recompute : cx->save;
    bool forget = loss->recompute || !loss->grad; /* whether a block's activations are discarded once it has run */
    int32_t max_len = cx->tokens->seq.max_len;
    StackW w = { 0 };

    params_acquire(stack->params, stack->bucket, &w);
    stack_positions(pass, &w, 1 - max_len, 2 * max_len - 1, max_len);
    if (stack->part.embeds)
        embed_rows(pass, &w);
    size_t scratch = arena_mark(cx->scratch);
    Residual stream = residual_begin(cx, pass->x[0]);
    for (BlockWalk walk = { .pass = pass }; stack_walk_next(&walk);) {
        size_t mark = arena_mark(arena);
        const Ctx own = block_ctx(&walk, arena, forget);
        block_fwd(&own, &stream, pass->x[walk.here + 1], encoder_output, pass->bias, &walk.w, &pass->blocks[walk.here]);
        if (forget)
            arena_reset(arena, mark);
    }
    Dropout drop = final_dropout(stack, cx);
    Tensor y = finish_stack(pass, &stream, &w);
    if (drop.rate > 0)
        op_dropout_fwd(cx->dev, y, y, NO_TENSOR, &drop);
    arena_reset(cx->scratch, scratch);
    params_release(stack->params, stack->bucket);
    return y;
}

/* Backward of the embedding. beta: factor on the old value of all gradients except that of the shared table. */
static void embed_gradients(StackPass *pass, Tensor dx, const StackW *w, const StackW *g, float beta)
{
    const Stack *stack = pass->stack;
    /* Rows of the position table before position_offset: never read, so their gradient is 0. */
    int64_t unused = stack->config->position_offset;
    const Ctx *cx = &pass->cx;
    ModelW shared = { 0 }, dshared = { 0 };

    params_acquire(stack->params, BUCKET_SHARED, &shared);
    float table_beta = grads_acquire(stack->params, BUCKET_SHARED, &dshared);
    EmbeddingW embed = embed_weights(stack, w, shared.shared), dembed = embed_weights(stack, g, dshared.shared);
    if (tensor_present(dembed.positions) && unused > 0 && beta == 0)
        op_fill(cx->dev, tensor_slice_rows(g->embed.positions, 0, unused), 0);
    embedding_bwd(cx, dx, &embed, &dembed, beta, table_beta, &pass->embed);
    grads_ready(stack->params, BUCKET_SHARED);
    params_release(stack->params, BUCKET_SHARED);
}

/* Dropout of the output of the last sublayer of block number `here` of this stage. */
static Dropout dropout_of_block(const StackPass *pass, int here)
{
    Ctx cx = pass->cx;
    cx.layer = &pass->stack->layers[here];
    return rows_dropout(&cx, SITE_MLP_OUT);
}

/* Backward of what follows the last block, in place: dy becomes the gradient of that block's output, which is returned.
 * dy is of this rank's rows, or, where the stack ends, of all ranks'. */
static ResidualGrad finish_bwd(StackPass *pass, Tensor dy, const StackW *w, const StackW *g, float beta)
{
    const Stack *stack = pass->stack;
    const Ctx *cx = &pass->cx;
    Dropout drop = final_dropout(stack, cx), last = { 0 };
    bool known = stack_blocks(stack) > 0 && !cx->model->post_norm && !rows_divided(cx);
    ResidualGrad grad = residual_grad_begin(cx, dy);

    if (known)
        last = dropout_of_block(pass, stack_blocks(stack) - 1);
    if (drop.rate > 0)
        op_dropout_bwd(cx->dev, dy, dy, &drop);
    if (stack->part.finishes && tensor_present(w->final_norm.w))
        residual_norm_bwd(cx, &grad, known ? &last : NULL, dy, NO_TENSOR,
                          (NormBack){ w->final_norm, g->final_norm, beta, &pass->final_norm });
    if (stack->part.finishes)
        grad.dx = rows_own(cx, dy);
    return grad;
}

Tensor stack_bwd(StackPass *pass, Tensor dy, Tensor encoder_output, Tensor d_encoder_output)
{
    const Stack *stack = pass->stack;
    const Ctx *cx = &pass->cx;
    size_t mark = arena_mark(cx->scratch);
    RelposSpec relpos = stack->outer.relpos;
    Tensor dbias = NO_TENSOR;
    StackW w = { 0 }, g = { 0 };

    params_acquire(stack->params, stack->bucket, &w);
    float beta = grads_acquire(stack->params, stack->bucket, &g);
    ResidualGrad grad = finish_bwd(pass, dy, &w, &g, beta);
    if (tensor_present(g.relpos)) {
        dbias = arena_tensor(cx->scratch, cx->precision.grad, pass->bias.d[0], pass->bias.d[1], "stack.dbias");
        op_fill(cx->dev, dbias, 0);
    }
    for (BlockWalk walk = { .pass = pass, .back = true }; stack_walk_next(&walk);) {
        size_t block = arena_mark(pass->recompute);
        Dropout before = walk.here > 0 ? dropout_of_block(pass, walk.here - 1) : (Dropout){ 0 };
        grad.next = walk.here > 0 ? &before : NULL;
        if (pass->loss->recompute)
            run_block_again(&walk, encoder_output);
        block_bwd(&walk.cx, &grad, d_encoder_output, dbias, &walk.w, &walk.g, walk.beta, &pass->blocks[walk.here]);
        arena_reset(pass->recompute, block);
    }
    relpos.first = 1 - cx->tokens->seq.max_len;
    if (tensor_present(dbias))
        op_relpos_bwd(cx->dev, g.relpos, dbias, &relpos, beta);
    if (stack->part.embeds)
        embed_gradients(pass, rows_whole(cx, grad.dx), &w, &g, beta);
    grads_ready(stack->params, stack->bucket);
    params_release(stack->params, stack->bucket);
    arena_reset(cx->scratch, mark);
    return grad.dx;
}
