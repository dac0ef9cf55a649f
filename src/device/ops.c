/* ops.c: the front door. Shapes and dtypes are checked here, once, for every backend. */
#include "device/ops.h"

#include "base/check.h"
#include "device/op_table.h"
#include "device/profile.h"

const char *const activation_names[] = {
    [ACT_RELU] = "relu", [ACT_GELU_TANH] = "gelu_tanh", [ACT_GELU_ERF] = "gelu_erf",
    [ACT_SILU] = "silu", [ACT_TANH] = "tanh",           [ACT_COUNT] = NULL
};

/* A wrong tensor is reported with the operation, its name in the call, what it is and what it should be. */
static void check_tensor(const char *op, const char *name, Tensor t, DType dtype, int rank, int64_t rows, int64_t cols)
{
    CHECK(t.rank == rank && rank > 0, "%s: %s has rank %d, not %d", op, name, t.rank, rank);
    CHECK(t.dtype == dtype, "%s: %s is %s, not %s", op, name, dtype_name((DType)t.dtype), dtype_name(dtype));
    CHECK(tensor_rows(t) == rows && tensor_cols(t) == cols, "%s: %s is (%lld, %lld), not (%lld, %lld)", op, name,
          (long long)tensor_rows(t), (long long)tensor_cols(t), (long long)rows, (long long)cols);
    CHECK(t.ld >= cols, "%s: %s has %lld columns but rows %lld apart", op, name, (long long)cols, (long long)t.ld);
    CHECK(t.p != NULL || rows == 0 || cols == 0, "%s: %s has no memory", op, name);
}

