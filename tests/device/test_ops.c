/* Every operation of the cpu backend against the reference backend. A case is a function that makes its tensors from a
 * rig and calls one operation; run on two devices it makes the same numbers, and what it declares as output is
 * compared. Sizes are odd, and large enough for several threads and for every tile and chunk of the kernels to
 * end in the middle. Its choices (shape, beta, dropout, …) are enumerated by the harness: see choose(). */
#include "reference/reference.h"

#include <glib.h>
#include <math.h>
#include <string.h>

typedef struct Rig {
    Device *dev;
    Philox rng;
    int code, n_codes; /* this combination of choices, mixed radix, and how many there are */
    GPtrArray *memory;
    GArray *outputs; /* Tensor */
} Rig;

typedef struct Case {
    const char *name;
    void (*run)(Rig *rig);
    double tolerance; /* of ‖y − reference‖ / ‖reference‖ in f32 */
    double floor;     /* reference outputs of a smaller root mean square count as this: gradients that cancel to zero */
} Case;

/* One of 0 … n-1. Over all codes every combination of a case's choices comes up once; so choices may not depend on
 * earlier ones. */
static int choose(Rig *rig, int n)
{
    int digit = rig->code / rig->n_codes % n;
    rig->n_codes *= n;
    return digit;
}
#define PICK(rig, ...)                                                                                                 \
    (((const double[]){ __VA_ARGS__ })[choose(rig, (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)))])
#define PICK_SIZE(rig, ...) ((int64_t)PICK(rig, __VA_ARGS__))

static void *allocate(Rig *rig, size_t bytes)
{
    void *p = g_malloc0(MAX(bytes, 1));
    g_ptr_array_add(rig->memory, p);
    return p;
}

/* Reals are NaN at first, between the rows of a view too: who reads what it may not read shows. */
static Tensor blank(Rig *rig, int64_t rows, int64_t cols, int64_t pad)
{
    Tensor t = tensor_matrix(NULL, rig->dev->real, rows, cols);
    t.ld = cols + pad;
    t.p = allocate(rig, (size_t)(rows * t.ld) * dtype_bytes(rig->dev->real));
    for (int64_t i = 0; i < rows * t.ld; i++) {
        if (t.dtype == DT_F64)
            ((double *)t.p)[i] = NAN;
        else
            ((float *)t.p)[i] = NAN;
    }
    return t;
}

static double get(Tensor t, int64_t i, int64_t j)
{
    int64_t at = i * t.ld + j;
    switch (t.dtype) {
    case DT_F64:
        return ((double *)t.p)[at];
    case DT_F32:
        return (double)((float *)t.p)[at];
    default:
        g_assert_cmpint(t.dtype, ==, DT_I32);
        return ((int32_t *)t.p)[at];
    }
}

/* Rounds to f32, so that every device starts from the same number. */
static void set(Tensor t, int64_t i, int64_t j, double value)
{
    if (t.dtype == DT_F64)
        ((double *)t.p)[i * t.ld + j] = (double)(float)value;
    else
        ((float *)t.p)[i * t.ld + j] = (float)value;
}

static Tensor normal(Rig *rig, int64_t rows, int64_t cols, int64_t pad, double std)
{
    Tensor t = blank(rig, rows, cols, pad);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            set(t, i, j, std * philox_normal(&rig->rng));
    return t;
}

static Tensor as_vector(Tensor t)
{
    return tensor_vector(t.p, (DType)t.dtype, tensor_count(t));
}

/* A gradient that takes beta: NaN where beta 0 promises that it is not read. */
static Tensor accumulator(Rig *rig, int64_t rows, int64_t cols, int64_t pad, float beta)
{
    Tensor t = normal(rig, rows, cols, pad, 1);
    return beta == 0 ? blank(rig, rows, cols, pad) : t;
}

