/* op_cases.c: sets up and calls each operation of `loam bench ops`. */
#include "bench/op_cases.h"

#include "base/clock.h"
#include "nn/ctx.h"

#include <stdio.h>

enum { MOST_QUEUED = 256 }; /* runs of an operation between two waits */

bool op_rig_again(OpRig *r)
{
    if (r->queued > 1) { /* more runs of the turn: they are queued behind each other */
        r->queued--;
        r->runs++;
        return true;
    }
    r->queued = 0;
    device_synchronise(r->dev);
    double now = clock_seconds(), turn = MIN(OP_TURN_SECONDS, r->seconds);
    if (!r->dev->computes)
        return r->runs++ < 0;
    if (r->end == 0)
        r->end = now + r->seconds;
    else
        r->runs++;
    if (r->runs <= 0) {
        r->turn_start = now;
        return true;
    }
    double took = now - r->turn_start, mean = took / (double)r->runs;
    if (took < turn) {
        r->queued = mean * MOST_QUEUED > turn - took ? (int)((turn - took) / mean) + 1 : MOST_QUEUED;
        return true;
    }
    g_array_append_val(r->turns, mean);
    gemm_peak_measure(&r->gemm_peak, turn);
    r->runs = -1;
    return clock_seconds() < r->end;
}

/* ---- tensors ---- */

static int64_t enc_tokens(const OpSizes *sizes)
{
    return sizes->samples * sizes->enc;
}

static int64_t dec_tokens(const OpSizes *sizes)
{
    return sizes->samples * sizes->dec;
}

/* Number of tokens of a microbatch: in the encoder, or in the decoder of a decoder-only model. */
static int64_t tokens(const OpSizes *sizes)
{
    return sizes->enc > 0 ? enc_tokens(sizes) : dec_tokens(sizes);
}

/* Total width of the query heads; key_width: of the key heads, which equals that of the value heads. */
static int64_t query_width(const ModelConfig *model)
{
    return model->heads * model->head_dim;
}

static int64_t key_width(const ModelConfig *model)
{
    return model_config_kv_heads(model) * model->head_dim;
}

/* Fills the tensor with random numbers from -0.5 to 0.5, or with ones. */
static Tensor filled(OpRig *r, Tensor t, bool random)
{
    enum { PERIOD = 1 << 16 };
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    int64_t n = r->dev->computes ? tensor_count(t) : 0;
    g_autofree float *x = g_new(float, n);
    for (int64_t i = 0; i < n; i++)
        x[i] = !random ? 1.0f : i < PERIOD ? (float)philox_u32(&rng) / 4294967296.0f - 0.5f : x[i - PERIOD];
    if (n > 0)
        tensor_write(r->dev, t, x, DT_F32);
    return t;
}

static Tensor matrix_of(OpRig *r, DType dtype, int64_t rows, int64_t cols)
{
    return filled(r, arena_tensor(&r->arena, dtype, rows, cols, "matrix"), true);
}

/* Tensors in the dtypes of a step: weights and activations; the residual stream; gradients of weights; master weights
 * and optimizer states. */
static Tensor matrix(OpRig *r, int64_t rows, int64_t cols)
{
    return matrix_of(r, r->dev->precision.compute, rows, cols);
}

/* The output of a product; logits lie so, too. */
static Tensor output(OpRig *r, int64_t rows, int64_t cols)
{
    return filled(r, arena_rows(&r->arena, r->dev->precision.compute, rows, cols, "matrix"), true);
}

static Tensor stream(OpRig *r, int64_t rows, int64_t cols)
{
    return matrix_of(r, r->dev->precision.residual, rows, cols);
}

static Tensor gradient(OpRig *r, int64_t rows, int64_t cols)
{
    return matrix_of(r, r->dev->precision.grad, rows, cols);
}

static Tensor master(OpRig *r, int64_t rows, int64_t cols)
{
    return matrix_of(r, r->dev->precision.master, rows, cols);
}

