/* The backward operations of the reference backend against central differences of its forward ones. A scalar loss
 * L = Σ y ⊙ r with fixed r makes dy = r; every input is moved by ±h, one element at a time. */
#include "reference/reference.h"

#include <glib.h>
#include <math.h>

#define STEP        1e-5
#define TOLERANCE   1e-8 /* of ‖analytic − numeric‖ / ‖numeric‖ */
#define PAD         2    /* spare elements between rows: no operation may need packed ones */
#define ARENA_BYTES (1u << 20)

static Device *dev;
static Philox rng;
static Arena arena;

static Tensor normal(int64_t rows, int64_t cols)
{
    Tensor t = tensor_matrix(NULL, DT_F64, rows, cols);
    t.ld = cols + PAD;
    t.p = arena_push(&arena, (size_t)(rows * t.ld) * sizeof(double), "tensor");
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            *at(t, i, j) = philox_normal(&rng);
    return t;
}

static Tensor normal_vector(int64_t n)
{
    return tensor_vector(normal(1, n).p, DT_F64, n);
}

static double inner(Tensor a, Tensor b)
{
    double sum = 0;
    for (int64_t i = 0; i < tensor_rows(a); i++)
        for (int64_t j = 0; j < tensor_cols(a); j++)
            sum += *at(a, i, j) * *at(b, i, j);
    return sum;
}

/* dx is what a backward operation wrote; loss(context) runs the forward one and depends on x. */
static void check_gradient(const char *name, Tensor x, Tensor dx, double (*loss)(const void *), const void *context)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < tensor_rows(x); i++) {
        for (int64_t j = 0; j < tensor_cols(x); j++) {
            double kept = *at(x, i, j);
            *at(x, i, j) = kept + STEP;
            double above = loss(context);
            *at(x, i, j) = kept - STEP;
            double below = loss(context);
            *at(x, i, j) = kept;
            double numeric = (above - below) / (2 * STEP), delta = numeric - *at(dx, i, j);
            difference += delta * delta;
            size += numeric * numeric;
        }
    }
    double error = sqrt(difference / size);
    g_test_message("%s: error %.3g", name, error);
    if (!(error < TOLERANCE))
        g_error("%s: error %.3g, gradient of size %.3g", name, error, sqrt(size));
}

/* The tensors of one call; which of them an operation uses is its own affair. */
typedef struct Call {
    Tensor x, w, gate, q, k, v, bias, y, mean, lse, r, ids, residual, targets, weights, stats;
    bool ta, tb;
    Activation act;
    Dropout drop;
    AttnSpec attn;
    RelposSpec relpos;
    XentSpec xent;
} Call;

static int64_t samples[] = { 3, 1ll << 33, 5, 0, 9, 2, 8, 6, 4, 1 };
static int32_t positions[] = { 0, 4, 8, 2, 1, 7, 5, 3, 6, 9 };

static Dropout dropout(float rate)
{
    return (Dropout){ philox_key(5, PHILOX_DROPOUT, 1), rate, samples, positions, 0 };
}

static double gemm_loss(const void *context)
{
    const Call *c = context;
    op_gemm(dev, c->y, c->x, c->w, c->ta, c->tb, 0.5f, 0);
    return inner(c->y, c->r);
}

/* The products a layer uses for its backward: da = α r op(b)ᵀ, db = α op(a)ᵀ r, each transposed where op was. */
static void test_gemm(void)
{
    for (int form = 0; form < 4; form++) {
        bool ta = form & 1, tb = form & 2;
        Call c = { .ta = ta, .tb = tb, .y = normal(5, 4), .r = normal(5, 4) };
        c.x = ta ? normal(3, 5) : normal(5, 3);
        c.w = tb ? normal(4, 3) : normal(3, 4);
        Tensor dx = normal(c.x.d[0], c.x.d[1]), dw = normal(c.w.d[0], c.w.d[1]);
        op_gemm(dev, dx, ta ? c.w : c.r, ta ? c.r : c.w, ta && tb, ta || !tb, 0.5f, 0);
        op_gemm(dev, dw, tb ? c.r : c.x, tb ? c.x : c.r, tb || !ta, ta && tb, 0.5f, 0);
        check_gradient("gemm da", c.x, dx, gemm_loss, &c);
        check_gradient("gemm db", c.w, dw, gemm_loss, &c);
    }
}

static double embedding_loss(const void *context)
{
    const Call *c = context;
    op_gather(dev, c->y, c->w, c->ids);
    return inner(c->y, c->r);
}

