/* labels: starts-first */
#include "adafactor.h"
#include "device/rig.h"
#include "device/scalars.h"

static Tensor as_vector(Tensor t)
{
    return tensor_vector(t.p, t.dtype, tensor_count(t));
}

/* A norm's gain or a bias: of the dtype of the other weights, or of master weights, whose numbers are also some of the
 * other dtype, to which a GPU rounds the bias of a product. */
static Tensor vector(Rig *r, int64_t c)
{
    const Precision *precision = &r->dev->precision;
    Tensor t = as_vector(normal_of(r, r->code % 2 ? precision->compute : precision->master, 1, c, 0, 1));
    for (int64_t i = 0; i < c; i++) {
        double x = get(t, 0, i), rounded;
        cast_store(&rounded, precision->compute, &x, 1);
        cast_load(&x, &rounded, precision->compute, 1);
        set(t, 0, i, x);
    }
    return t;
}

static void case_gemm(Rig *r)
{
    int64_t m = PICK_SIZE(r, 1, 70), n = PICK_SIZE(r, 7, 60), k = PICK_SIZE(r, 1, 133);
    bool ta = choose(r, 2), tb = choose(r, 2);
    float alpha = (float)PICK(r, 1, -0.5), beta = (float)PICK(r, 0, 1, 0.25);
    int64_t pad = PICK_SIZE(r, 0, 5);
    Tensor a = normal(r, ta ? k : m, ta ? m : k, pad, 1), b = normal(r, tb ? n : k, tb ? k : n, pad, 1);
    Tensor y = accumulator(r, m, n, pad, beta);
    op_gemm(r->dev, y, a, b, ta, tb, alpha, beta);
    output(r, y);
}

static void case_linear(Rig *r)
{
    int64_t m = PICK_SIZE(r, 1, 70), n = PICK_SIZE(r, 7, 320), k = PICK_SIZE(r, 1, 133);
    int64_t pad = PICK_SIZE(r, 0, 5);
    bool bias = choose(r, 2);
    Tensor x = normal(r, m, k, pad, 1), w = normal(r, n, k, pad, 1), y = blank(r, m, n, pad);
    op_linear(r->dev, y, x, w, bias ? vector(r, n) : NO_TENSOR, (float)PICK(r, 1, -0.5));
    output(r, y);
}

static void case_embedding(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 40), c = PICK_SIZE(r, 7, 512), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    mix(r);
    Tensor table = normal(r, 23, c, pad, 1), ids = integers(r, n, 23), y = blank_of(r, mixed(r), n, c, pad);
    op_gather(r->dev, y, table, ids);
    output(r, y);
    Tensor dtable = accumulator(r, 23, c, pad, beta), dy = normal_of(r, mixed(r), n, c, pad, 1);
    op_scatter_add(r->dev, dtable, dy, ids, beta);
    output(r, dtable);
}

static void case_rmsnorm(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 37), c = PICK_SIZE(r, 7, 21, 512), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    double std = PICK(r, 1, 1e-4, 100);
    int kind = choose(r, 3); /* no residual, a residual, dx itself */
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, pad, std), w = vector(r, c);
    Tensor y = blank_of(r, mixed(r), n, c, pad), rstd = as_vector(statistics(r, 1, n, 0));
    Tensor dy = normal_of(r, mixed(r), n, c, pad, 1), residual = normal_of(r, mixed(r), n, c, pad, 1);
    Tensor dx = kind == 2 ? residual : blank_of(r, mixed(r), n, c, pad);
    Tensor dw = as_vector(accumulator(r, 1, c, 0, beta));
    op_norm_fwd(r->dev, y, NO_TENSOR, rstd, x, w, NO_TENSOR, 1e-6f);
    op_norm_bwd(r->dev, dx, NO_TENSOR, dw, NO_TENSOR, dy, x, w, NO_TENSOR, rstd, kind ? residual : NO_TENSOR, beta,
                NULL);
    output(r, y);
    output(r, rstd);
    output(r, dx);
    output(r, dw);
}