static Tensor vector_of(OpRig *r, DType dtype, int64_t n)
{
    return filled(r, arena_vector(&r->arena, dtype, n, "vector"), false);
}

static Tensor statistic(OpRig *r, int64_t n)
{
    return vector_of(r, precision_statistic(r->dev->precision), n);
}

static Tensor ids_below(OpRig *r, int64_t n, int64_t bound)
{
    Tensor ids = arena_vector(&r->arena, DT_I32, n, "ids");
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    g_autofree int32_t *values = g_new(int32_t, n);
    for (int64_t i = 0; i < n; i++)
        values[i] = (int32_t)philox_below(&rng, (uint64_t)bound);
    tensor_upload(r->dev, ids, values);
    return ids;
}

static Dropout dropout(OpRig *r, int64_t n)
{
    g_autofree int64_t *samples = g_new(int64_t, n);
    g_autofree int32_t *positions = g_new(int32_t, n);
    Tensor sample = arena_vector(&r->arena, DT_I64, n, "sample"), position = arena_vector(&r->arena, DT_I32, n, "pos");
    for (int64_t i = 0; i < n; i++) {
        samples[i] = i * r->sizes.samples / n;
        positions[i] = (int32_t)(i % (n / r->sizes.samples));
    }
    tensor_upload(r->dev, sample, samples);
    tensor_upload(r->dev, position, positions);
    return (Dropout){
        .key = philox_key(1, PHILOX_DROPOUT, 0), .rate = r->of->dropout, .sample = sample.p, .position = position.p
    };
}

static void set_shape(OpRig *r, int64_t rows, int64_t cols)
{
    snprintf(r->shape, sizeof r->shape, "%lld x %lld", (long long)rows, (long long)cols);
}

/* ---- matrix products ---- */

typedef enum Linear { LINEAR_QKV, LINEAR_OUT, LINEAR_FFN_IN, LINEAR_FFN_OUT, LINEAR_DEC_QKV, LINEAR_LOGITS } Linear;
typedef enum Pass { FWD, DX, DW } Pass;
enum { PASSES = 3 };

/* y (rows,out) = x (rows,in) wᵀ; w (out,in) */
static void linear_sizes(const OpSizes *sizes, Linear linear, int64_t *rows, int64_t *out, int64_t *in)
{
    const ModelConfig *model = sizes->model;
    *rows = linear == LINEAR_LOGITS ? sizes->logit_rows : linear == LINEAR_DEC_QKV ? dec_tokens(sizes) : tokens(sizes);
    *out = *in = model->width;
    switch (linear) {
    case LINEAR_QKV:
    case LINEAR_DEC_QKV:
        *out = query_width(model) + 2 * key_width(model);
        break;
    case LINEAR_OUT:
        *in = query_width(model);
        break;
    case LINEAR_FFN_IN:
        *out = model->ffn * (model->gated ? 2 : 1);
        break;
    case LINEAR_FFN_OUT:
        *in = model->ffn;
        break;
    case LINEAR_LOGITS:
        *out = model->vocab;
        break;
    }
}

static void product(OpRig *r, Tensor y, Tensor a, Tensor b, bool ta, bool tb)
{
    snprintf(r->shape, sizeof r->shape, "%lld x %lld x %lld", (long long)y.d[0], (long long)y.d[1],
             (long long)a.d[ta ? 0 : 1]);
    while (op_rig_again(r))
        op_gemm(r->dev, y, a, b, ta, tb, 1, 0);
}

static void linear(OpRig *r)
{
    int64_t rows, out, in;
    linear_sizes(&r->sizes, (Linear)(r->of->setup / PASSES), &rows, &out, &in);
    switch ((Pass)(r->of->setup % PASSES)) {
    case FWD:
        product(r, output(r, rows, out), matrix(r, rows, in), matrix(r, out, in), false, true);
        break;
    case DX:
        product(r, matrix(r, rows, in), output(r, rows, out), matrix(r, out, in), false, false);
        break;
    case DW:
        product(r, gradient(r, out, in), output(r, rows, out), matrix(r, rows, in), true, false);
        break;
    }
}