static void test_embedding(void)
{
    int32_t ids[] = { 3, 0, 3, 5, 3 };
    Call c = { .w = normal(6, 7), .y = normal(5, 7), .r = normal(5, 7), .ids = tensor_vector(ids, DT_I32, 5) };
    Tensor dw = normal(6, 7);
    op_scatter_add(dev, dw, c.r, c.ids, 0);
    check_gradient("embedding dtable", c.w, dw, embedding_loss, &c);
}

static double rmsnorm_loss(const void *context)
{
    const Call *c = context;
    op_norm_fwd(dev, c->y, NO_TENSOR, c->lse, c->x, c->w, NO_TENSOR, 1e-2f);
    return inner(c->y, c->r) + inner(c->x, c->residual);
}

static void test_rmsnorm(void)
{
    Call c = { .x = normal(4, 7), .w = normal_vector(7), .y = normal(4, 7), .lse = normal_vector(4) };
    c.r = normal(4, 7);
    c.residual = normal(4, 7);
    Tensor dx = normal(4, 7), dw = normal_vector(7);
    op_norm_fwd(dev, c.y, NO_TENSOR, c.lse, c.x, c.w, NO_TENSOR, 1e-2f);
    op_norm_bwd(dev, dx, NO_TENSOR, dw, NO_TENSOR, c.r, c.x, c.w, NO_TENSOR, c.lse, c.residual, 0, NULL);
    check_gradient("rmsnorm dx", c.x, dx, rmsnorm_loss, &c);
    check_gradient("rmsnorm dw", c.w, dw, rmsnorm_loss, &c);
}

static double layernorm_loss(const void *context)
{
    const Call *c = context;
    op_norm_fwd(dev, c->y, c->mean, c->lse, c->x, c->w, c->bias, 1e-2f);
    return inner(c->y, c->r) + inner(c->x, c->residual);
}

static void test_layernorm(void)
{
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        Call c = { .x = normal(4, 7), .w = normal_vector(7), .y = normal(4, 7), .lse = normal_vector(4) };
        c.bias = with_bias ? normal_vector(7) : NO_TENSOR;
        c.mean = normal_vector(4);
        c.r = normal(4, 7);
        c.residual = normal(4, 7);
        Tensor dx = normal(4, 7), dw = normal_vector(7), db = with_bias ? normal_vector(7) : NO_TENSOR;
        op_norm_fwd(dev, c.y, c.mean, c.lse, c.x, c.w, c.bias, 1e-2f);
        op_norm_bwd(dev, dx, NO_TENSOR, dw, db, c.r, c.x, c.w, c.mean, c.lse, c.residual, 0, NULL);
        check_gradient("layernorm dx", c.x, dx, layernorm_loss, &c);
        check_gradient("layernorm dw", c.w, dw, layernorm_loss, &c);
        if (with_bias)
            check_gradient("layernorm db", c.bias, db, layernorm_loss, &c);
    }
}

static double rotary_loss(const void *context)
{
    const Call *c = context;
    op_copy(dev, c->y, c->x);
    op_rotary(dev, c->y, c->w, c->ids, 7, false);
    return inner(c->y, c->r);
}

static void test_rotary(void)
{
    int32_t position_ids[] = { 4, 0, 1, 7, 2 };
    Call c = { .x = normal(5, 14), .w = normal(8, 6), .y = normal(5, 14), .r = normal(5, 14) };
    Tensor dx = normal(5, 14);
    c.ids = tensor_vector(position_ids, DT_I32, 5);
    op_rotary_table(dev, c.w, 10);
    op_copy(dev, dx, c.r);
    op_rotary(dev, dx, c.w, c.ids, 7, true);
    check_gradient("rotary dx", c.x, dx, rotary_loss, &c);
}

static double dropout_loss(const void *context)
{
    const Call *c = context;
    op_dropout_fwd(dev, c->y, c->x, c->residual, &c->drop);
    return inner(c->y, c->r);
}

static void test_dropout(void)
{
    Call c = { .x = normal(5, 9), .y = normal(5, 9), .r = normal(5, 9), .residual = normal(5, 9) };
    Tensor dx = normal(5, 9);
    c.drop = dropout(0.3f);
    op_dropout_bwd(dev, dx, c.r, &c.drop);
    check_gradient("dropout dx", c.x, dx, dropout_loss, &c);
}

static double act_loss(const void *context)
{
    const Call *c = context;
    op_act_fwd(dev, c->y, c->x, c->gate, c->act, &c->drop);
    return inner(c->y, c->r);
}