static void case_layernorm(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 50), c = PICK_SIZE(r, 7, 350), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    int kind = choose(r, 4); /* no residual; a third tensor; dx itself; no residual and dx is dy */
    bool with_bias = choose(r, 2);
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, pad, 1), w = vector(r, c);
    Tensor y = blank_of(r, mixed(r), n, c, pad), b = vector(r, c);
    Tensor mean = as_vector(statistics(r, 1, n, 0)), rstd = as_vector(statistics(r, 1, n, 0));
    Tensor dy = normal_of(r, mixed(r), n, c, pad, 1), residual = normal_of(r, mixed(r), n, c, pad, 1);
    Tensor dw = as_vector(accumulator(r, 1, c, 0, beta)), db = as_vector(accumulator(r, 1, c, 0, beta));
    Tensor dx = kind == 2 ? residual : kind == 3 ? dy : blank_of(r, mixed(r), n, c, pad);
    for (int64_t i = 0; i < n; i++)
        set(x, i, 0, 3 + get(x, i, 0)); /* a mean that is not zero */
    op_norm_fwd(r->dev, y, mean, rstd, x, w, with_bias ? b : NO_TENSOR, 1e-5f);
    op_norm_bwd(r->dev, dx, NO_TENSOR, dw, with_bias ? db : NO_TENSOR, dy, x, w, mean, rstd,
                kind == 1 || kind == 2 ? residual : NO_TENSOR, beta, NULL);
    Tensor results[] = { y, mean, rstd, dx, dw, with_bias ? db : dw };
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        output(r, results[i]);
}

static void assert_same(Tensor a, Tensor b)
{
    for (int64_t i = 0; i < tensor_rows(a); i++)
        for (int64_t j = 0; j < tensor_cols(a); j++)
            g_assert_cmpfloat(get(a, i, j), ==, get(b, i, j));
}

/* The residual sum and the norm of it: the bits of the two operations one after the other, on devices that round. */
static void case_sum_and_norm(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 37), c = PICK_SIZE(r, 7, 21, 520), pad = PICK_SIZE(r, 0, 3);
    double rate = PICK(r, 0, 0.1);
    int kind = choose(r, 4); /* the sum is a third tensor, x, the residual; the norm is in the residual */
    bool layer = choose(r, 2);
    Dropout drop = dropout(r, n, rate);
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, pad, 1), residual = normal_of(r, mixed(r), n, c, pad, 1);
    Tensor third = blank_of(r, mixed(r), n, c, pad), w = vector(r, c), b = pad ? vector(r, c) : NO_TENSOR;
    Tensor sum = kind == 1 ? x : kind == 2 ? residual : third;
    Tensor y = kind == 3 ? residual : blank_of(r, mixed(r), n, c, pad);
    Tensor rstd = as_vector(statistics(r, 1, n, 0)), mean = as_vector(statistics(r, 1, n, 0));
    Tensor same[] = { blank_of(r, sum.dtype, n, c, pad), blank_of(r, y.dtype, n, c, pad),
                      as_vector(statistics(r, 1, n, 0)), as_vector(statistics(r, 1, n, 0)) };
    op_dropout_fwd(r->dev, same[0], x, residual, &drop);
    if (layer) {
        op_norm_fwd(r->dev, same[1], same[3], same[2], same[0], w, b, 1e-5f);
        op_sum_norm_fwd(r->dev, y, mean, rstd, sum, x, residual, w, b, 1e-5f, &drop);
        output(r, mean);
    } else {
        op_norm_fwd(r->dev, same[1], NO_TENSOR, same[2], same[0], w, NO_TENSOR, 1e-6f);
        op_sum_norm_fwd(r->dev, y, NO_TENSOR, rstd, sum, x, residual, w, NO_TENSOR, 1e-6f, &drop);
    }
    Tensor results[] = { sum, y, rstd, mean };
    for (int i = 0; i < 3 + layer; i++)
        if (g_strcmp0(r->dev->name, "mixed") != 0)
            assert_same(results[i], same[i]);
    for (int i = 0; i < 3; i++)
        output(r, results[i]);
}

/* Backward of a norm with its dropped-out copy: the bits of the two operations one after the other, on devices that
 * round. */