/* ---- attention ---- */

typedef enum Attention { ATTENTION_ENCODER, ATTENTION_DECODER, ATTENTION_CROSS } Attention;

static BothSides cumulative(OpRig *r, int32_t *host, int32_t length)
{
    for (int32_t s = 0; s <= r->sizes.samples; s++)
        host[s] = s * length;
    Tensor device = arena_vector(&r->arena, DT_I32, r->sizes.samples + 1, "cu");
    tensor_upload(r->dev, device, host);
    return (BothSides){ host, device.p };
}

static void run_attention(OpRig *r, const AttnSpec *spec, bool biased)
{
    int64_t width = query_width(r->sizes.model), kv = key_width(r->sizes.model);
    int64_t nq = (int64_t)spec->n_seq * spec->max_q, nk = (int64_t)spec->n_seq * spec->max_k;
    int64_t n_bias = (int64_t)spec->max_q + spec->max_k - 1;
    Dropout drop = dropout(r, nq);
    Tensor q = matrix(r, nq, width), k = matrix(r, nk, kv), v = matrix(r, nk, kv), o = matrix(r, nq, width);
    Tensor lse = matrix_of(r, precision_statistic(r->dev->precision), spec->heads, nq);
    Tensor bias = biased ? matrix(r, spec->heads, n_bias) : NO_TENSOR;
    if (!r->of->is_backward) {
        while (op_rig_again(r))
            op_attn_fwd(r->dev, o, lse, q, k, v, bias, spec, &drop);
        return;
    }
    Tensor dq = matrix(r, nq, width), dk = matrix(r, nk, kv), dv = matrix(r, nk, kv), dout = matrix(r, nq, width);
    Tensor dbias = biased ? gradient(r, spec->heads, n_bias) : NO_TENSOR;
    if (r->dev->computes)
        op_attn_fwd(r->dev, o, lse, q, k, v, bias, spec, &drop);
    while (op_rig_again(r))
        op_attn_bwd(r->dev, dq, dk, dv, dbias, 0, dout, o, lse, q, k, v, bias, spec, &drop);
}

static void attention(OpRig *r)
{
    const OpSizes *sizes = &r->sizes;
    const ModelConfig *model = sizes->model;
    Attention kind = (Attention)r->of->setup;
    int32_t tq = kind == ATTENTION_ENCODER ? sizes->enc : sizes->dec;
    int32_t tk = kind == ATTENTION_DECODER ? sizes->dec : sizes->enc;
    g_autofree int32_t *cu_q = g_new(int32_t, sizes->samples + 1), *cu_k = g_new(int32_t, sizes->samples + 1);
    const AttnSpec spec = { .cu_q = cumulative(r, cu_q, tq),
                            .cu_k = cumulative(r, cu_k, tk),
                            .n_seq = (int32_t)sizes->samples,
                            .max_q = tq,
                            .max_k = tk,
                            .heads = (int32_t)model->heads,
                            .kv_heads = (int32_t)model_config_kv_heads(model),
                            .causal = kind == ATTENTION_DECODER,
                            .scale = 1 };
    set_shape(r, tq, tk);
    run_attention(r, &spec, model->position == POSITION_RELATIVE_BIAS && kind != ATTENTION_CROSS);
}

/* ---- operations bound by memory bandwidth ---- */

static void copy(OpRig *r)
{
    int64_t rows = r->sizes.model->vocab, cols = r->sizes.model->width;
    Tensor y = master(r, rows, cols), x = master(r, rows, cols);
    set_shape(r, rows, cols);
    while (op_rig_again(r))
        op_copy(r->dev, y, x);
}

