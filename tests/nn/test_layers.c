/* Every layer's backward against central differences of its forward, in double precision, with dropout on. */
#include "nn/block.h"

#include <glib.h>
#include <math.h>

#define WIDTH      6
#define HEADS      2
#define ATTENTION  10
#define FFN        7
#define VOCAB      9
#define RANK       3
#define STEP       2e-5
#define TOLERANCE  1e-8 /* of a gradient tensor's norm, per element */
#define MAX_VARS   24
#define ARENA_SIZE (1 << 20)

/* What a layer's backward does to a gradient. */
typedef enum Kind { WRITTEN, PARAMETER, ADDED } Kind;

typedef struct Var {
    const char *name;
    Kind kind;
    Tensor value, grad;
} Var;

typedef struct Fixture {
    Arena vars_arena, save, scratch; /* the last two are emptied before each pass */
    Batch *batch;
    Tokens enc, dec;
    ModelSpec model;
    LayerSpec layer;
    Ctx cx;
    float beta; /* of the gradients, in this backward */
    Var vars[MAX_VARS];
    int n_vars;
    Philox rng;
    Tensor x, dx, encoder_out, dencoder_out, bias, dbias;
    Tensor y, dy; /* the loss is Σ y · dy */
    BlockW w, g;
    BlockSave saved;
    NormSave norm;
    NormSave embed;
    HeadW head;
} Fixture;

/* setup declares the variables; loss runs forward; backward follows a forward. */
typedef struct Case {
    const char *path;
    bool decoder, gated;
    void (*setup)(Fixture *f);
    double (*loss)(Fixture *f);
    void (*backward)(Fixture *f);
    Batch *(*batch)(void); /* NULL means new_batch */
} Case;

static void fill_normal(Fixture *f, Tensor t)
{
    for (int64_t i = 0; i < tensor_count(t); i++)
        ((double *)t.p)[i] = philox_normal(&f->rng);
}

static Tensor new_tensor(Fixture *f, int64_t rows, int64_t cols)
{
    return cols ? arena_tensor(&f->vars_arena, DT_F64, rows, cols, "var")
                : arena_vector(&f->vars_arena, DT_F64, rows, "var");
}

/* cols 0: a vector. The gradient starts as rubbish where it will be written. */
static void add_var(Fixture *f, const char *name, Kind kind, int64_t rows, int64_t cols, Tensor *value, Tensor *grad)
{
    Var *var = &f->vars[f->n_vars++];
    g_assert_cmpint(f->n_vars, <=, MAX_VARS);
    *var = (Var){ .name = name, .kind = kind, .value = new_tensor(f, rows, cols), .grad = new_tensor(f, rows, cols) };
    fill_normal(f, var->value);
    op_fill(f->cx.dev, var->grad, kind == ADDED ? 0 : NAN);
    *value = var->value;
    *grad = var->grad;
}

static void add_x(Fixture *f)
{
    int64_t n = f->cx.tokens->n;
    add_var(f, "x", WRITTEN, n, WIDTH, &f->x, &f->dx);
    f->y = new_tensor(f, n, WIDTH);
    f->dy = new_tensor(f, n, WIDTH);
    fill_normal(f, f->dy);
}

static double sum_of_products(Tensor a, Tensor b)
{
    double sum = 0;
    for (int64_t i = 0; i < tensor_count(a); i++)
        sum += ((double *)a.p)[i] * ((double *)b.p)[i];
    return sum;
}

/* A sublayer finds dy in dx. */
static ResidualGrad start_residual(Fixture *f)
{
    op_copy(f->cx.dev, f->dx, f->dy);
    return (ResidualGrad){ .dx = f->dx, .dout = new_tensor(f, f->cx.tokens->n, WIDTH) };
}

static void linear_setup(Fixture *f)
{
    add_x(f);
    add_var(f, "w", PARAMETER, WIDTH, WIDTH, &f->w.mlp.wo.w, &f->g.mlp.wo.w);
}

static double linear_loss(Fixture *f)
{
    linear_fwd(&f->cx, f->y, f->x, &f->w.mlp.wo);
    return sum_of_products(f->y, f->dy);
}

static void linear_backward(Fixture *f)
{
    linear_bwd(&f->cx, f->dx, 0, f->dy, f->x, &f->w.mlp.wo, &f->g.mlp.wo, f->beta);
}