static void case_norm_bwd_dropped(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 37), c = PICK_SIZE(r, 7, 21, 520), pad = PICK_SIZE(r, 0, 3);
    double rate = PICK(r, 0, 0.1);
    int kind = choose(r, 4); /* no residual; a third tensor; dx itself; no residual and dx is dy */
    bool layer = choose(r, 2), over = choose(r, 2) && kind != 3; /* over: the copy takes the place of dy */
    Dropout drop = dropout(r, n, rate);
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, pad, 1), dy = normal_of(r, mixed(r), n, c, pad, 1), w = vector(r, c);
    Tensor other = normal_of(r, mixed(r), n, c, pad, 1), residual = kind == 1 || kind == 2 ? other : NO_TENSOR;
    Tensor dx = kind == 2 ? other : kind == 3 ? dy : blank_of(r, mixed(r), n, c, pad);
    Tensor dropped = over ? dy : blank_of(r, mixed(r), n, c, pad);
    Tensor mean = as_vector(statistics(r, 1, n, 0)), rstd = as_vector(statistics(r, 1, n, 0));
    Tensor unused = blank_of(r, x.dtype, n, c, pad), same[4], results[] = { dx, dropped, NO_TENSOR, NO_TENSOR };
    for (int i = 0; i < 2; i++) {
        same[i] = blank_of(r, results[i].dtype, n, c, pad);
        same[2 + i] = as_vector(accumulator(r, 1, c, 0, 0));
        results[2 + i] = as_vector(accumulator(r, 1, c, 0, 0));
    }
    if (layer) {
        op_norm_fwd(r->dev, unused, mean, rstd, x, w, NO_TENSOR, 1e-5f);
        op_norm_bwd(r->dev, same[0], NO_TENSOR, same[2], same[3], dy, x, w, mean, rstd, residual, 0, NULL);
        op_dropout_bwd(r->dev, same[1], same[0], &drop);
        op_norm_bwd(r->dev, dx, dropped, results[2], results[3], dy, x, w, mean, rstd, residual, 0, &drop);
    } else {
        op_norm_fwd(r->dev, unused, NO_TENSOR, rstd, x, w, NO_TENSOR, 1e-6f);
        op_norm_bwd(r->dev, same[0], NO_TENSOR, same[2], NO_TENSOR, dy, x, w, NO_TENSOR, rstd, residual, 0, NULL);
        op_dropout_bwd(r->dev, same[1], same[0], &drop);
        op_norm_bwd(r->dev, dx, dropped, results[2], NO_TENSOR, dy, x, w, NO_TENSOR, rstd, residual, 0, &drop);
    }
    for (int i = 0; i < 3 + layer; i++) {
        if (g_strcmp0(r->dev->name, "mixed") != 0)
            assert_same(results[i], same[i]);
        output(r, results[i]);
    }
}

/* Rows of y that no index names stay as they are. */
static void case_scatter(Rig *r)
{
    int64_t n = PICK_SIZE(r, 0, 1, 60), c = PICK_SIZE(r, 7, 300), pad = PICK_SIZE(r, 0, 3);
    mix(r);
    Tensor y = normal_of(r, mixed(r), 2 * n + 3, c, pad, 1), x = normal_of(r, mixed(r), n, c, pad, 1);
    Tensor rows = integers(r, n, 2);
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)rows.p)[i] += (int32_t)(2 * (n - i));
    op_scatter(r->dev, y, x, rows);
    output(r, y);
}

static void case_bias_add(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 60), c = PICK_SIZE(r, 7, 300), pad = PICK_SIZE(r, 0, 3);
    bool in_place = choose(r, 2);
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, pad, 1), y = in_place ? x : blank_of(r, mixed(r), n, c, pad);
    op_bias_add(r->dev, y, x, vector(r, c));
    output(r, y);
}

static void case_add_and_scale(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 60), c = PICK_SIZE(r, 7, 300), pad = PICK_SIZE(r, 0, 3);
    int kind = choose(r, 3); /* into a third tensor, into a, into b */
    mix(r);
    Tensor a = normal_of(r, mixed(r), n, c, pad, 1), b = normal_of(r, mixed(r), n, c, pad, 1);
    Tensor y = kind == 1 ? a : kind == 2 ? b : blank_of(r, mixed(r), n, c, pad);
    Tensor scaled = kind == 0 ? blank_of(r, mixed(r), n, c, pad) : y;
    op_add(r->dev, y, a, b);
    op_scale(r->dev, scaled, y, 1.7f);
    output(r, y);
    output(r, scaled);
}