static void embedding(OpRig *r)
{
    int64_t n = tokens(&r->sizes), vocab = r->sizes.model->vocab, width = r->sizes.model->width;
    Tensor x = stream(r, n, width), ids = ids_below(r, n, vocab);
    Tensor table = r->of->is_backward ? gradient(r, vocab, width) : matrix(r, vocab, width);
    set_shape(r, n, width);
    while (op_rig_again(r))
        if (r->of->is_backward)
            op_scatter_add(r->dev, table, x, ids, 0);
        else
            op_gather(r->dev, x, table, ids);
}

static void norm(OpRig *r)
{
    const ModelConfig *model = r->sizes.model;
    int64_t n = tokens(&r->sizes), width = model->width;
    DType compute = r->dev->precision.compute;
    Tensor y = matrix(r, n, width), x = stream(r, n, width), rstd = statistic(r, n), mean = statistic(r, n);
    Tensor w = vector_of(r, compute, width), b = vector_of(r, compute, width);
    set_shape(r, n, width);
    while (op_rig_again(r))
        if (model->norm == NORM_RMS)
            op_rmsnorm_fwd(r->dev, y, rstd, x, w, 1e-6f);
        else
            op_layernorm_fwd(r->dev, y, mean, rstd, x, w, b, 1e-6f);
}

/* The residual sum and the norm of it. */
static void sum_norm(OpRig *r)
{
    const ModelConfig *model = r->sizes.model;
    int64_t n = tokens(&r->sizes), width = model->width;
    DType compute = r->dev->precision.compute;
    Dropout drop = dropout(r, n);
    Tensor y = matrix(r, n, width), x = matrix(r, n, width), add = stream(r, n, width), sum = stream(r, n, width);
    Tensor w = vector_of(r, compute, width), b = vector_of(r, compute, width);
    Tensor rstd = statistic(r, n), mean = statistic(r, n);
    set_shape(r, n, width);
    while (op_rig_again(r))
        if (model->norm == NORM_RMS)
            op_sum_rmsnorm_fwd(r->dev, y, rstd, sum, x, add, w, 1e-6f, &drop);
        else
            op_sum_layernorm_fwd(r->dev, y, mean, rstd, sum, x, add, w, b, 1e-6f, &drop);
}

static void norm_bwd(OpRig *r)
{
    const ModelConfig *model = r->sizes.model;
    int64_t n = tokens(&r->sizes), width = model->width;
    DType grad = r->dev->precision.grad;
    Tensor dx = stream(r, n, width), dy = matrix(r, n, width), x = stream(r, n, width), add = stream(r, n, width);
    Tensor w = vector_of(r, r->dev->precision.compute, width), rstd = statistic(r, n), mean = statistic(r, n);
    Tensor dw = vector_of(r, grad, width), db = vector_of(r, grad, width);
    set_shape(r, n, width);
    while (op_rig_again(r))
        if (model->norm == NORM_RMS)
            op_rmsnorm_bwd(r->dev, dx, NO_TENSOR, dw, dy, x, w, rstd, add, 0, NULL);
        else
            op_layernorm_bwd(r->dev, dx, NO_TENSOR, dw, db, dy, x, w, mean, rstd, add, 0, NULL);
}

static void residual(OpRig *r)
{
    int64_t n = tokens(&r->sizes), width = r->sizes.model->width;
    Dropout drop = dropout(r, n);
    Tensor y = stream(r, n, width), x = matrix(r, n, width), add = stream(r, n, width);
    set_shape(r, n, width);
    while (op_rig_again(r))
        op_dropout_fwd(r->dev, y, x, add, &drop);
}