/* Between `in` and `out` channels. */
static void add_lora(Fixture *f, const char *name, int64_t out, int64_t in, LoraW *w, LoraW *g)
{
    add_var(f, name, PARAMETER, RANK, in, &w->a, &g->a);
    add_var(f, name, PARAMETER, out, RANK, &w->b, &g->b);
    op_scale(f->cx.dev, w->b, w->b, 0.2f); /* scores of attention that are no steps */
}

/* Of n equal parts of a fused matrix. */
static void add_parts_lora(Fixture *f, const char *name, int n, Linear *w, Linear *g)
{
    const int64_t rows = w->w.d[0] / n;
    for (int i = 0; i < n; i++) {
        w->part[i].w = tensor_slice_rows(w->w, i * rows, rows);
        add_lora(f, name, rows, w->w.d[1], &w->part[i].lora, &g->part[i].lora);
    }
}

static void lora_setup(Fixture *f)
{
    linear_setup(f);
    add_lora(f, "lora", WIDTH, WIDTH, &f->w.mlp.wo.lora, &f->g.mlp.wo.lora);
}

static void norm_setup(Fixture *f)
{
    add_x(f);
    add_var(f, "w", PARAMETER, WIDTH, 0, &f->w.mlp.norm.w, &f->g.mlp.norm.w);
}

/* x + norm(x), as a sublayer uses it. */
static double norm_loss(Fixture *f)
{
    norm_fwd(&f->cx, f->y, f->x, f->w.mlp.norm, &f->norm);
    return sum_of_products(f->y, f->dy) + sum_of_products(f->x, f->dy);
}

static void norm_backward(Fixture *f)
{
    op_copy(f->cx.dev, f->dx, f->dy);
    norm_bwd(&f->cx, f->dx, f->dy, f->dx, (NormBack){ f->w.mlp.norm, f->g.mlp.norm, f->beta, &f->norm });
}

static void embed_setup(Fixture *f)
{
    add_var(f, "table", PARAMETER, VOCAB, WIDTH, &f->x, &f->dx);
    f->y = new_tensor(f, f->cx.tokens->n, WIDTH);
    f->dy = new_tensor(f, f->cx.tokens->n, WIDTH);
    int32_t n_used = f->batch->enc.n_tokens;
    fill_normal(f, tensor_slice_rows(f->dy, 0, n_used)); /* no gradient comes from unused rows */
    op_fill(f->cx.dev, tensor_slice_rows(f->dy, n_used, f->cx.tokens->n - n_used), 0);
}

static double embed_loss(Fixture *f)
{
    embedding_fwd(&f->cx, f->y, &(EmbeddingW){ .table = f->x }, &f->embed);
    return sum_of_products(f->y, f->dy);
}

static void embed_backward(Fixture *f)
{
    embedding_bwd(&f->cx, f->dy, &(EmbeddingW){ .table = f->x }, &(EmbeddingW){ .table = f->dx }, f->beta, f->beta,
                  &f->embed);
}

static void add_self(Fixture *f)
{
    add_var(f, "bias", ADDED, HEADS, 2 * f->cx.tokens->seq.max_len - 1, &f->bias, &f->dbias);
    add_var(f, "self.norm", PARAMETER, WIDTH, 0, &f->w.self.norm.w, &f->g.self.norm.w);
    add_var(f, "self.qkv", PARAMETER, 3 * ATTENTION, WIDTH, &f->w.self.qkv.w, &f->g.self.qkv.w);
    add_var(f, "self.o", PARAMETER, WIDTH, ATTENTION, &f->w.self.o.w, &f->g.self.o.w);
}

static void self_setup(Fixture *f)
{
    add_x(f);
    add_self(f);
}

/* Adapters of parts of the fused product, of all of it and of the output. */
static void self_lora_setup(Fixture *f)
{
    AttentionW *w = &f->w.self, *g = &f->g.self;
    self_setup(f);
    add_parts_lora(f, "self.part.lora", 3, &w->qkv, &g->qkv);
    add_lora(f, "self.qkv.lora", 3 * ATTENTION, WIDTH, &w->qkv.lora, &g->qkv.lora);
    add_lora(f, "self.o.lora", WIDTH, ATTENTION, &w->o.lora, &g->o.lora);
}