static Tensor integers(Rig *rig, int64_t n, int64_t bound)
{
    int32_t *p = allocate(rig, (size_t)n * sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = (int32_t)philox_below(&rig->rng, (uint64_t)bound);
    return tensor_vector(p, DT_I32, n);
}

static void output(Rig *rig, Tensor t)
{
    g_array_append_val(rig->outputs, t);
}

static Dropout dropout(Rig *rig, int64_t n, double rate)
{
    int64_t *sample = allocate(rig, (size_t)n * sizeof *sample);
    for (int64_t i = 0; i < n; i++)
        sample[i] = (int64_t)philox_below(&rig->rng, 1ull << 40);
    PhiloxKey key = philox_key(7, PHILOX_DROPOUT, 3);
    return (Dropout){ key, (float)rate, sample, integers(rig, n, 3000).p };
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

static void case_embedding(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 40), c = PICK_SIZE(r, 7, 512), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    Tensor table = normal(r, 23, c, pad, 1), ids = integers(r, n, 23), y = blank(r, n, c, pad);
    op_embedding_fwd(r->dev, y, table, ids);
    output(r, y);
    Tensor dtable = accumulator(r, 23, c, pad, beta), dy = normal(r, n, c, pad, 1);
    op_embedding_bwd(r->dev, dtable, dy, ids, beta);
    output(r, dtable);
}

static void case_rmsnorm(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 37), c = PICK_SIZE(r, 7, 21, 512), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    double std = PICK(r, 1, 1e-4, 100);
    int kind = choose(r, 3); /* no residual, a residual, dx itself */
    Tensor x = normal(r, n, c, pad, std), w = as_vector(normal(r, 1, c, 0, 1)), y = blank(r, n, c, pad);
    Tensor rstd = as_vector(blank(r, 1, n, 0)), dy = normal(r, n, c, pad, 1), residual = normal(r, n, c, pad, 1);
    Tensor dx = kind == 2 ? residual : blank(r, n, c, pad);
    Tensor dw = as_vector(accumulator(r, 1, c, 0, beta));
    op_rmsnorm_fwd(r->dev, y, rstd, x, w, 1e-6f);
    op_rmsnorm_bwd(r->dev, dx, dw, dy, x, w, rstd, kind ? residual : NO_TENSOR, beta);
    output(r, y);
    output(r, rstd);
    output(r, dx);
    output(r, dw);
}

static void case_layernorm(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 50), c = PICK_SIZE(r, 7, 700), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    int kind = choose(r, 4); /* no residual; a third tensor; dx itself; no residual and dx is dy */
    bool with_bias = choose(r, 2);
    Tensor x = normal(r, n, c, pad, 1), w = as_vector(normal(r, 1, c, 0, 1)), y = blank(r, n, c, pad);
    Tensor b = as_vector(normal(r, 1, c, 0, 1)), db = as_vector(accumulator(r, 1, c, 0, beta));
    Tensor mean = as_vector(blank(r, 1, n, 0)), rstd = as_vector(blank(r, 1, n, 0));
    Tensor dy = normal(r, n, c, pad, 1), residual = normal(r, n, c, pad, 1),
           dw = as_vector(accumulator(r, 1, c, 0, beta));
    Tensor dx = kind == 2 ? residual : kind == 3 ? dy : blank(r, n, c, pad);
    for (int64_t i = 0; i < n; i++)
        set(x, i, 0, 3 + get(x, i, 0)); /* a mean that is not zero */
    op_layernorm_fwd(r->dev, y, mean, rstd, x, w, with_bias ? b : NO_TENSOR, 1e-5f);
    op_layernorm_bwd(r->dev, dx, dw, with_bias ? db : NO_TENSOR, dy, x, w, mean, rstd,
                     kind == 1 || kind == 2 ? residual : NO_TENSOR, beta);
    Tensor results[] = { y, mean, rstd, dx, dw, with_bias ? db : dw };
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        output(r, results[i]);
}

static void case_bias(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 60), c = PICK_SIZE(r, 7, 300), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    bool in_place = choose(r, 2);
    Tensor x = normal(r, n, c, pad, 1), y = in_place ? x : blank(r, n, c, pad), dy = normal(r, n, c, pad, 1);
    Tensor db = as_vector(accumulator(r, 1, c, 0, beta));
    op_bias_add(r->dev, y, x, as_vector(normal(r, 1, c, 0, 1)));
    op_bias_bwd(r->dev, db, dy, beta);
    output(r, y);
    output(r, db);
}

static void case_rotary(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 60), heads = PICK_SIZE(r, 1, 3), dim = PICK_SIZE(r, 6, 64), pad = PICK_SIZE(r, 0, 3);
    int64_t turned = choose(r, 2) ? dim : 4;
    bool inverse = choose(r, 2);
    Tensor x = normal(r, n, heads * dim, pad, 1), table = blank(r, 40, turned, pad), place = integers(r, n, 40);
    op_rotary_table(r->dev, table, 10000);
    op_rotary(r->dev, x, table, place, (int32_t)dim, inverse);
    output(r, table);
    output(r, x);
}