static void activation(OpRig *r)
{
    const ModelConfig *model = r->sizes.model;
    int64_t n = tokens(&r->sizes), width = model->ffn;
    Dropout drop = dropout(r, n);
    Activation act = (Activation)model->activation;
    Tensor a = matrix(r, n, width), h = matrix(r, n, width), gate = model->gated ? matrix(r, n, width) : NO_TENSOR;
    Tensor dh = r->of->is_backward ? matrix(r, n, width) : NO_TENSOR;
    Tensor dgate = r->of->is_backward && model->gated ? matrix(r, n, width) : NO_TENSOR;
    set_shape(r, n, width);
    while (op_rig_again(r))
        if (r->of->is_backward)
            op_act_bwd(r->dev, dh, dgate, a, h, gate, act, &drop);
        else
            op_act_fwd(r->dev, a, h, gate, act, &drop);
}

static void xent(OpRig *r)
{
    int64_t vocab = r->sizes.model->vocab, n = r->sizes.logit_rows;
    XentSpec spec = { .z_loss = 1e-4f, .scale = 1e-3f, .grad = true };
    Tensor logits = output(r, n, vocab), weights = statistic(r, n), targets = ids_below(r, n, vocab);
    Tensor stats = matrix_of(r, precision_statistic(r->dev->precision), n, XENT_STATS);
    set_shape(r, n, vocab);
    while (op_rig_again(r))
        op_xent(r->dev, logits, stats, targets, weights, &spec);
}

/* ---- updates ---- */

static void sumsq(OpRig *r)
{
    Tensor x = gradient(r, r->sizes.model->vocab, r->sizes.model->width);
    Tensor out = arena_vector(&r->arena, DT_F64, 1, "out");
    set_shape(r, x.d[0], x.d[1]);
    while (op_rig_again(r))
        op_sumsq(r->dev, out, x, 0);
}

static StepScalars *step_scalars(OpRig *r)
{
    const StepScalars values = { .lr = 1e-6f, .clip = 1, .beta1_t = 0.35, .beta2_t = 0.99, .new_part = 0.16 };
    StepScalars *scalars = arena_push(&r->arena, sizeof values, "scalars");
    device_upload(r->dev, scalars, &values, sizeof values);
    return scalars;
}

/* The weights in the dtype of the computation, which an update also writes if the masters have another dtype. */
static Tensor rounded_weight(OpRig *r, Tensor w)
{
    const Precision *precision = &r->dev->precision;
    return precision->compute == precision->master ? NO_TENSOR : matrix(r, w.d[0], w.d[1]);
}

static void adamw(OpRig *r)
{
    const AdamwSpec spec = { .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };
    int64_t rows = r->sizes.model->vocab, cols = r->sizes.model->width;
    StepScalars *scalars = step_scalars(r);
    Tensor w = master(r, rows, cols), g = gradient(r, rows, cols), m = master(r, rows, cols),
           copy = rounded_weight(r, w);
    Tensor v = filled(r, arena_tensor(&r->arena, r->dev->precision.state, rows, cols, "v"), false);
    set_shape(r, rows, cols);
    while (op_rig_again(r))
        op_adamw(r->dev, w, copy, m, v, g, NO_TENSOR, &spec, scalars);
}

static void adafactor(OpRig *r)
{
    int64_t rows = r->sizes.model->vocab, cols = r->sizes.model->width;
    const AdafactorSpec spec = { .eps1 = 1e-30,
                                 .eps2 = 1e-3,
                                 .clip_threshold = 1,
                                 .rows = rows,
                                 .cols = cols,
                                 .count = rows * cols,
                                 .scale_parameter = true };
    DType state = r->dev->precision.state;
    StepScalars *scalars = step_scalars(r);
    Tensor w = master(r, rows, cols), g = gradient(r, rows, cols), copy = rounded_weight(r, w);
    Tensor row = vector_of(r, state, rows), col = vector_of(r, state, cols);
    Tensor squares = arena_vector(&r->arena, DT_F64, 1, "squares"), size = arena_vector(&r->arena, DT_F64, 1, "size");
    Tensor row_sum = arena_vector(&r->arena, DT_F64, 1, "row_sum"),
           col_sums = arena_vector(&r->arena, DT_F64, cols, "col_sums");
    op_fill(r->dev, size, 0);
    op_fill(r->dev, col_sums, 0);
    set_shape(r, rows, cols);
    while (op_rig_again(r)) {
        op_sumsq(r->dev, squares, w, 0);
        op_fill(r->dev, row_sum, 0);
        op_adafactor_moments(r->dev, row, col_sums, row_sum, NO_TENSOR, g, &spec, scalars);
        op_adafactor_columns(r->dev, col, col_sums, &spec, scalars);
        op_adafactor_size(r->dev, size, row, col, row_sum, NO_TENSOR, g, &spec, scalars);
        op_adafactor(r->dev, w, copy, NO_TENSOR, row, col, row_sum, NO_TENSOR, g, squares, size, &spec, scalars);
    }
}