static void context_setup(Fixture *f)
{
    ContextQueryW *w = &f->w.self.context, *g = &f->g.self.context;
    add_x(f);
    add_var(f, "self.norm", PARAMETER, WIDTH, 0, &f->w.self.norm.w, &f->g.self.norm.w);
    add_var(f, "context.hidden", PARAMETER, WIDTH, WIDTH, &w->hidden, &g->hidden);
    add_var(f, "context.score", PARAMETER, HEADS, WIDTH, &w->score, &g->score);
    add_var(f, "context.mix", PARAMETER, WIDTH, 2 * WIDTH, &w->mix, &g->mix);
    add_var(f, "context.q", PARAMETER, ATTENTION / HEADS, WIDTH, &w->q, &g->q);
    add_var(f, "self.kv", PARAMETER, 2 * ATTENTION, WIDTH, &f->w.self.qkv.w, &f->g.self.qkv.w);
    add_var(f, "self.o", PARAMETER, WIDTH, ATTENTION, &f->w.self.o.w, &f->g.self.o.w);
}

/* The block's own table, in place of a bias that it is given. */
static void own_bias_setup(Fixture *f)
{
    self_setup(f);
    f->n_vars = 1; /* all but x */
    f->bias = f->dbias = NO_TENSOR;
    f->layer.relpos = (RelposSpec){ .n_buckets = 8, .max_distance = 5, .bidirectional = !f->layer.decoder };
    add_var(f, "self.relpos", PARAMETER, 8, HEADS, &f->w.self.relpos, &f->g.self.relpos);
}

static double loss_of(Fixture *f, Residual *stream)
{
    residual_sum(&f->cx, stream);
    arena_reset(&f->scratch, 0);
    return sum_of_products(f->y, f->dy);
}

static double self_loss(Fixture *f)
{
    Residual stream = residual_begin(&f->cx, f->x);
    attention_fwd(&f->cx, &stream, f->y, NO_TENSOR, f->bias, &f->w.self, &f->saved.self);
    return loss_of(f, &stream);
}

static void self_backward(Fixture *f)
{
    ResidualGrad grad = start_residual(f);
    attention_bwd(&f->cx, &grad, NO_TENSOR, f->dbias, &f->w.self, &f->g.self, f->beta, &f->saved.self);
}

static void add_cross(Fixture *f)
{
    add_var(f, "encoder_out", ADDED, f->cx.encoder_tokens->n, WIDTH, &f->encoder_out, &f->dencoder_out);
    add_var(f, "cross.norm", PARAMETER, WIDTH, 0, &f->w.cross.norm.w, &f->g.cross.norm.w);
    add_var(f, "cross.q", PARAMETER, ATTENTION, WIDTH, &f->w.cross.q.w, &f->g.cross.q.w);
    add_var(f, "cross.kv", PARAMETER, 2 * ATTENTION, WIDTH, &f->w.cross.kv.w, &f->g.cross.kv.w);
    add_var(f, "cross.o", PARAMETER, WIDTH, ATTENTION, &f->w.cross.o.w, &f->g.cross.o.w);
}

static void cross_setup(Fixture *f)
{
    add_x(f);
    add_cross(f);
}

static void cross_lora_setup(Fixture *f)
{
    AttentionW *w = &f->w.cross, *g = &f->g.cross;
    cross_setup(f);
    add_lora(f, "cross.q.lora", ATTENTION, WIDTH, &w->q.lora, &g->q.lora);
    add_parts_lora(f, "cross.part.lora", 2, &w->kv, &g->kv);
    add_lora(f, "cross.o.lora", WIDTH, ATTENTION, &w->o.lora, &g->o.lora);
}

static double cross_loss(Fixture *f)
{
    Residual stream = residual_begin(&f->cx, f->x);
    attention_fwd(&f->cx, &stream, f->y, f->encoder_out, NO_TENSOR, &f->w.cross, &f->saved.cross);
    return loss_of(f, &stream);
}

static void cross_backward(Fixture *f)
{
    ResidualGrad grad = start_residual(f);
    attention_bwd(&f->cx, &grad, f->dencoder_out, NO_TENSOR, &f->w.cross, &f->g.cross, f->beta, &f->saved.cross);
}

static void add_mlp(Fixture *f)
{
    bool gated = f->model.activation == ACT_GELU_TANH;
    add_var(f, "mlp.norm", PARAMETER, WIDTH, 0, &f->w.mlp.norm.w, &f->g.mlp.norm.w);
    add_var(f, "mlp.wi", PARAMETER, gated ? 2 * FFN : FFN, WIDTH, &f->w.mlp.wi.w, &f->g.mlp.wi.w);
    add_var(f, "mlp.wo", PARAMETER, WIDTH, FFN, &f->w.mlp.wo.w, &f->g.mlp.wo.w);
}