static void test_act(void)
{
    for (int form = 0; form < 4 * ACT_COUNT; form++) {
        bool gated = form & 1;
        Call c = { .x = normal(5, 9), .y = normal(5, 9), .r = normal(5, 9), .gate = gated ? normal(5, 9) : NO_TENSOR };
        c.act = (Activation)(form / 4);
        c.drop = dropout(form & 2 ? 0.3f : 0);
        Tensor dh = normal(5, 9), dgate = gated ? normal(5, 9) : NO_TENSOR;
        op_act_bwd(dev, dh, dgate, c.r, c.x, c.gate, c.act, &c.drop);
        check_gradient("act dh", c.x, dh, act_loss, &c);
        if (gated)
            check_gradient("act dgate", c.gate, dgate, act_loss, &c);
    }
}

static double relpos_loss(const void *context)
{
    const Call *c = context;
    op_relpos_fwd(dev, c->y, c->w, &c->relpos);
    return inner(c->y, c->r);
}

static void test_relpos(void)
{
    for (int bidirectional = 0; bidirectional < 2; bidirectional++) {
        Call c = { .w = normal(8, 3), .y = normal(3, 60), .r = normal(3, 60) };
        c.relpos = (RelposSpec){ .first = -31, .n_buckets = 8, .max_distance = 20, .bidirectional = bidirectional };
        Tensor dtable = normal(8, 3);
        op_relpos_bwd(dev, dtable, c.r, &c.relpos, 0);
        check_gradient("relpos dtable", c.w, dtable, relpos_loss, &c);
    }
}

static double attn_loss(const void *context)
{
    const Call *c = context;
    op_attn_fwd(dev, c->y, c->lse, c->q, c->k, c->v, c->bias, &c->attn, &c->drop);
    return inner(c->y, c->r);
}

static void test_attn(void)
{
    static const int32_t cu_q[] = { 0, 2, 2, 6 }, cu_k[] = { 0, 5, 5, 9 }; /* of 7 and 10 rows */
    for (int form = 0; form < 8; form++) {
        bool with_bias = form & 1;
        Call c = { .q = normal(7, 6), .k = normal(10, 6), .v = normal(10, 6), .y = normal(7, 6), .r = normal(7, 6) };
        c.lse = normal(2, 7);
        c.bias = with_bias ? normal(2, 10) : NO_TENSOR;
        c.attn = (AttnSpec){
            .cu_q = { cu_q, cu_q }, .cu_k = { cu_k, cu_k }, .n_seq = 3, .max_q = 5, .max_k = 6, .heads = 2
        };
        c.attn.causal = form & 2;
        c.attn.scale = 0.5f;
        c.drop = dropout(form & 4 ? 0.3f : 0);
        Tensor dq = normal(7, 6), dk = normal(10, 6), dv = normal(10, 6), dbias = with_bias ? normal(2, 10) : NO_TENSOR;
        attn_loss(&c);
        op_attn_bwd(dev, dq, dk, dv, dbias, 0, c.r, c.y, c.lse, c.q, c.k, c.v, c.bias, &c.attn, &c.drop);
        check_gradient("attn dq", c.q, dq, attn_loss, &c);
        check_gradient("attn dk", c.k, dk, attn_loss, &c);
        check_gradient("attn dv", c.v, dv, attn_loss, &c);
        if (with_bias)
            check_gradient("attn dbias", c.bias, dbias, attn_loss, &c);
    }
}

/* Embeddings of distances, met by queries alone and by keys too. */
static void test_attn_distance(void)
{
    static const int32_t cu_q[] = { 0, 2, 2, 6 }, cu_k[] = { 0, 5, 5, 9 }; /* of 7 and 10 rows */
    for (int form = 0; form < 8; form++) {
        AttnDistance distance = { .table = normal(13, 3), .dtable = normal(13, 3), .keys = form & 1 };
        Call c = { .q = normal(7, 6), .k = normal(10, 3), .v = normal(10, 3), .y = normal(7, 6), .r = normal(7, 6) };
        c.lse = normal(2, 7);
        c.attn = (AttnSpec){ .cu_q = { cu_q, cu_q },
                             .cu_k = { cu_k, cu_k },
                             .n_seq = 3,
                             .max_q = 5,
                             .max_k = 6,
                             .heads = 2,
                             .kv_heads = 1 };
        c.attn.causal = form & 2;
        c.attn.scale = 0.5f;
        c.attn.distance = &distance;
        c.drop = dropout(form & 4 ? 0.3f : 0);
        Tensor dq = normal(7, 6), dk = normal(10, 3), dv = normal(10, 3);
        attn_loss(&c);
        op_attn_bwd(dev, dq, dk, dv, NO_TENSOR, 0, c.r, c.y, c.lse, c.q, c.k, c.v, c.bias, &c.attn, &c.drop);
        check_gradient("attn dq with distances", c.q, dq, attn_loss, &c);
        check_gradient("attn dk with distances", c.k, dk, attn_loss, &c);
        check_gradient("attn dv with distances", c.v, dv, attn_loss, &c);
        check_gradient("attn dtable", distance.table, distance.dtable, attn_loss, &c);
    }
}