static void case_column_sums(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 60, 63), c = PICK_SIZE(r, 7, 64, 700), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    mix(r);
    Tensor dy = normal_of(r, mixed(r), n, c, pad, 1), db = as_vector(accumulator(r, 1, c, 0, beta));
    op_column_sums(r->dev, db, dy, beta);
    output(r, db);
}

static void case_rotary(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 60), heads = PICK_SIZE(r, 1, 3), dim = PICK_SIZE(r, 6, 64), pad = PICK_SIZE(r, 0, 3);
    int64_t turned = choose(r, 2) ? dim : 4;
    bool inverse = choose(r, 2);
    Tensor x = normal(r, n, heads * dim, pad, 1), table = blank(r, 40, turned, pad), position_ids = integers(r, n, 40);
    Tensor waves = blank(r, 40, turned, pad);
    op_sinusoid_table(r->dev, waves, 2);
    op_rotary_table(r->dev, table, 10000);
    op_rotary(r->dev, x, table, position_ids, (int32_t)dim, inverse);
    output(r, waves);
    output(r, table);
    output(r, x);
}

static void case_alibi(Rig *r)
{
    int64_t heads = PICK_SIZE(r, 1, 8, 12), width = PICK_SIZE(r, 1, 301), pad = PICK_SIZE(r, 0, 3);
    Tensor bias = blank(r, heads, width, pad);
    int32_t first_head = (int32_t)PICK(r, 0, 3);
    op_alibi(r->dev, bias, (int32_t)PICK(r, -150, 0), first_head, first_head + (int32_t)bias.d[0]);
    output(r, bias);
}

static void case_dropout(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 60), c = PICK_SIZE(r, 7, 300), pad = PICK_SIZE(r, 0, 3);
    double rate = PICK(r, 0, 0.3, 0.1);
    int kind = choose(r, 4); /* no residual; into a third tensor, into x, into the residual */
    Dropout drop = dropout(r, n, rate);
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, pad, 1), residual = normal_of(r, mixed(r), n, c, pad, 1);
    Tensor third = blank_of(r, mixed(r), n, c, pad);
    Tensor y = kind == 2 ? x : kind == 3 ? residual : third;
    op_dropout_fwd(r->dev, y, x, kind ? residual : NO_TENSOR, &drop);
    output(r, y);
    Tensor dy = normal_of(r, mixed(r), n, c, pad, 1), dx = kind ? blank_of(r, mixed(r), n, c, pad) : dy;
    op_dropout_bwd(r->dev, dx, dy, &drop);
    output(r, dx);
}

static void case_act(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 60), c = n == 1 ? 7 : 300, pad = n == 1 ? 0 : 3;
    Activation act = (Activation)choose(r, ACT_COUNT);
    double rate = PICK(r, 0, 0.3), std = PICK(r, 1, 20);
    bool gated = choose(r, 2), in_place = choose(r, 2);
    Dropout drop = dropout(r, n, rate);
    Tensor h = normal(r, n, c, pad, std), gate = gated ? normal(r, n, c, pad, 1) : NO_TENSOR;
    Tensor da = normal(r, n, c, pad, 1), dh = in_place ? da : blank(r, n, c, pad);
    Tensor dgate = gated ? blank(r, n, c, pad) : NO_TENSOR, a = in_place ? h : blank(r, n, c, pad);
    op_act_bwd(r->dev, dh, dgate, da, h, gate, act, &drop);
    op_act_fwd(r->dev, a, h, gate, act, &drop);
    output(r, dh);
    if (gated)
        output(r, dgate);
    output(r, a);
}

static void case_relpos(Rig *r)
{
    int64_t heads = PICK_SIZE(r, 1, 3, 8), width = PICK_SIZE(r, 1, 40, 301), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    RelposSpec spec = { .first = (int32_t)PICK_SIZE(r, -150, -7), .max_distance = 128 };
    spec.bidirectional = choose(r, 2);
    spec.n_buckets = (int32_t)PICK_SIZE(r, 32, 8);
    Tensor table = normal(r, spec.n_buckets, heads, pad, 1), bias = blank(r, heads, width, pad);
    op_relpos_fwd(r->dev, bias, table, &spec);
    output(r, bias);
    Tensor dtable = accumulator(r, spec.n_buckets, heads, pad, beta), dbias = accumulator(r, heads, width, pad, 1);
    op_relpos_bwd(r->dev, dtable, dbias, &spec, beta);
    output(r, dtable);
}