static void mlp_setup(Fixture *f)
{
    add_x(f);
    add_mlp(f);
}

static void mlp_lora_setup(Fixture *f)
{
    mlp_setup(f);
    add_parts_lora(f, "mlp.part.lora", 2, &f->w.mlp.wi, &f->g.mlp.wi);
    add_lora(f, "mlp.wi.lora", 2 * FFN, WIDTH, &f->w.mlp.wi.lora, &f->g.mlp.wi.lora);
    add_lora(f, "mlp.wo.lora", WIDTH, FFN, &f->w.mlp.wo.lora, &f->g.mlp.wo.lora);
}

static double mlp_loss(Fixture *f)
{
    Residual stream = residual_begin(&f->cx, f->x);
    mlp_fwd(&f->cx, &stream, f->y, &f->w.mlp, &f->saved.mlp);
    return loss_of(f, &stream);
}

static void mlp_backward(Fixture *f)
{
    ResidualGrad grad = start_residual(f);
    mlp_bwd(&f->cx, &grad, &f->w.mlp, &f->g.mlp, f->beta, &f->saved.mlp);
}

static void block_setup(Fixture *f)
{
    add_x(f);
    add_self(f);
    if (f->layer.decoder)
        add_cross(f);
    add_mlp(f);
}

static double block_loss(Fixture *f)
{
    Residual stream = residual_begin(&f->cx, f->x);
    block_fwd(&f->cx, &stream, f->y, f->encoder_out, f->bias, &f->w, &f->saved);
    return loss_of(f, &stream);
}

static void block_backward(Fixture *f)
{
    ResidualGrad grad = start_residual(f);
    block_bwd(&f->cx, &grad, f->dencoder_out, f->dbias, &f->w, &f->g, f->beta, &f->saved);
}

static void head_setup(Fixture *f)
{
    add_x(f);
    add_var(f, "w", PARAMETER, VOCAB, WIDTH, &f->head.w, &f->head.dw);
    f->head.scale = 0.4f;
}

static double head_pass(Fixture *f, bool grad)
{
    double sums[XENT_STATS];
    int64_t n = f->batch->n_targets;
    Tensor weights = arena_vector(&f->save, DT_F64, n, "weights");
    op_fill(f->cx.dev, weights, 1);
    const XentSpec xent = { .label_smoothing = 0.125f, .z_loss = 0.25f, .scale = 0.5f, .grad = grad };
    const HeadRows rows = { tensor_vector(f->batch->target_indices, DT_I32, n),
                            tensor_vector(f->batch->target_ids, DT_I32, n), weights };
    if (grad)
        op_fill(f->cx.dev, f->dx, 0);
    head_loss(&f->cx, tensor_vector(sums, DT_F64, XENT_STATS), f->dx, f->x, &f->head, &rows, &xent);
    g_assert_cmpfloat(sums[XENT_WEIGHT], ==, (double)n);
    return sums[XENT_LOSS] * (double)xent.scale;
}

static double head_forward(Fixture *f)
{
    return head_pass(f, false);
}

static void head_backward(Fixture *f)
{
    head_pass(f, true);
}

/* Eight sequences of one or two tokens: with two heads more than are pooled at once. */
static Batch *batch_of_short_sequences(void)
{
    static const int32_t ids[] = { 7, 2 };
    Batch *batch = batch_new_packed(2, 4, 6, 4);
    for (int i = 0; i < 8; i++)
        batch_add(batch, i, ids, 1 + i % 2, ids, 1, 0);
    return batch;
}

/* Three packed samples of different lengths, and rows to spare. */
static Batch *new_batch(void)
{
    static const int n_inputs[] = { 4, 1, 3 }, n_targets[] = { 2, 3, 4 };
    static const int32_t ids[] = { 3, 8, 1, 5, 2 };
    Batch *batch = batch_new(3, 4, 4);
    for (int i = 0; i < 3; i++)
        batch_add(batch, 40 + i, ids + i % 2, n_inputs[i], ids + (i + 1) % 2, n_targets[i], 0);
    return batch;
}