#define CHECK_MATRIX(t, rows, cols)  check_tensor(__func__, #t, t, dev->real, 2, rows, cols)
#define CHECK_VECTOR(t, n)           check_tensor(__func__, #t, t, dev->real, 1, 1, n)
#define CHECK_VECTOR_OF(dtype, t, n) check_tensor(__func__, #t, t, dtype, 1, 1, n)
#define CHECK_LIKE(t, model)                                                                                           \
    check_tensor(__func__, #t, t, dev->real, (model).rank, tensor_rows(model), tensor_cols(model))
#define CHECK_ANY(t) CHECK_LIKE(t, t)
#define CHECK_OPTIONAL_LIKE(t, model)                                                                                  \
    do {                                                                                                               \
        if (tensor_present(t))                                                                                         \
            CHECK_LIKE(t, model);                                                                                      \
    } while (0)

/* Calls the backend, and keeps the time where somebody asked for it. */
#define RUN(op, ...)                                                                                                   \
    do {                                                                                                               \
        double start = profile_start(dev);                                                                             \
        dev->ops->op(dev, __VA_ARGS__);                                                                                \
        profile_add(dev, #op, start);                                                                                  \
    } while (0)

static void check_dropout(const char *op, const Dropout *drop)
{
    CHECK(drop->rate >= 0 && drop->rate < 1, "%s: dropout rate %g is not in [0, 1)", op, (double)drop->rate);
    CHECK(drop->rate == 0 || (drop->sample && drop->position), "%s: dropout without samples or positions", op);
}

void op_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    CHECK_ANY(a);
    int64_t k = a.d[ta ? 0 : 1];
    CHECK_MATRIX(y, a.d[ta ? 1 : 0], b.d[tb ? 0 : 1]);
    CHECK_MATRIX(a, ta ? k : y.d[0], ta ? y.d[0] : k);
    CHECK_MATRIX(b, tb ? y.d[1] : k, tb ? k : y.d[1]);
    RUN(gemm, y, a, b, ta, tb, alpha, beta);
}

void op_embedding_fwd(Device *dev, Tensor y, Tensor table, Tensor ids)
{
    CHECK_MATRIX(table, table.d[0], y.d[1]);
    CHECK_MATRIX(y, y.d[0], table.d[1]);
    CHECK_VECTOR_OF(DT_I32, ids, y.d[0]);
    RUN(embedding_fwd, y, table, ids);
}

void op_embedding_bwd(Device *dev, Tensor dtable, Tensor dy, Tensor ids, float beta)
{
    CHECK_MATRIX(dtable, dtable.d[0], dy.d[1]);
    CHECK_MATRIX(dy, dy.d[0], dtable.d[1]);
    CHECK_VECTOR_OF(DT_I32, ids, dy.d[0]);
    RUN(embedding_bwd, dtable, dy, ids, beta);
}

void op_rmsnorm_fwd(Device *dev, Tensor y, Tensor rstd, Tensor x, Tensor w, float eps)
{
    CHECK_MATRIX(x, y.d[0], y.d[1]);
    CHECK_MATRIX(y, x.d[0], x.d[1]);
    CHECK_VECTOR(rstd, x.d[0]);
    CHECK_VECTOR(w, x.d[1]);
    RUN(rmsnorm_fwd, y, rstd, x, w, eps);
}

void op_rmsnorm_bwd(Device *dev, Tensor dx, Tensor dw, Tensor dy, Tensor x, Tensor w, Tensor rstd, Tensor residual,
                    float beta)
{
    CHECK_MATRIX(x, dx.d[0], dx.d[1]);
    CHECK_LIKE(dx, x);
    CHECK_LIKE(dy, x);
    CHECK_OPTIONAL_LIKE(residual, x);
    CHECK_VECTOR(rstd, x.d[0]);
    CHECK_VECTOR(w, x.d[1]);
    CHECK_VECTOR(dw, x.d[1]);
    RUN(rmsnorm_bwd, dx, dw, dy, x, w, rstd, residual, beta);
}

void op_layernorm_fwd(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor x, Tensor w, Tensor b, float eps)
{
    CHECK_MATRIX(x, y.d[0], y.d[1]);
    CHECK_MATRIX(y, x.d[0], x.d[1]);
    CHECK_VECTOR(mean, x.d[0]);
    CHECK_VECTOR(rstd, x.d[0]);
    CHECK_VECTOR(w, x.d[1]);
    CHECK_OPTIONAL_LIKE(b, w);
    RUN(layernorm_fwd, y, mean, rstd, x, w, b, eps);
}

void op_layernorm_bwd(Device *dev, Tensor dx, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w, Tensor mean,
                      Tensor rstd, Tensor residual, float beta)
{
    CHECK_MATRIX(x, dx.d[0], dx.d[1]);
    CHECK_LIKE(dx, x);
    CHECK_LIKE(dy, x);
    CHECK_OPTIONAL_LIKE(residual, x);
    CHECK_VECTOR(mean, x.d[0]);
    CHECK_VECTOR(rstd, x.d[0]);
    CHECK_VECTOR(w, x.d[1]);
    CHECK_LIKE(dw, w);
    CHECK_OPTIONAL_LIKE(db, w);
    RUN(layernorm_bwd, dx, dw, db, dy, x, w, mean, rstd, residual, beta);
}

void op_bias_add(Device *dev, Tensor y, Tensor x, Tensor b)
{
    CHECK_MATRIX(x, y.d[0], y.d[1]);
    CHECK_LIKE(y, x);
    CHECK_VECTOR(b, x.d[1]);
    RUN(bias_add, y, x, b);
}

void op_bias_bwd(Device *dev, Tensor db, Tensor dy, float beta)
{
    CHECK_MATRIX(dy, dy.d[0], dy.d[1]);
    CHECK_VECTOR(db, dy.d[1]);
    RUN(bias_bwd, db, dy, beta);
}

void op_scale(Device *dev, Tensor y, Tensor x, float factor)
{
    CHECK_MATRIX(x, y.d[0], y.d[1]);
    CHECK_LIKE(y, x);
    RUN(scale, y, x, factor);
}

void op_dropout_fwd(Device *dev, Tensor y, Tensor x, Tensor residual, const Dropout *drop)
{
    CHECK_MATRIX(x, y.d[0], y.d[1]);
    CHECK_LIKE(y, x);
    CHECK_OPTIONAL_LIKE(residual, x);
    check_dropout(__func__, drop);
    RUN(dropout_fwd, y, x, residual, drop);
}

void op_dropout_bwd(Device *dev, Tensor dx, Tensor dy, const Dropout *drop)
{
    CHECK_MATRIX(dy, dx.d[0], dx.d[1]);
    CHECK_LIKE(dx, dy);
    check_dropout(__func__, drop);
    RUN(dropout_bwd, dx, dy, drop);
}

void op_act_fwd(Device *dev, Tensor a, Tensor h, Tensor gate, Activation act, const Dropout *drop)
{
    CHECK_MATRIX(h, a.d[0], a.d[1]);
    CHECK_LIKE(a, h);
    CHECK_OPTIONAL_LIKE(gate, h);
    CHECK(act < ACT_COUNT, "activation %d", (int)act);
    check_dropout(__func__, drop);
    RUN(act_fwd, a, h, gate, act, drop);
}

void op_act_bwd(Device *dev, Tensor dh, Tensor dgate, Tensor da, Tensor h, Tensor gate, Activation act,
                const Dropout *drop)
{
    CHECK_MATRIX(h, dh.d[0], dh.d[1]);
    CHECK_LIKE(dh, h);
    CHECK_LIKE(da, h);
    CHECK_OPTIONAL_LIKE(gate, h);
    CHECK_OPTIONAL_LIKE(dgate, h);
    CHECK(tensor_present(gate) == tensor_present(dgate), "gate %d, dgate %d", gate.rank, dgate.rank);
    CHECK(act < ACT_COUNT, "activation %d", (int)act);
    check_dropout(__func__, drop);
    RUN(act_bwd, dh, dgate, da, h, gate, act, drop);
}

static void check_relpos(const RelposSpec *spec)
{
    bool both = spec->bidirectional || spec->rule == RELPOS_AST;
    int32_t side = both ? spec->n_buckets / 2 : spec->n_buckets;
    CHECK(side >= 2 && (!both || spec->n_buckets % 2 == 0) && spec->max_distance > side / 2,
          "%d buckets up to distance %d", spec->n_buckets, spec->max_distance);
}

void op_relpos_fwd(Device *dev, Tensor bias, Tensor table, const RelposSpec *spec)
{
    check_relpos(spec);
    CHECK_MATRIX(table, spec->n_buckets, bias.d[0]);
    CHECK_MATRIX(bias, table.d[1], bias.d[1]);
    RUN(relpos_fwd, bias, table, spec);
}

void op_relpos_bwd(Device *dev, Tensor dtable, Tensor dbias, const RelposSpec *spec, float beta)
{
    check_relpos(spec);
    CHECK_MATRIX(dtable, spec->n_buckets, dbias.d[0]);
    CHECK_MATRIX(dbias, dtable.d[1], dbias.d[1]);
    RUN(relpos_bwd, dtable, dbias, spec, beta);
}

void op_alibi(Device *dev, Tensor bias, int32_t first)
{
    CHECK_MATRIX(bias, bias.d[0], bias.d[1]);
    RUN(alibi, bias, first);
}

void op_sinusoid_table(Device *dev, Tensor table, int32_t first)
{
    CHECK_MATRIX(table, table.d[0], table.d[1]);
    CHECK(table.d[1] % 2 == 0 && table.d[1] >= 4, "sinusoids: %lld channels", (long long)table.d[1]);
    RUN(sinusoid_table, table, first);
}

void op_rotary_table(Device *dev, Tensor table, double base)
{
    CHECK_MATRIX(table, table.d[0], table.d[1]);
    CHECK(table.d[1] % 2 == 0 && base > 0, "rotary: %lld channels, base %g", (long long)table.d[1], base);
    RUN(rotary_table, table, base);
}

void op_rotary(Device *dev, Tensor x, Tensor table, Tensor place, int32_t head_dim, bool inverse)
{
    CHECK_MATRIX(x, x.d[0], x.d[1]);
    CHECK_MATRIX(table, table.d[0], table.d[1]);
    CHECK_VECTOR_OF(DT_I32, place, x.d[0]);
    CHECK(head_dim > 0 && x.d[1] % head_dim == 0 && table.d[1] % 2 == 0 && table.d[1] <= head_dim,
          "rotary: %lld of %d channels a head, %lld in all", (long long)table.d[1], head_dim, (long long)x.d[1]);
    RUN(rotary, x, table, place, head_dim, inverse);
}

static void check_lengths(const char *op, const char *name, const int32_t *cu, int32_t n_seq, int32_t max, int64_t rows)
{
    CHECK(cu[0] >= 0 && cu[n_seq] <= rows, "%s: %s covers rows %d to %d of %lld", op, name, cu[0], cu[n_seq],
          (long long)rows);
    for (int32_t s = 0; s < n_seq; s++)
        CHECK(cu[s] <= cu[s + 1] && cu[s + 1] - cu[s] <= max, "%s: %s of sequence %d is %d to %d, longest %d", op, name,
              s, cu[s], cu[s + 1], max);
}

static void check_layout(const char *op, const AttnSpec *spec)
{
    const BlockLayout *layout = spec->layout;
    CHECK(layout->size > 0 && layout->size % 4 == 0, "%s: blocks of %d tokens", op, layout->size);
    CHECK(layout->heads == 1 || layout->heads == spec->heads, "%s: a layout of %d heads for %d", op, layout->heads,
          spec->heads);
    for (int32_t s = 0; s < spec->n_seq; s++) {
        int64_t tq = spec->cu_q[s + 1] - spec->cu_q[s], tk = spec->cu_k[s + 1] - spec->cu_k[s];
        CHECK(tq <= tk && tk <= (int64_t)layout->size * layout->blocks, "%s: %lld x %lld under %d blocks of %d", op,
              (long long)tq, (long long)tk, layout->blocks, layout->size);
    }
}

static void check_distance(const char *op, const Device *dev, const AttnSpec *spec, int64_t head_dim, bool biased)
{
    Tensor table = spec->distance->table;
    check_tensor(op, "table", table, dev->real, 2, table.d[0], head_dim);
    CHECK(table.d[0] % 2 == 1 && table.d[0] / 2 >= spec->max_q - 1 && table.d[0] / 2 >= spec->max_k - 1,
          "%s: %lld distances of %d queries and %d keys", op, (long long)table.d[0], spec->max_q, spec->max_k);
    CHECK(!biased && !spec->layout, "%s: distances with a bias or a layout", op);
}

static void check_attn(const char *op, const Device *dev, Tensor q, Tensor k, Tensor v, Tensor bias,
                       const AttnSpec *spec, const Dropout *drop)
{
    check_tensor(op, "q", q, dev->real, 2, q.d[0], q.d[1]);
    CHECK(spec->heads > 0 && q.d[1] % spec->heads == 0, "%s: %lld channels in %d heads", op, (long long)q.d[1],
          spec->heads);
    CHECK(spec->kv_heads >= 0 && spec->heads % attn_kv_heads(spec) == 0, "%s: %d heads over %d of keys", op,
          spec->heads, spec->kv_heads);
    CHECK(spec->window >= 0, "%s: a window of %d", op, spec->window);
    int64_t kv_width = q.d[1] / spec->heads * attn_kv_heads(spec);
    check_tensor(op, "k", k, dev->real, 2, k.d[0], kv_width);
    check_tensor(op, "v", v, dev->real, 2, k.d[0], kv_width);
    CHECK(spec->n_seq >= 0 && spec->max_q > 0 && spec->max_k > 0, "%s: %d sequences up to %d x %d", op, spec->n_seq,
          spec->max_q, spec->max_k);
    if (tensor_present(bias))
        check_tensor(op, "bias", bias, dev->real, 2, spec->heads, (int64_t)spec->max_q + spec->max_k - 1);
    check_lengths(op, "cu_q", spec->cu_q, spec->n_seq, spec->max_q, q.d[0]);
    check_lengths(op, "cu_k", spec->cu_k, spec->n_seq, spec->max_k, k.d[0]);
    if (spec->layout)
        check_layout(op, spec);
    if (spec->distance)
        check_distance(op, dev, spec, q.d[1] / spec->heads, tensor_present(bias));
    check_dropout(op, drop);
}

void op_attn_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec,
                 const Dropout *drop)
{
    check_attn(__func__, dev, q, k, v, bias, spec, drop);
    CHECK_LIKE(o, q);
    CHECK_MATRIX(lse, spec->heads, q.d[0]);
    RUN(attn_fwd, o, lse, q, k, v, bias, spec, drop);
}