static void case_xent(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 13), vocabulary = PICK_SIZE(r, 2, 7, 3000), pad = PICK_SIZE(r, 0, 3);
    XentSpec spec = { .label_smoothing = (float)PICK(r, 0, 0.1), .z_loss = (float)PICK(r, 0, 1e-2), .scale = 0.25f };
    spec.grad = choose(r, 2);
    mix(r);
    Tensor logits = normal_of(r, mixed(r), n, vocabulary, pad, PICK(r, 1, 30));
    Tensor stats = statistics(r, n, XENT_STATS, pad), weights = as_vector(statistics(r, 1, n, 0));
    Tensor targets = integers(r, n, vocabulary);
    for (int64_t i = 0; i < n; i++) /* some rows are padding, some count for more than one */
        set(weights, 0, i, i % 3 == 1 ? 0 : 1 + (double)(i % 2));
    op_xent(r->dev, logits, stats, targets, weights, &spec);
    output(r, logits);
    output(r, stats);
}

/* Classes that several ranks divide: the parts of all, then the rest of a row on each. */
static void case_xent_of_parts(Rig *r)
{
    enum { MOST = 3 };
    int64_t n = PICK_SIZE(r, 1, 13), vocabulary = PICK_SIZE(r, 7, 3000), pad = n > 1 ? 3 : 0,
            n_parts = n > 1 ? MOST : 2;
    XentSpec spec = { .label_smoothing = (float)PICK(r, 0, 0.1), .z_loss = (float)PICK(r, 0, 1e-2), .scale = 0.25f };
    spec.grad = choose(r, 2);
    mix(r);
    Tensor logits = normal_of(r, mixed(r), n, vocabulary, pad, PICK(r, 1, 30)), targets[MOST];
    Tensor parts = statistics(r, n_parts * n, XENT_PARTS, pad), weights = as_vector(statistics(r, 1, n, 0));
    Tensor all = integers(r, n, vocabulary);
    for (int64_t i = 0; i < n; i++)
        set(weights, 0, i, i % 3 == 1 ? 0 : 1 + (double)(i % 2));
    for (int64_t p = 0; p < n_parts; p++) {
        int64_t first = vocabulary * p / n_parts, end = vocabulary * (p + 1) / n_parts;
        targets[p] = integers(r, n, 1);
        for (int64_t i = 0; i < n; i++) {
            int32_t target = ((const int32_t *)all.p)[i];
            ((int32_t *)targets[p].p)[i] = target >= first && target < end ? (int32_t)(target - first) : -1;
        }
        op_xent_part(r->dev, tensor_slice_rows(parts, p * n, n), tensor_slice_cols(logits, first, end - first),
                     targets[p]);
    }
    output(r, parts);
    for (int64_t p = 0; p < n_parts; p++) {
        int64_t first = vocabulary * p / n_parts, end = vocabulary * (p + 1) / n_parts;
        Tensor stats = statistics(r, n, XENT_STATS, pad);
        op_xent_join(r->dev, tensor_slice_cols(logits, first, end - first), stats, parts, targets[p], weights,
                     (int32_t)vocabulary, &spec);
        output(r, stats);
    }
    output(r, logits);
}

/* Rounded to steps of a half, so that many are equal. */
static void case_top(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 9), vocabulary = PICK_SIZE(r, 8, 300, 3001), pad = PICK_SIZE(r, 0, 3);
    int64_t k = PICK_SIZE(r, 1, 3, 8);
    bool equal = choose(r, 2);
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, vocabulary, pad, PICK(r, 1, 30));
    for (int64_t i = 0; equal && i < n; i++)
        for (int64_t j = 0; j < vocabulary; j++)
            set(x, i, j, floor(2 * get(x, i, j)) / 2);
    Tensor values = statistics(r, n, k, pad), ids = tensor_matrix(allocate(r, (size_t)(n * k) * 4), DT_I32, n, k);
    Tensor log_sum = tensor_vector(allocate(r, (size_t)n * 8), DT_F64, n);
    op_top(r->dev, values, ids, log_sum, x);
    output(r, values);
    output(r, ids);
    output(r, log_sum);
}