static void case_alibi(Rig *r)
{
    int64_t heads = PICK_SIZE(r, 1, 8, 12), width = PICK_SIZE(r, 1, 301), pad = PICK_SIZE(r, 0, 3);
    Tensor bias = blank(r, heads, width, pad);
    op_alibi(r->dev, bias, (int32_t)PICK(r, -150, 0));
    output(r, bias);
}

static void case_dropout(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 60), c = PICK_SIZE(r, 7, 300), pad = PICK_SIZE(r, 0, 3);
    double rate = PICK(r, 0, 0.3, 0.1);
    int kind = choose(r, 4); /* no residual; into a third tensor, into x, into the residual */
    Dropout drop = dropout(r, n, rate);
    Tensor x = normal(r, n, c, pad, 1), residual = normal(r, n, c, pad, 1), third = blank(r, n, c, pad);
    Tensor y = kind == 2 ? x : kind == 3 ? residual : third;
    op_dropout_fwd(r->dev, y, x, kind ? residual : NO_TENSOR, &drop);
    output(r, y);
    Tensor dy = normal(r, n, c, pad, 1), dx = kind ? blank(r, n, c, pad) : dy;
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
    Tensor dtable = accumulator(r, spec.n_buckets, heads, pad, beta), dbias = normal(r, heads, width, pad, 1);
    op_relpos_bwd(r->dev, dtable, dbias, &spec, beta);
    output(r, dtable);
}

/* Lengths of queries and keys. */
static const int32_t one_token[] = { 1, -1 }, several[] = { 5, 13, 2, -1 };
static const int32_t unequal[] = { 3, 2, 0, 11, -1 }, longer_keys[] = { 9, 0, 0, 14, -1 };
static const int32_t many_tiles[] = { 150, 33, -1 }, many_key_tiles[] = { 181, 40, -1 };

static int32_t *cumulate(Rig *r, const int32_t *lengths, int32_t *n_seq, int32_t *longest)
{
    int32_t *cu = allocate(r, 8 * sizeof *cu);
    *n_seq = *longest = 0;
    for (; lengths[*n_seq] >= 0; ++*n_seq) {
        cu[*n_seq + 1] = cu[*n_seq] + lengths[*n_seq];
        *longest = MAX(*longest, lengths[*n_seq]);
    }
    return cu;
}

static void attn(Rig *r, const int32_t *lengths_q, const int32_t *lengths_k, int32_t heads, int64_t dim)
{
    int64_t spare = PICK_SIZE(r, 0, 3), pad = spare; /* rows and diagonals that no sequence covers */
    int bias_form = choose(r, 3);                    /* none; its gradient with beta 0; with beta 1 */
    bool with_bias = bias_form > 0;
    float beta = bias_form == 2 ? 1 : 0;
    double rate = PICK(r, 0, 0.3);
    AttnSpec spec = { .heads = heads, .scale = dim == 20 ? 1 : 0.125f };
    bool more_queries = choose(r, 2); /* causal: the first see no key at all */
    spec.causal = choose(r, 2);
    spec.cu_q = cumulate(r, more_queries ? lengths_k : lengths_q, &spec.n_seq, &spec.max_q);
    spec.cu_k = cumulate(r, more_queries ? lengths_q : lengths_k, &spec.n_seq, &spec.max_k);
    int64_t nq = spec.cu_q[spec.n_seq] + spare, nk = spec.cu_k[spec.n_seq] + spare, c = heads * dim;
    spec.max_q += (int32_t)spare;
    spec.max_k += (int32_t)spare;
    Dropout drop = dropout(r, nq, rate);
    int64_t width = spec.max_q + spec.max_k - 1;
    Tensor q = normal(r, nq, c, pad, 0.5), k = normal(r, nk, c, pad, 0.5), v = normal(r, nk, c, pad, 1);
    Tensor bias = with_bias ? normal(r, heads, width, pad, 1) : NO_TENSOR;
    Tensor dbias = with_bias ? accumulator(r, heads, width, pad, beta) : NO_TENSOR;
    Tensor o = blank(r, nq, c, pad), lse = blank(r, heads, nq, pad), dout = normal(r, nq, c, pad, 1);
    Tensor dq = blank(r, nq, c, pad), dk = blank(r, nk, c, pad), dv = blank(r, nk, c, pad);
    op_attn_fwd(r->dev, o, lse, q, k, v, bias, &spec, &drop);
    op_attn_bwd(r->dev, dq, dk, dv, dbias, beta, dout, o, lse, q, k, v, bias, &spec, &drop);
    Tensor results[] = { o, lse, dq, dk, dv };
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        output(r, results[i]);
    if (with_bias)
        output(r, dbias);
}