void op_attn_bwd(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout, Tensor o,
                 Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec, const Dropout *drop)
{
    check_attn(__func__, dev, q, k, v, bias, spec, drop);
    CHECK_LIKE(dq, q);
    CHECK_LIKE(dk, k);
    CHECK_LIKE(dv, k);
    CHECK_LIKE(dout, q);
    CHECK_LIKE(o, q);
    CHECK_MATRIX(lse, spec->heads, q.d[0]);
    CHECK_OPTIONAL_LIKE(dbias, bias);
    if (spec->distance)
        CHECK_LIKE(spec->distance->dtable, spec->distance->table);
    RUN(attn_bwd, dq, dk, dv, dbias, beta_bias, dout, o, lse, q, k, v, bias, spec, drop);
}

void op_xent(Device *dev, Tensor logits, Tensor stats, Tensor targets, Tensor weights, const XentSpec *spec)
{
    CHECK_MATRIX(logits, stats.d[0], logits.d[1]);
    CHECK_MATRIX(stats, logits.d[0], XENT_STATS);
    CHECK_VECTOR_OF(DT_I32, targets, logits.d[0]);
    CHECK_VECTOR(weights, logits.d[0]);
    CHECK(spec->label_smoothing >= 0 && spec->label_smoothing < 1 && logits.d[1] > 1,
          "label smoothing %g over %lld classes", (double)spec->label_smoothing, (long long)logits.d[1]);
    RUN(xent, logits, stats, targets, weights, spec);
}