static void case_reductions(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 300), c = PICK_SIZE(r, 1, 4, 1001), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, pad, 1);
    Tensor sum = tensor_vector(allocate(r, (size_t)c * 8), DT_F64, c);
    Tensor square = tensor_vector(allocate(r, 8), DT_F64, 1);
    for (int64_t j = 0; j < c; j++)
        *at(sum, 0, j) = beta == 0 ? NAN : 1.5;
    *at(square, 0, 0) = beta == 0 ? NAN : 2.5;
    op_sum_rows(r->dev, sum, x, beta);
    op_sumsq(r->dev, square, x, beta);
    output(r, sum);
    output(r, square);
    op_sumsq(r->dev, square, as_vector(normal(r, 1, n, 0, 1)), 1);
    Tensor more = tensor_vector(allocate(r, 8), DT_F64, 1);
    *at(more, 0, 0) = 9;
    op_total_add(r->dev, square, more);
}

/* Every cast among f32, bf16, f16 and f64 that the device's dtypes make, by way of each of them. */
static void case_fill_and_copy(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 70), c = PICK_SIZE(r, 1, 300), pad = PICK_SIZE(r, 0, 3);
    mix(r);
    DType dtype = mixed(r);
    Tensor x = normal_of(r, dtype, n, c, pad, 1), filled = blank_of(r, dtype, n, c, pad), ids = integers(r, n, 9);
    op_fill(r->dev, filled, -2.5);
    op_fill(r->dev, ids, 3);
    output(r, filled);
    output(r, ids);
    static const DType dtypes[] = { DT_F64, DT_F32, DT_BF16, DT_F16 };
    for (size_t i = 0; i < G_N_ELEMENTS(dtypes); i++) {
        Tensor there = blank_of(r, dtypes[i], n, c, i % 2 ? pad : 0), back = blank_of(r, dtype, n, c, pad);
        op_copy(r->dev, there, x);
        op_copy(r->dev, back, there);
        output(r, there);
        output(r, back);
    }
}

static void case_adamw(Rig *r)
{
    int64_t rows = PICK_SIZE(r, 1, 67), cols = PICK_SIZE(r, 7, 32, 300);
    bool vector = choose(r, 2);
    Tensor rounded = blank(r, rows, cols, 0);
    AdamwSpec spec = {
        .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .rate = vector ? 0.25 : 1, .weight_decay = PICK(r, 0, 0.1)
    };
    spec.scale_by_rms = choose(r, 2);
    spec.count = rows * cols;
    Tensor squares = tensor_vector(allocate(r, sizeof(double)), DT_F64, 1);
    const Precision *precision = &r->dev->precision;
    Tensor w = normal_of(r, precision->master, rows, cols, 0, 0.5);
    Tensor m = normal_of(r, precision->state, rows, cols, 0, 0), v = normal_of(r, precision->state, rows, cols, 0, 0);
    for (int update = 1; update <= 3; update++) {
        StepScalars scalars = scalars_of(update);
        Tensor g = accumulator(r, rows, cols, 0, 1);
        op_sumsq(r->dev, squares, w, 0);
        op_adamw(r->dev, vector ? as_vector(w) : w, vector ? as_vector(rounded) : rounded, vector ? as_vector(m) : m,
                 vector ? as_vector(v) : v, vector ? as_vector(g) : g, spec.scale_by_rms ? squares : NO_TENSOR, &spec,
                 &scalars);
    }
    output(r, w);
    output(r, rounded);
    output(r, m);
    output(r, v);
}