/* Grouped queries, a window, prefixes. */
static void case_attn_forms(Rig *r)
{
    int32_t heads = 2, prefix[] = { 3, 0, 7 };
    int64_t dim = 6, c = heads * dim, spare = PICK_SIZE(r, 0, 3);
    AttnSpec spec = { .heads = heads, .scale = 0.3f };
    spec.kv_heads = (int32_t)PICK(r, 0, 1);
    spec.window = (int32_t)PICK(r, 0, 17);
    spec.causal = choose(r, 2);
    spec.prefix = choose(r, 2) ? prefix : NULL;
    bool with_bias = spare > 0;
    double rate = with_bias ? 0.3 : 0;
    static const int32_t lengths[] = { 21, 1, 140, -1 };
    spec.cu_q = spec.cu_k = cumulate(r, lengths, &spec.n_seq, &spec.max_q);
    spec.max_k = spec.max_q;
    int64_t n = spec.cu_q[spec.n_seq] + spare, ckv = attn_kv_heads(&spec) * dim, width = 2 * spec.max_q - 1;
    Dropout drop = dropout(r, n, rate);
    Tensor q = normal(r, n, c, spare, 0.5), k = normal(r, n, ckv, spare, 0.5), v = normal(r, n, ckv, spare, 1);
    Tensor bias = with_bias ? normal(r, heads, width, spare, 1) : NO_TENSOR;
    Tensor dbias = with_bias ? blank(r, heads, width, spare) : NO_TENSOR;
    Tensor o = blank(r, n, c, spare), lse = blank(r, heads, n, spare), dout = normal(r, n, c, spare, 1);
    Tensor dq = blank(r, n, c, spare), dk = blank(r, n, ckv, spare), dv = blank(r, n, ckv, spare);
    op_attn_fwd(r->dev, o, lse, q, k, v, bias, &spec, &drop);
    op_attn_bwd(r->dev, dq, dk, dv, dbias, 0, dout, o, lse, q, k, v, bias, &spec, &drop);
    Tensor results[] = { o, lse, dq, dk, dv, with_bias ? dbias : dv };
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        output(r, results[i]);
}

static void case_attn(Rig *r)
{
    static const int32_t *const lengths_q[] = { one_token, several, unequal };
    static const int32_t *const lengths_k[] = { one_token, several, longer_keys };
    int kind = choose(r, 3), many_heads = choose(r, 2);
    attn(r, lengths_q[kind], lengths_k[kind], many_heads ? 3 : 1, many_heads ? 20 : 64);
}

static void case_attn_long(Rig *r)
{
    attn(r, many_tiles, many_key_tiles, 1, 12);
}

static void case_xent(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 13), vocabulary = PICK_SIZE(r, 2, 7, 3000), pad = PICK_SIZE(r, 0, 3);
    XentSpec spec = { .label_smoothing = (float)PICK(r, 0, 0.1), .z_loss = (float)PICK(r, 0, 1e-2), .scale = 0.25f };
    spec.grad = choose(r, 2);
    Tensor logits = normal(r, n, vocabulary, pad, PICK(r, 1, 30)), stats = blank(r, n, XENT_STATS, pad);
    Tensor targets = integers(r, n, vocabulary), weights = as_vector(normal(r, 1, n, 0, 1));
    for (int64_t i = 0; i < n; i++) /* some rows are padding, some count for more than one */
        set(weights, 0, i, i % 3 == 1 ? 0 : 1 + (double)(i % 2));
    op_xent(r->dev, logits, stats, targets, weights, &spec);
    output(r, logits);
    output(r, stats);
}

static void case_reductions(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 300), c = PICK_SIZE(r, 1, 4, 1001), pad = PICK_SIZE(r, 0, 3);
    float beta = (float)PICK(r, 0, 1);
    Tensor x = normal(r, n, c, pad, 1);
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
}

static void case_fill_and_copy(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 70), c = PICK_SIZE(r, 1, 300), pad = PICK_SIZE(r, 0, 3);
    Tensor x = normal(r, n, c, pad, 1), y = blank(r, n, c, pad), filled = blank(r, n, c, pad), ids = integers(r, n, 9);
    Tensor wide = tensor_matrix(allocate(r, (size_t)(n * c) * 8), DT_F64, n, c);
    op_copy(r->dev, wide, x);
    op_copy(r->dev, y, wide);
    op_fill(r->dev, filled, -2.5);
    op_fill(r->dev, ids, 3);
    output(r, wide);
    output(r, y);
    output(r, filled);
    output(r, ids);
}