void op_sum_rows(Device *dev, Tensor out, Tensor x, float beta)
{
    CHECK_MATRIX(x, x.d[0], x.d[1]);
    CHECK_VECTOR_OF(DT_F64, out, x.d[1]);
    RUN(sum_rows, out, x, beta);
}

void op_sumsq(Device *dev, Tensor out, Tensor x, float beta)
{
    CHECK_ANY(x);
    CHECK_VECTOR_OF(DT_F64, out, 1);
    RUN(sumsq, out, x, beta);
}

void op_fill(Device *dev, Tensor x, double value)
{
    CHECK(tensor_present(x), "op_fill: no tensor");
    check_tensor(__func__, "x", x, (DType)x.dtype, x.rank, tensor_rows(x), tensor_cols(x));
    RUN(fill, x, value);
}

void op_copy(Device *dev, Tensor y, Tensor x)
{
    CHECK(tensor_present(x), "op_copy: no tensor");
    check_tensor(__func__, "x", x, (DType)x.dtype, x.rank, tensor_rows(x), tensor_cols(x));
    check_tensor(__func__, "y", y, (DType)y.dtype, x.rank, tensor_rows(x), tensor_cols(x));
    RUN(copy, y, x);
}

void op_argmax(Device *dev, Tensor ids, Tensor logits)
{
    CHECK_MATRIX(logits, logits.d[0], logits.d[1]);
    CHECK_VECTOR_OF(DT_I32, ids, logits.d[0]);
    CHECK(logits.d[1] > 0, "argmax of %lld classes", (long long)logits.d[1]);
    RUN(argmax, ids, logits);
}