static void case_adafactor(Rig *r)
{
    int64_t rows = PICK_SIZE(r, 1, 35), cols = PICK_SIZE(r, 7, 600);
    int kind = choose(r, 3); /* factored, not factored, a vector */
    AdafactorSpec spec = { .eps1 = 1e-30, .eps2 = 1e-3, .rate = 1 };
    spec.clip_threshold = PICK(r, 1, 0);
    int offset = spec.clip_threshold > 0 ? 0 : 100;
    int settings = choose(r, 4); /* neither; momentum; decay by the learning rate; both, decay as in T5X */
    spec.beta1 = settings % 2 ? 0.9 : 0;
    spec.weight_decay = settings / 2 ? 0.1 : 0;
    spec.decay_by_lr = settings == 2;
    spec.rate = settings == 3 ? 0.25 : 1;
    spec.scale_parameter = settings != 1;
    DType state = r->dev->precision.state;
    Tensor w = normal_of(r, r->dev->precision.master, rows, cols, 0, 0.5), v = normal_of(r, state, rows, cols, 0, 0);
    Tensor sums = tensor_vector(allocate(r, (size_t)(3 + cols) * sizeof(double)), DT_F64, 3 + cols);
    Tensor m = normal_of(r, state, rows, cols, 0, 0), row = as_vector(normal_of(r, state, 1, rows, 0, 0));
    Tensor col = as_vector(normal_of(r, state, 1, cols, 0, 0));
    Tensor rounded = blank(r, rows, cols, 0), absent = NO_TENSOR;
    for (int update = 1; update <= 3; update++) {
        StepScalars scalars = scalars_of(update + offset);
        Tensor g = accumulator(r, rows, cols, 0, 1), momentum = spec.beta1 > 0 ? m : absent;
        set(g, 0, 0, 0);
        if (kind == 2)
            adafactor_update(r->dev, sums, as_vector(w), as_vector(rounded), spec.beta1 > 0 ? as_vector(m) : absent,
                             absent, absent, as_vector(v), as_vector(g), spec, &scalars);
        else
            adafactor_update(r->dev, sums, w, rounded, momentum, kind ? absent : row, kind ? absent : col,
                             kind ? v : absent, g, spec, &scalars);
    }
    output(r, w);
    output(r, rounded);
    output(r, kind ? v : row);
    output(r, kind ? m : col);
}

/* A tensor in the update of a group. */
typedef struct Member {
    Tensor w, rounded, m, v, row, col, g, sums, squares, size, row_sum, col_sums;
    AdafactorSpec spec;
    bool factored;
} Member;

static Member member_of(Rig *r, int64_t rows, int64_t cols, int number)
{
    const Precision *precision = &r->dev->precision;
    DType state = precision->state;
    Member t = { .factored = number % 5 != 4 };
    t.spec = (AdafactorSpec){ .eps1 = 1e-30,
                              .eps2 = 1e-3,
                              .clip_threshold = 1,
                              .beta1 = number % 2 ? 0.9 : 0,
                              .weight_decay = number % 3 * 0.1,
                              .rows = rows,
                              .cols = cols,
                              .count = rows * cols,
                              .scale_parameter = true,
                              .rate = 1 };
    t.w = normal_of(r, precision->master, rows, cols, 0, 0.5);
    t.rounded = blank(r, rows, cols, 0);
    t.m = normal_of(r, state, rows, cols, 0, 0);
    t.v = normal_of(r, state, rows, cols, 0, 0);
    t.row = as_vector(normal_of(r, state, 1, rows, 0, 0));
    t.col = as_vector(normal_of(r, state, 1, cols, 0, 0));
    t.g = accumulator(r, rows, cols, 0, 1);
    t.sums = tensor_vector(allocate(r, (size_t)(3 + cols) * sizeof(double)), DT_F64, 3 + cols);
    t.squares = tensor_slice_rows(t.sums, 0, 1);
    t.size = tensor_slice_rows(t.sums, 1, 1);
    t.row_sum = t.factored ? tensor_slice_rows(t.sums, 2, 1) : NO_TENSOR;
    t.col_sums = t.factored ? tensor_slice_rows(t.sums, 3, cols) : NO_TENSOR;
    return t;
}