static void case_argmax(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 9), c = PICK_SIZE(r, 1, 33, 2500), pad = PICK_SIZE(r, 0, 3);
    Tensor logits = normal(r, n, c, pad, 1), ids = integers(r, n, 5);
    for (int64_t i = 0; i < n; i++) /* whole numbers: many ties */
        for (int64_t j = 0; j < c; j++)
            set(logits, i, j, round(get(logits, i, j)) - 5);
    op_argmax(r->dev, ids, logits);
    output(r, ids);
}

static void case_adamw(Rig *r)
{
    int64_t rows = PICK_SIZE(r, 1, 67), cols = PICK_SIZE(r, 7, 300);
    bool vector = choose(r, 2);
    AdamwSpec spec = { .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = PICK(r, 0, 0.1) };
    spec.scale_by_rms = choose(r, 2);
    Tensor w = normal(r, rows, cols, 0, 0.5), m = normal(r, rows, cols, 0, 0), v = normal(r, rows, cols, 0, 0);
    for (int update = 1; update <= 3; update++) {
        StepScalars scalars = { .lr = 0.125f, .clip = 0.5f, .update = update };
        Tensor g = normal(r, rows, cols, 0, 1);
        op_adamw(r->dev, vector ? as_vector(w) : w, vector ? as_vector(m) : m, vector ? as_vector(v) : v,
                 vector ? as_vector(g) : g, &spec, &scalars);
    }
    output(r, w);
    output(r, m);
    output(r, v);
}

static void case_adafactor(Rig *r)
{
    int64_t rows = PICK_SIZE(r, 1, 35), cols = PICK_SIZE(r, 7, 600);
    int kind = choose(r, 3); /* factored, not factored, a vector */
    AdafactorSpec spec = { .eps1 = 1e-30, .eps2 = 1e-3, .decay_rate = 0.8 };
    spec.clip_threshold = PICK(r, 1, 0);
    spec.step_offset = spec.clip_threshold > 0 ? 0 : 100;
    int settings = choose(r, 4); /* neither; momentum; decay by the learning rate; both, decay as in T5X */
    spec.beta1 = settings % 2 ? 0.9 : 0;
    spec.weight_decay = settings / 2 ? 0.1 : 0;
    spec.decay_by_lr = settings == 2;
    spec.scale_parameter = settings != 1;
    Tensor w = normal(r, rows, cols, 0, 0.5), u = blank(r, rows, cols, 0), v = normal(r, rows, cols, 0, 0);
    Tensor m = normal(r, rows, cols, 0, 0), row = as_vector(normal(r, 1, rows, 0, 0));
    Tensor col = as_vector(normal(r, 1, cols, 0, 0));
    Tensor absent = NO_TENSOR;
    for (int update = 1; update <= 3; update++) {
        StepScalars scalars = { .lr = 0.125f, .clip = 0.5f, .update = update };
        Tensor g = normal(r, rows, cols, 0, 1), momentum = spec.beta1 > 0 ? m : absent;
        set(g, 0, 0, 0);
        if (kind == 2)
            op_adafactor(r->dev, as_vector(w), absent, absent, as_vector(v), spec.beta1 > 0 ? as_vector(m) : absent,
                         as_vector(g), as_vector(u), &spec, &scalars);
        else
            op_adafactor(r->dev, w, kind ? absent : row, kind ? absent : col, kind ? v : absent, momentum, g, u, &spec,
                         &scalars);
    }
    output(r, w);
    output(r, kind ? v : row);
    output(r, kind ? m : col);
}

static const Case cases[] = {
    { "gemm", case_gemm, 2e-6, 0 },
    { "embedding", case_embedding, 1e-6, 0 },
    { "rmsnorm", case_rmsnorm, 2e-6, 0 },
    { "layernorm", case_layernorm, 2e-6, 0 },
    { "bias", case_bias, 2e-6, 0 },
    { "rotary", case_rotary, 2e-6, 0 },
    { "alibi", case_alibi, 2e-6, 0 },
    { "dropout", case_dropout, 1e-6, 0 },
    { "act", case_act, 2e-6, 0 },
    { "relpos", case_relpos, 2e-6, 0 },
    { "attn", case_attn, 5e-6, 1 },
    { "attn_long", case_attn_long, 5e-6, 1 },
    { "attn_forms", case_attn_forms, 5e-6, 1 },
    { "xent", case_xent, 5e-6, 0.01 },
    { "reductions", case_reductions, 1e-12, 0 },
    { "fill_and_copy", case_fill_and_copy, 0, 0 },
    { "argmax", case_argmax, 0, 0 },
    { "adamw", case_adamw, 2e-6, 0 },
    { "adafactor", case_adafactor, 5e-6, 0 },
};