/* ---- the list ---- */

#define LINEAR(name, of)                                                                                               \
    { "gemm " name, linear, of * PASSES + FWD, false, 0 }, { "gemm " name ", dx", linear, of * PASSES + DX, true, 0 }, \
    {                                                                                                                  \
        "gemm " name ", dw", linear, of *PASSES + DW, true, 0                                                          \
    }
#define ATTENTION(name, of)                                                                                            \
    { name, attention, of, false, 0 }, { name ", bwd", attention, of, true, 0 },                                       \
        { name ", dropout", attention, of, false, 0.1f },                                                              \
    {                                                                                                                  \
        name ", dropout, bwd", attention, of, true, 0.1f                                                               \
    }
#define PLAIN(name, of)                                                                                                \
    {                                                                                                                  \
        name, of, 0, false, 0                                                                                          \
    }
#define BACKWARD(name, of)                                                                                             \
    {                                                                                                                  \
        name, of, 0, true, 0                                                                                           \
    }
#define DROPS(name, of, back)                                                                                          \
    {                                                                                                                  \
        name ", dropout", of, 0, back, 0.1f                                                                            \
    }
const OpCase op_cases[] = {
    LINEAR("qkv", LINEAR_QKV),
    LINEAR("attention out", LINEAR_OUT),
    LINEAR("ffn in", LINEAR_FFN_IN),
    LINEAR("ffn out", LINEAR_FFN_OUT),
    LINEAR("decoder qkv", LINEAR_DEC_QKV),
    LINEAR("logits", LINEAR_LOGITS),
    ATTENTION("encoder attention", ATTENTION_ENCODER),
    ATTENTION("decoder attention", ATTENTION_DECODER),
    ATTENTION("cross-attention", ATTENTION_CROSS),
    PLAIN("copy", copy),
    PLAIN("embedding", embedding),
    BACKWARD("embedding, bwd", embedding),
    PLAIN("norm", norm),
    BACKWARD("norm, bwd", norm_bwd),
    PLAIN("residual", residual),
    DROPS("residual", residual, false),
    PLAIN("residual and norm", sum_norm),
    DROPS("residual and norm", sum_norm, false),
    PLAIN("activation", activation),
    BACKWARD("activation, bwd", activation),
    DROPS("activation, bwd", activation, true),
    PLAIN("cross-entropy", xent),
    PLAIN("sum of squares", sumsq),
    PLAIN("adamw", adamw),
    PLAIN("adafactor", adafactor),
};
const int n_op_cases = G_N_ELEMENTS(op_cases);

bool op_case_applies(const OpCase *of, const OpSizes *sizes)
{
    bool both = sizes->enc > 0 && sizes->dec > 0;
    if (of->run == linear)
        return of->setup / PASSES != LINEAR_DEC_QKV || both;
    if (of->run != attention)
        return true;
    return of->setup == ATTENTION_ENCODER ? sizes->enc > 0 : of->setup == ATTENTION_DECODER ? sizes->dec > 0 : both;
}