/* Step 0 to 5 of an update of one tensor, between which groups end. */
static void update_member(Device *dev, const Member *t, int step, const AdamwSpec *adamw, const StepScalars *scalars)
{
    Tensor row = t->factored ? t->row : NO_TENSOR, col = t->factored ? t->col : NO_TENSOR;
    Tensor v = t->factored ? NO_TENSOR : t->v, m = t->spec.beta1 > 0 ? t->m : NO_TENSOR;
    if (step == 0)
        op_fill(dev, t->sums, 0);
    if (step == 1)
        op_sumsq(dev, t->squares, t->w, 1);
    if (adamw && step == 2) {
        AdamwSpec spec = *adamw;
        spec.count = tensor_count(t->w);
        spec.weight_decay = t->spec.weight_decay;
        op_adamw(dev, t->w, t->rounded, t->m, t->v, t->g, t->squares, &spec, scalars);
    }
    if (adamw)
        return;
    if (step == 2)
        op_adafactor_moments(dev, row, t->col_sums, t->row_sum, v, t->g, &t->spec, scalars);
    if (step == 3 && t->factored)
        op_adafactor_columns(dev, col, t->col_sums, &t->spec, scalars);
    if (step == 4)
        op_adafactor_size(dev, t->size, row, col, t->row_sum, v, t->g, &t->spec, scalars);
    if (step == 5)
        op_adafactor(dev, t->w, t->rounded, m, row, col, t->row_sum, v, t->g, t->squares, t->size, &t->spec, scalars);
}

/* More tensors than a launch takes, of every width that kernels tell apart. */
static void case_group(Rig *r)
{
    enum { MEMBERS = 27, STEPS = 6 };
    static const int64_t widths[] = { 7, 600, 32, 300, 1030, 5000, 9001, 17000 };
    const AdamwSpec adamw = { .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .rate = 1, .scale_by_rms = true };
    bool is_adamw = choose(r, 2);
    Member members[MEMBERS];
    for (int i = 0; i < MEMBERS; i++)
        members[i] = member_of(r, 1 + i % 3 * (i % 8 < 5 ? 9 : 1), widths[i % 8], i);
    for (int update = 1; update <= 2; update++)
        for (int step = 0; step < STEPS; step++) {
            StepScalars scalars = scalars_of(update);
            device_group_begin(r->dev);
            for (int i = 0; i < MEMBERS; i++)
                update_member(r->dev, &members[i], step, is_adamw ? &adamw : NULL, &scalars);
            device_group_end(r->dev);
        }
    for (int i = 0; i < MEMBERS; i++) {
        output(r, members[i].w);
        output(r, members[i].rounded);
        output(r, is_adamw || members[i].spec.beta1 > 0 ? members[i].m : members[i].w);
        output(r, is_adamw || !members[i].factored ? members[i].v : members[i].row);
    }
}

static const Case cases[] = {
    { "gemm", case_gemm, 2e-6, 0, 1 },
    { "linear", case_linear, 2e-6, 0, 1 },
    { "embedding", case_embedding, 1e-6, 0, 1 },
    { "scatter", case_scatter, 0, 0, 1 },
    { "rmsnorm", case_rmsnorm, 2e-6, 0, 1 },
    { "layernorm", case_layernorm, 2e-6, 0, 1 },
    { "sum_and_norm", case_sum_and_norm, 2e-6, 0, 4 },
    { "norm_bwd_dropped", case_norm_bwd_dropped, 2e-6, 0, 4 },
    { "bias_add", case_bias_add, 2e-6, 0, 1 },
    { "add_and_scale", case_add_and_scale, 2e-6, 0, 1 },
    { "column_sums", case_column_sums, 2e-6, 0, 1 },
    { "rotary_and_sinusoids", case_rotary, 2e-6, 0, 1 },
    { "alibi", case_alibi, 2e-6, 0, 1 },
    { "dropout", case_dropout, 1e-6, 0, 1 },
    { "act", case_act, 2e-6, 0.05, 1 },
    { "relpos", case_relpos, 2e-6, 0, 1 },
    { "xent", case_xent, 5e-6, 0.01, 1 },
    { "xent_of_parts", case_xent_of_parts, 5e-6, 0.01, 1 },
    { "top", case_top, 1e-7, 0, 1 },
    { "reductions", case_reductions, 1e-12, 0, 1 },
    { "fill_and_copy", case_fill_and_copy, 0, 0, 1 },
    { "adamw", case_adamw, 2e-6, 0, 1 },
    { "adafactor", case_adafactor, 5e-6, 0, 1 },
    { "group", case_group, 2e-5, 0, 1 },
};

int main(int argc, char **argv)
{
    return run_cases(cases, G_N_ELEMENTS(cases), argc, argv);
}