static void rig_run(Rig *rig, Device *dev, const Case *c, int code)
{
    *rig = (Rig){ .dev = dev, .rng = philox_open(philox_key(1, PHILOX_INIT, 0), 0), .code = code, .n_codes = 1 };
    rig->memory = g_ptr_array_new_with_free_func(g_free);
    rig->outputs = g_array_new(FALSE, FALSE, sizeof(Tensor));
    c->run(rig);
}

static void rig_clear(Rig *rig)
{
    g_ptr_array_unref(rig->memory);
    g_array_unref(rig->outputs);
}

/* ‖a − b‖ / ‖b‖; where b is zero and there is no floor, a must be. */
static double normalised_error(Tensor a, Tensor b, double floor)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < tensor_rows(b); i++) {
        for (int64_t j = 0; j < tensor_cols(b); j++) {
            double delta = get(a, i, j) - get(b, i, j);
            difference += delta * delta;
            size += get(b, i, j) * get(b, i, j);
        }
    }
    size = fmax(size, floor * floor * (double)tensor_count(b));
    return difference == 0 ? 0 : sqrt(difference / size);
}

static void check_untouched_between_rows(const Case *c, int code, Tensor t)
{
    for (int64_t i = 0; i < tensor_rows(t); i++)
        for (int64_t j = tensor_cols(t); j < t.ld; j++)
            if (!isnan(get(t, i, j)))
                g_error("%s, combination %d, wrote to (%d, %d), outside its view", c->name, code, (int)i, (int)j);
}

/* Returns the number of combinations. */
static int compare(const Case *c, int code, Device *dev, Device *reference, double *worst)
{
    Rig got, want;
    rig_run(&want, reference, c, code);
    rig_run(&got, dev, c, code);
    g_assert_cmpuint(got.outputs->len, ==, want.outputs->len);
    for (guint i = 0; i < want.outputs->len; i++) {
        Tensor a = g_array_index(got.outputs, Tensor, i), b = g_array_index(want.outputs, Tensor, i);
        double error = normalised_error(a, b, c->floor);
        if (!(error <= c->tolerance))
            g_error("%s on %s (%s), combination %d, output %u: error %.3g above %.3g", c->name, dev->name,
                    device_isa(dev), code, i, error, c->tolerance);
        *worst = fmax(*worst, error);
        check_untouched_between_rows(c, code, a);
        check_untouched_between_rows(c, code, b);
    }
    int n_codes = want.n_codes;
    rig_clear(&got);
    rig_clear(&want);
    return n_codes;
}

static void compare_all(const Case *c, Device *dev)
{
    Device *reference = device_open_reference();
    double worst = 0;
    int n_codes = 1;
    for (int code = 0; code < n_codes; code++)
        n_codes = compare(c, code, dev, reference, &worst);
    g_test_message("%s on %s (%s): worst error %.3g over %d combinations", c->name, dev->name, device_isa(dev), worst,
                   n_codes);
    device_close(reference);
}

static void test_cpu(gconstpointer data)
{
    Device *dev = device_open_cpu(2);
    compare_all(data, dev);
    device_close(dev);
}

/* The lower instruction set in a process of its own: oneDNN settles on one at its first use. */
static void test_avx2(void)
{
    Device *dev = device_open_cpu(2);
    bool same = strcmp(device_isa(dev), "avx2") == 0;
    device_close(dev);
    if (same) {
        g_test_skip("avx2 is what this processor has, or what was asked for");
        return;
    }
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    char *argv[] = { self, NULL };
    g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), "LOAM_CPU_ISA", "avx2", TRUE);
    int status = -1;
    g_assert_true(g_spawn_sync(NULL, argv, environment, 0, NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_true(g_spawn_check_wait_status(status, NULL));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/ops/%s_matches_the_reference", cases[i].name);
        g_test_add_data_func(path, &cases[i], test_cpu);
    }
    g_test_add_func("/ops/all_match_under_avx2", test_avx2);
    return g_test_run();
}