static const Case cases[] = {
    { "/linear/bwd_matches_finite_difference", false, false, linear_setup, linear_loss, linear_backward, NULL },
    { "/lora/bwd_matches_finite_difference", false, false, lora_setup, linear_loss, linear_backward, NULL },
    { "/lora/self_bwd_matches_finite_difference", false, false, self_lora_setup, self_loss, self_backward, NULL },
    { "/lora/cross_bwd_matches_finite_difference", true, false, cross_lora_setup, cross_loss, cross_backward, NULL },
    { "/lora/gated_mlp_bwd_matches_finite_difference", false, true, mlp_lora_setup, mlp_loss, mlp_backward, NULL },
    { "/norm/bwd_matches_finite_difference", false, false, norm_setup, norm_loss, norm_backward, NULL },
    { "/embed/bwd_matches_finite_difference", false, false, embed_setup, embed_loss, embed_backward, NULL },
    { "/attention/self_bwd_matches_finite_difference", false, false, self_setup, self_loss, self_backward, NULL },
    { "/attention/causal_bwd_matches_finite_difference", true, false, self_setup, self_loss, self_backward, NULL },
    { "/attention/own_bias_bwd_matches_finite_difference", true, false, own_bias_setup, self_loss, self_backward,
      NULL },
    { "/attention/context_query_bwd_matches_finite_difference", false, false, context_setup, self_loss, self_backward,
      NULL },
    { "/attention/context_query_of_parts_bwd_matches_finite_difference", false, false, context_setup, self_loss,
      self_backward, batch_of_short_sequences },
    { "/attention/cross_bwd_matches_finite_difference", true, false, cross_setup, cross_loss, cross_backward, NULL },
    { "/mlp/relu_bwd_matches_finite_difference", false, false, mlp_setup, mlp_loss, mlp_backward, NULL },
    { "/mlp/gated_bwd_matches_finite_difference", false, true, mlp_setup, mlp_loss, mlp_backward, NULL },
    { "/block/encoder_bwd_matches_finite_difference", false, true, block_setup, block_loss, block_backward, NULL },
    { "/block/decoder_bwd_matches_finite_difference", true, true, block_setup, block_loss, block_backward, NULL },
    { "/head/bwd_matches_finite_difference", true, false, head_setup, head_forward, head_backward, NULL },
};

static void fixture_open(Fixture *f, const Case *c)
{
    Device *dev = device_open_reference();
    *f =
        (Fixture){ .batch = c->batch ? c->batch() : new_batch(), .rng = philox_open(philox_key(5, PHILOX_INIT, 0), 1) };
    arena_init(&f->vars_arena, "vars", device_alloc(dev, ARENA_SIZE), ARENA_SIZE);
    arena_init(&f->save, "save", device_alloc(dev, ARENA_SIZE), ARENA_SIZE);
    arena_init(&f->scratch, "scratch", device_alloc(dev, ARENA_SIZE), ARENA_SIZE);
    f->enc = tokens_upload(dev, &f->vars_arena, &f->batch->enc);
    f->dec = tokens_upload(dev, &f->vars_arena, &f->batch->dec);
    tokens_upload_firsts(&f->enc, dev, &f->vars_arena, &f->batch->enc);
    f->w = block_absent();
    f->model = (ModelSpec){ .heads = HEADS,
                            .kv_heads = HEADS,
                            .activation = c->gated ? ACT_GELU_TANH : ACT_RELU,
                            .eps = 1e-6f,
                            .score_scale = 1,
                            .embed_scale = 1.5f,
                            .dropout = 0.2f,
                            .attention_dropout = 0.2f,
                            .activation_dropout = 0.2f,
                            .lora_scale = 0.7f,
                            .lora_dropout = 0.3f };
    f->layer = (LayerSpec){ .index = 3, .decoder = c->decoder };
    f->cx = (Ctx){ .dev = dev,
                   .precision = precision_uniform(DT_F64),
                   .model = &f->model,
                   .layer = &f->layer,
                   .save = &f->save,
                   .scratch = &f->scratch,
                   .tokens = c->decoder ? &f->dec : &f->enc,
                   .encoder_tokens = c->decoder ? &f->enc : NULL,
                   .seed = 11,
                   .train = true };
    c->setup(f);
}

static void fixture_close(Fixture *f)
{
    Device *dev = f->cx.dev;
    device_free(dev, f->vars_arena.base);
    device_free(dev, f->save.base);
    device_free(dev, f->scratch.base);
    batch_free(f->batch);
    device_close(dev);
}

static double run_loss(Fixture *f, const Case *c)
{
    arena_reset(&f->save, 0);
    double loss = c->loss(f);
    g_assert_cmpint((gint64)arena_mark(&f->scratch), ==, 0); /* given back */
    return loss;
}

