/* null: computes nothing and touches no tensor; it counts the floating-point operations of matrix products and
 * attention and the bytes every operation moves. */
#include "device/op_table.h"

/* Bytes of the tensors given; every operand counts once. */
#define BYTES(...) bytes_of((const Tensor[]){ __VA_ARGS__ }, sizeof((const Tensor[]){ __VA_ARGS__ }) / sizeof(Tensor))

static double bytes_of(const Tensor *tensors, size_t n)
{
    double bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += (double)tensor_count(tensors[i]) * (double)dtype_bytes((DType)tensors[i].dtype);
    return bytes;
}

static void count(Device *dev, double flops, double bytes)
{
    dev->counts.flops += flops;
    dev->counts.bytes += bytes;
    dev->counts.calls++;
}

static void null_close(Device *dev)
{
    (void)dev;
}

static void null_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    (void)tb, (void)alpha, (void)beta;
    count(dev, 2.0 * (double)y.d[0] * (double)y.d[1] * (double)a.d[ta ? 0 : 1], BYTES(y, a, b));
}

static void null_embedding_fwd(Device *dev, Tensor y, Tensor table, Tensor ids)
{
    (void)table;
    count(dev, 0, BYTES(y, y, ids));
}

static void null_embedding_bwd(Device *dev, Tensor dtable, Tensor dy, Tensor ids, float beta)
{
    (void)beta;
    count(dev, 0, BYTES(dtable, dy, ids));
}

static void null_rmsnorm_fwd(Device *dev, Tensor y, Tensor rstd, Tensor x, Tensor w, float eps)
{
    (void)eps;
    count(dev, 0, BYTES(y, rstd, x, w));
}

static void null_rmsnorm_bwd(Device *dev, Tensor dx, Tensor dw, Tensor dy, Tensor x, Tensor w, Tensor rstd,
                             Tensor residual, float beta)
{
    (void)beta;
    count(dev, 0, BYTES(dx, dw, dy, x, w, rstd, residual));
}

static void null_layernorm_fwd(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor x, Tensor w, Tensor b, float eps)
{
    (void)eps;
    count(dev, 0, BYTES(y, mean, rstd, x, w, b));
}

static void null_layernorm_bwd(Device *dev, Tensor dx, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w, Tensor mean,
                               Tensor rstd, Tensor residual, float beta)
{
    (void)beta;
    count(dev, 0, BYTES(dx, dw, db, dy, x, w, mean, rstd, residual));
}

static void null_bias_add(Device *dev, Tensor y, Tensor x, Tensor b)
{
    count(dev, 0, BYTES(y, x, b));
}

static void null_bias_bwd(Device *dev, Tensor db, Tensor dy, float beta)
{
    (void)beta;
    count(dev, 0, BYTES(db, dy));
}

static void null_scale(Device *dev, Tensor y, Tensor x, float factor)
{
    (void)factor;
    count(dev, 0, BYTES(y, x));
}

static void null_dropout_fwd(Device *dev, Tensor y, Tensor x, Tensor residual, const Dropout *drop)
{
    (void)drop;
    count(dev, 0, BYTES(y, x, residual));
}

static void null_dropout_bwd(Device *dev, Tensor dx, Tensor dy, const Dropout *drop)
{
    (void)drop;
    count(dev, 0, BYTES(dx, dy));
}

static void null_act_fwd(Device *dev, Tensor a, Tensor h, Tensor gate, Activation act, const Dropout *drop)
{
    (void)act, (void)drop;
    count(dev, 0, BYTES(a, h, gate));
}

static void null_act_bwd(Device *dev, Tensor dh, Tensor dgate, Tensor da, Tensor h, Tensor gate, Activation act,
                         const Dropout *drop)
{
    (void)act, (void)drop;
    count(dev, 0, BYTES(dh, dgate, da, h, gate));
}

static void null_relpos_fwd(Device *dev, Tensor bias, Tensor table, const RelposSpec *spec)
{
    (void)spec;
    count(dev, 0, BYTES(bias, table));
}

static void null_relpos_bwd(Device *dev, Tensor dtable, Tensor dbias, const RelposSpec *spec, float beta)
{
    (void)spec, (void)beta;
    count(dev, 0, BYTES(dtable, dbias));
}

static void null_alibi(Device *dev, Tensor bias, int32_t first)
{
    (void)first;
    count(dev, 0, BYTES(bias));
}

static void null_sinusoid_table(Device *dev, Tensor table, int32_t first)
{
    (void)first;
    count(dev, 0, BYTES(table));
}

static void null_rotary_table(Device *dev, Tensor table, double base)
{
    (void)base;
    count(dev, 0, BYTES(table));
}

static void null_rotary(Device *dev, Tensor x, Tensor table, Tensor place, int32_t head_dim, bool inverse)
{
    (void)head_dim, (void)inverse;
    count(dev, 0, BYTES(x, x, table, place));
}

/* Of the keys [begin, end) of a query those in its key blocks, averaged over the heads. */
static double keys_of_layout(const AttnSpec *spec, int64_t position, int64_t begin, int64_t end)
{
    const BlockLayout *layout = spec->layout;
    double keys = 0;
    for (int32_t h = 0; h < layout->heads; h++) {
        const int32_t *first = attn_layout_row(layout, h, position);
        for (int32_t k = first[0]; k < first[1]; k++) {
            int64_t from = (int64_t)layout->keys[k] * layout->size, to = from + layout->size;
            from = from > begin ? from : begin;
            to = to < end ? to : end;
            keys += to > from ? (double)(to - from) : 0;
        }
    }
    return keys / layout->heads;
}