void op_adamw(Device *dev, Tensor w, Tensor m, Tensor v, Tensor g, const AdamwSpec *spec, const StepScalars *scalars)
{
    CHECK_ANY(w);
    CHECK_LIKE(m, w);
    CHECK_LIKE(v, w);
    CHECK_LIKE(g, w);
    RUN(adamw, w, m, v, g, spec, scalars);
}

void op_adafactor(Device *dev, Tensor w, Tensor row, Tensor col, Tensor v, Tensor m, Tensor g, Tensor u,
                  const AdafactorSpec *spec, const StepScalars *scalars)
{
    CHECK_ANY(w);
    CHECK_LIKE(g, w);
    CHECK_LIKE(u, w);
    CHECK(tensor_present(row) == tensor_present(col) && tensor_present(row) != tensor_present(v),
          "second moments: row %d, col %d, v %d", row.rank, col.rank, v.rank);
    if (tensor_present(row)) {
        CHECK_VECTOR(row, w.d[0]);
        CHECK_VECTOR(col, w.d[1]);
        CHECK(w.rank == 2, "factored second moments of rank %d", w.rank);
    }
    CHECK_OPTIONAL_LIKE(v, w);
    CHECK_OPTIONAL_LIKE(m, w);
    CHECK(tensor_present(m) == (spec->beta1 > 0), "beta1 %g, m %d", spec->beta1, m.rank);
    RUN(adafactor, w, row, col, v, m, g, u, spec, scalars);
}