static void run_backward(Fixture *f, const Case *c, float beta)
{
    run_loss(f, c);
    f->beta = f->head.beta = beta;
    c->backward(f);
    g_assert_cmpint((gint64)arena_mark(&f->scratch), ==, 0);
}

/* The five-point formula: its error falls with the fourth power of the step. */
static double central_difference(Fixture *f, const Case *c, double *w)
{
    static const double weights[] = { 1, -8, 0, 8, -1 };
    double kept = *w, sum = 0;
    for (int i = -2; i <= 2; i++) {
        *w = kept + i * STEP;
        sum += i ? weights[i + 2] * run_loss(f, c) : 0;
    }
    *w = kept;
    return sum / (12 * STEP);
}

/* times: how often backward has run. */
static void check_var(Fixture *f, const Case *c, const Var *var, int times)
{
    double norm = sqrt(sum_of_products(var->grad, var->grad)), factor = var->kind == WRITTEN ? 1 : times;
    g_assert_cmpfloat(norm, >, 0);
    for (int64_t i = 0; i < tensor_count(var->value); i++) {
        double analytic = ((double *)var->grad.p)[i];
        double numeric = factor * central_difference(f, c, (double *)var->value.p + i);
        if (!(fabs(analytic - numeric) <= TOLERANCE * fmax(norm, 1)))
            g_error("%s: d%s[%d] is %.12g, by differences %.12g, after %d passes", c->path, var->name, (int)i, analytic,
                    numeric, times);
    }
}

static void bwd_matches_finite_difference(const void *data)
{
    const Case *c = data;
    Fixture f;
    fixture_open(&f, c);
    run_backward(&f, c, 0);
    for (int i = 0; i < f.n_vars; i++)
        check_var(&f, c, &f.vars[i], 1);
    run_backward(&f, c, 1);
    for (int i = 0; i < f.n_vars; i++)
        check_var(&f, c, &f.vars[i], 2);
    fixture_close(&f);
}

/* No two sites, blocks or stacks share a mask. */
static void dropout_keys_differ(void)
{
    const Tokens tokens = { 0 };
    const ModelSpec model = { 0 };
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (int decoder = 0; decoder < 2; decoder++)
        for (int layer = 0; layer < 24; layer++)
            for (int site = SITE_EMBED; site < SITE_COUNT; site++) {
                const LayerSpec spec = { .index = layer, .decoder = decoder };
                const Ctx cx = { .model = &model, .layer = &spec, .tokens = &tokens, .seed = 1 };
                PhiloxKey key = ctx_dropout(&cx, (DropoutSite)site).key;
                gint64 *word = g_new(gint64, 1);
                *word = (gint64)((uint64_t)key.k[1] << 32 | key.k[0]);
                g_assert_true(g_hash_table_add(seen, word));
            }
}

static void each_site_has_its_rate(void)
{
    static const float rates[] = {
        [SITE_EMBED] = 0.1f,         [SITE_SELF_PROBS] = 0.2f,    [SITE_SELF_OUT] = 0.1f,  [SITE_CROSS_PROBS] = 0.2f,
        [SITE_CROSS_OUT] = 0.1f,     [SITE_MLP_HIDDEN] = 0.3f,    [SITE_MLP_OUT] = 0.1f,   [SITE_FINAL] = 0.4f,
        [SITE_CONTEXT_PROBS] = 0.2f, [SITE_CLASSIFIER_IN] = 0.1f, [SITE_CLASSIFIER] = 0.1f
    };
    const Tokens tokens = { 0 };
    const ModelSpec model = {
        .dropout = 0.1f, .attention_dropout = 0.2f, .activation_dropout = 0.3f, .final_dropout = 0.4f
    };
    const LayerSpec layer = { 0 };
    Ctx cx = { .model = &model, .layer = &layer, .tokens = &tokens };
    for (int site = 0; site < SITE_COUNT; site++) {
        cx.train = true;
        g_assert_cmpfloat(ctx_dropout(&cx, (DropoutSite)site).rate, ==, rates[site]);
        cx.train = false;
        g_assert_cmpfloat(ctx_dropout(&cx, (DropoutSite)site).rate, ==, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add_data_func(cases[i].path, &cases[i], bwd_matches_finite_difference);
    g_test_add_func("/dropout/keys_differ", dropout_keys_differ);
    g_test_add_func("/dropout/each_site_has_its_rate", each_site_has_its_rate);
    return g_test_run();
}