/* Grouped queries under a window, with and without the causal mask and a prefix. */
static void test_attn_forms(void)
{
    static const int32_t cu[] = { 0, 3, 8 }, prefix[] = { 2, 4 }, first[] = { 0, 1, 2 }, keys[] = { 0, 1 };
    static const BlockLayout layout = {
        .size = 4, .blocks = 2, .heads = 1, .first = { first, first }, .keys = { keys, keys }
    };
    for (int form = 0; form < 16; form++) {
        Call c = { .q = normal(8, 12), .k = normal(8, 6), .v = normal(8, 6), .y = normal(8, 12), .r = normal(8, 12) };
        c.lse = normal(4, 8);
        c.attn = (AttnSpec){
            .cu_q = { cu, cu }, .cu_k = { cu, cu }, .n_seq = 2, .max_q = 5, .max_k = 5, .heads = 4, .kv_heads = 2
        };
        c.attn.causal = form & 1;
        c.attn.prefix = form & 2 ? (BothSides){ prefix, prefix } : (BothSides){ 0 };
        c.attn.window = form & 4 ? 2 : 0;
        c.attn.layout = form & 8 ? &layout : NULL;
        c.attn.scale = 0.5f;
        c.drop = dropout(0.3f);
        Tensor dq = normal(8, 12), dk = normal(8, 6), dv = normal(8, 6);
        attn_loss(&c);
        op_attn_bwd(dev, dq, dk, dv, NO_TENSOR, 0, c.r, c.y, c.lse, c.q, c.k, c.v, c.bias, &c.attn, &c.drop);
        check_gradient("attn dq", c.q, dq, attn_loss, &c);
        check_gradient("attn dk", c.k, dk, attn_loss, &c);
        check_gradient("attn dv", c.v, dv, attn_loss, &c);
    }
}

static double xent_loss(const void *context)
{
    const Call *c = context;
    double sum = 0;
    op_xent(dev, c->x, c->stats, c->targets, c->weights, &c->xent);
    for (int64_t i = 0; i < tensor_rows(c->x); i++)
        sum += (double)c->xent.scale * *at(c->stats, i, XENT_LOSS);
    return sum;
}

static void test_xent(void)
{
    int32_t targets[] = { 2, 0, 6, 1 };
    double weights[] = { 1, 0.5, 0, 2 };
    for (int form = 0; form < 4; form++) {
        Call c = { .x = normal(4, 7), .stats = normal(4, XENT_STATS), .targets = tensor_vector(targets, DT_I32, 4) };
        c.weights = tensor_vector(weights, DT_F64, 4);
        c.xent = (XentSpec){ .label_smoothing = form & 1 ? 0.1f : 0, .z_loss = form & 2 ? 0.05f : 0, .scale = 0.25f };
        Tensor gradient = normal(4, 7);
        op_copy(dev, gradient, c.x);
        XentSpec with_gradient = c.xent;
        with_gradient.grad = true;
        op_xent(dev, gradient, c.stats, c.targets, c.weights, &with_gradient);
        check_gradient("xent dlogits", c.x, gradient, xent_loss, &c);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    dev = device_open_reference();
    rng = philox_open(philox_key(2, PHILOX_INIT, 0), 0);
    arena_init(&arena, "tensors", device_alloc(dev, ARENA_BYTES), ARENA_BYTES);
    g_test_add_func("/ops/gemm_transposed_is_its_own_backward", test_gemm);
    g_test_add_func("/ops/embedding_bwd_matches_finite_differences", test_embedding);
    g_test_add_func("/ops/rmsnorm_bwd_matches_finite_differences", test_rmsnorm);
    g_test_add_func("/ops/layernorm_bwd_matches_finite_differences", test_layernorm);
    g_test_add_func("/ops/rotary_backwards_is_its_gradient", test_rotary);
    g_test_add_func("/ops/dropout_bwd_matches_finite_differences", test_dropout);
    g_test_add_func("/ops/act_bwd_matches_finite_differences", test_act);
    g_test_add_func("/ops/relpos_bwd_matches_finite_differences", test_relpos);
    g_test_add_func("/ops/attn_bwd_matches_finite_differences", test_attn);
    g_test_add_func("/ops/attn_distance_bwd_matches_finite_difference", test_attn_distance);
    g_test_add_func("/ops/attn_forms_bwd_match_finite_differences", test_attn_forms);
    g_test_add_func("/ops/xent_gradient_matches_finite_differences", test_xent);
    int status = g_test_run();
    device_free(dev, arena.base);
    device_close(dev);
    return status;
}