/* Pairs of a query and a key it sees, of one sequence and head. */
static double pairs_seen(const AttnSpec *spec, int32_t s)
{
    int64_t tq = spec->cu_q[s + 1] - spec->cu_q[s], tk = spec->cu_k[s + 1] - spec->cu_k[s];
    double pairs = 0;
    for (int64_t i = 0; i < tq; i++) {
        int64_t begin, end;
        attn_visible(spec, s, i, &begin, &end);
        pairs += spec->layout ? keys_of_layout(spec, i + tk - tq, begin, end) : (double)(end - begin);
    }
    return pairs;
}

/* The same over all sequences. */
static double visible_pairs(const AttnSpec *spec)
{
    double pairs = 0;
    for (int32_t s = 0; s < spec->n_seq; s++) {
        double tq = spec->cu_q[s + 1] - spec->cu_q[s], tk = spec->cu_k[s + 1] - spec->cu_k[s];
        /* Causal: query i sees tk - tq + i + 1 keys, where that is positive. */
        double rows = tq < tk ? tq : tk;
        if (spec->window || spec->prefix || spec->layout)
            pairs += pairs_seen(spec, s);
        else
            pairs += spec->causal ? rows * (tk - (rows - 1) / 2) : tq * tk;
    }
    return pairs;
}

/* Of a pair and channel, in forward: what embeddings of distances add. */
static double distance_flops(const AttnSpec *spec)
{
    return spec->distance == NULL ? 0 : spec->distance->keys ? 4 : 2;
}

static void null_attn_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias,
                          const AttnSpec *spec, const Dropout *drop)
{
    (void)drop;
    count(dev, (4.0 + distance_flops(spec)) * (double)q.d[1] * visible_pairs(spec), BYTES(o, lse, q, k, v, bias));
}

static void null_attn_bwd(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout,
                          Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec,
                          const Dropout *drop)
{
    (void)beta_bias, (void)drop;
    count(dev, (8.0 + 2 * distance_flops(spec)) * (double)q.d[1] * visible_pairs(spec),
          BYTES(dq, dk, dv, dbias, dout, o, lse, q, k, v, bias));
}

static void null_xent(Device *dev, Tensor logits, Tensor stats, Tensor targets, Tensor weights, const XentSpec *spec)
{
    count(dev, 0, BYTES(logits, stats, targets, weights, spec->grad ? logits : NO_TENSOR));
}

static void null_sum_rows(Device *dev, Tensor out, Tensor x, float beta)
{
    (void)beta;
    count(dev, 0, BYTES(out, x));
}

static void null_sumsq(Device *dev, Tensor out, Tensor x, float beta)
{
    (void)beta;
    count(dev, 0, BYTES(out, x));
}

static void null_fill(Device *dev, Tensor x, double value)
{
    (void)value;
    count(dev, 0, BYTES(x));
}

static void null_copy(Device *dev, Tensor y, Tensor x)
{
    count(dev, 0, BYTES(y, x));
}

static void null_argmax(Device *dev, Tensor ids, Tensor logits)
{
    count(dev, 0, BYTES(ids, logits));
}

static void null_adamw(Device *dev, Tensor w, Tensor m, Tensor v, Tensor g, const AdamwSpec *spec,
                       const StepScalars *scalars)
{
    (void)spec, (void)scalars;
    count(dev, 0, BYTES(w, m, v, g, w, m, v));
}

static void null_adafactor(Device *dev, Tensor w, Tensor row, Tensor col, Tensor v, Tensor m, Tensor g, Tensor u,
                           const AdafactorSpec *spec, const StepScalars *scalars)
{
    (void)spec, (void)scalars;
    count(dev, 0, BYTES(w, row, col, v, m, g, u, w, v, m));
}

static const OpTable null_ops = {
    .close = null_close,
    .gemm = null_gemm,
    .embedding_fwd = null_embedding_fwd,
    .embedding_bwd = null_embedding_bwd,
    .rmsnorm_fwd = null_rmsnorm_fwd,
    .rmsnorm_bwd = null_rmsnorm_bwd,
    .layernorm_fwd = null_layernorm_fwd,
    .layernorm_bwd = null_layernorm_bwd,
    .bias_add = null_bias_add,
    .bias_bwd = null_bias_bwd,
    .scale = null_scale,
    .dropout_fwd = null_dropout_fwd,
    .dropout_bwd = null_dropout_bwd,
    .act_fwd = null_act_fwd,
    .act_bwd = null_act_bwd,
    .relpos_fwd = null_relpos_fwd,
    .relpos_bwd = null_relpos_bwd,
    .alibi = null_alibi,
    .sinusoid_table = null_sinusoid_table,
    .rotary_table = null_rotary_table,
    .rotary = null_rotary,
    .attn_fwd = null_attn_fwd,
    .attn_bwd = null_attn_bwd,
    .xent = null_xent,
    .sum_rows = null_sum_rows,
    .sumsq = null_sumsq,
    .fill = null_fill,
    .copy = null_copy,
    .argmax = null_argmax,
    .adamw = null_adamw,
    .adafactor = null_adafactor,
};

Device *device_open_null(void)
{
    return device_open_null_of(DT_F32);
}

Device *device_open_null_of(DType real)
{
    return device_new("null", &null_ops, real, false, 1, "none", NULL);
}
