/* ops.c: the functions op_NAME: check arguments by op_list.inc, once for all backends, and call a backend's kernel. */
#include "base/check.h"
#include "base/clock.h"
#include "device/op_table.h"
#include "device/operand.h"
#include "device/profile.h"

static void check_dropout(const char *op, const Dropout *drop)
{
    CHECK(drop->rate >= 0 && drop->rate < 1, "%s: dropout rate %g is not in [0, 1)", op, (double)drop->rate);
    CHECK(drop->rate == 0 || (drop->sample && drop->position), "%s: dropout without samples or positions", op);
    CHECK(drop->first_channel >= 0 && drop->first_channel % 4 == 0, "%s: dropout from channel %lld on", op,
          (long long)drop->first_channel);
}

/* `dropped` is optional, and `drop` NULL without it. RMSNorm, whose mean is absent, has no gradient of a bias. */
static void check_norm_bwd(const char *op, Tensor dropped, Tensor db, Tensor mean, const Dropout *drop)
{
    CHECK(tensor_present(mean) || !tensor_present(db), "%s: db without a mean", op);
    CHECK(tensor_present(dropped) == (drop != NULL), "%s: dropout for an absent output, or none for one", op);
    if (drop)
        check_dropout(op, drop);
}

static void check_act(const char *op, Tensor gate, Tensor dgate, Activation act, const Dropout *drop)
{
    CHECK(act < ACT_COUNT, "%s: activation %d", op, (int)act);
    CHECK(tensor_present(gate) == tensor_present(dgate), "%s: gate %d, dgate %d", op, gate.rank, dgate.rank);
    check_dropout(op, drop);
}

static void check_fp8_cast(const char *op, const Device *dev, Tensor y, Tensor yt, Tensor x, bool e5m2)
{
    DType dtype = precision_fp8(dev->precision, e5m2);
    CHECK(!tensor_present(y) || y.dtype == dtype, "%s: y is %s, not %s", op, dtype_name(y.dtype), dtype_name(dtype));
    CHECK(!tensor_present(yt) || (yt.dtype == dtype && yt.d[1] >= x.d[0]),
          "%s: yt is %s, of %lld columns for %lld rows", op, dtype_name(yt.dtype), (long long)yt.d[1],
          (long long)x.d[0]);
}

static void check_fp8_linear(const char *op, Tensor bias, Tensor a_inverse, Tensor b_inverse, float beta)
{
    CHECK(((uintptr_t)a_inverse.p | (uintptr_t)b_inverse.p) % FP8_INVERSE_ALIGN == 0, "%s: inverse scales at %p and %p",
          op, a_inverse.p, b_inverse.p);
    CHECK(!tensor_present(bias) || beta == 0, "%s: a bias, and beta %g", op, (double)beta);
}

static void check_angles(const char *op, Tensor table, int64_t fewest, double base)
{
    CHECK(table.d[1] % 2 == 0 && table.d[1] >= fewest && base > 0, "%s: %lld channels, base %g", op,
          (long long)table.d[1], base);
}

static void check_rotary(const char *op, Tensor x, Tensor table, int32_t head_dim)
{
    CHECK(head_dim > 0 && x.d[1] % head_dim == 0 && table.d[1] % 2 == 0 && table.d[1] <= head_dim,
          "%s: %lld of %d channels a head, %lld in all", op, (long long)table.d[1], head_dim, (long long)x.d[1]);
}

static void check_alibi(const char *op, Tensor bias, int32_t first_head, int32_t heads)
{
    CHECK(first_head >= 0 && first_head + bias.d[0] <= heads, "%s: heads %d to %lld of %d", op, first_head,
          (long long)(first_head + bias.d[0]), heads);
}

static void check_relpos(const char *op, const RelposSpec *spec)
{
    bool both = spec->bidirectional || spec->rule == RELPOS_AST;
    int32_t side = both ? spec->n_buckets / 2 : spec->n_buckets;
    CHECK(side >= 2 && (!both || spec->n_buckets % 2 == 0) && spec->max_distance > side / 2,
          "%s: %d buckets up to distance %d", op, spec->n_buckets, spec->max_distance);
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
    CHECK(layout->heads == 1 || spec->first_head + spec->heads <= layout->heads,
          "%s: a layout of %d heads for %d from %d on", op, layout->heads, spec->heads, spec->first_head);
    for (int32_t s = 0; s < spec->n_seq; s++) {
        int64_t tq = spec->cu_q.host[s + 1] - spec->cu_q.host[s], tk = spec->cu_k.host[s + 1] - spec->cu_k.host[s];
        CHECK(tq <= tk && tk <= (int64_t)layout->size * layout->blocks, "%s: %lld x %lld under %d blocks of %d", op,
              (long long)tq, (long long)tk, layout->blocks, layout->size);
    }
}

static void check_caches(const char *op, const AttnSpec *spec, int64_t rows)
{
    CHECK(spec->max_q == 1 && !spec->distance, "%s: %d queries of a cache, or distances", op, spec->max_q);
    for (int32_t s = 0; s < spec->n_seq; s++) {
        int32_t first = spec->k_first.host[s], n = spec->cu_k.host[s + 1] - spec->cu_k.host[s];
        CHECK(first >= 0 && first + n <= rows, "%s: keys %d to %d of %lld", op, first, first + n, (long long)rows);
    }
}

static void check_distance(const char *op, const Device *dev, const AttnSpec *spec, int64_t head_dim, bool biased)
{
    Tensor table = spec->distance->table;
    const Operand operands[] = { IN(table, COMPUTE, R, head_dim) };
    operands_check(dev, op, operands, 1);
    CHECK(table.d[0] % 2 == 1 && table.d[0] / 2 >= spec->max_q - 1 && table.d[0] / 2 >= spec->max_k - 1,
          "%s: %lld distances of %d queries and %d keys", op, (long long)table.d[0], spec->max_q, spec->max_k);
    CHECK(!biased && !spec->layout, "%s: distances with a bias or a layout", op);
}

enum { MOST_HEADS = 1 << 16 }; /* the index of a head has 16 bits of the dropout counter: see mask_row */

static void check_attn(const char *op, const Device *dev, Tensor q, Tensor k, Tensor bias, const AttnSpec *spec,
                       const Dropout *drop)
{
    CHECK(spec->heads > 0 && q.d[1] % spec->heads == 0, "%s: %lld channels in %d heads", op, (long long)q.d[1],
          spec->heads);
    CHECK(spec->kv_heads >= 0 && spec->heads % attn_kv_heads(spec) == 0, "%s: %d heads over %d of keys", op,
          spec->heads, spec->kv_heads);
    CHECK(k.d[1] == q.d[1] / spec->heads * attn_kv_heads(spec), "%s: keys of %lld channels", op, (long long)k.d[1]);
    CHECK(spec->first_head >= 0 && spec->first_head + spec->heads <= MOST_HEADS, "%s: heads %d to %d", op,
          spec->first_head, spec->first_head + spec->heads);
    CHECK(spec->window >= 0, "%s: a window of %d", op, spec->window);
    CHECK(spec->n_seq >= 0 && spec->max_q > 0 && spec->max_k > 0, "%s: %d sequences up to %d x %d", op, spec->n_seq,
          spec->max_q, spec->max_k);
    check_lengths(op, "cu_q", spec->cu_q.host, spec->n_seq, spec->max_q, q.d[0]);
    check_lengths(op, "cu_k", spec->cu_k.host, spec->n_seq, spec->max_k, k.d[0]);
    if (spec->layout)
        check_layout(op, spec);
    if (spec->k_first.host)
        check_caches(op, spec, k.d[0]);
    if (spec->distance)
        check_distance(op, dev, spec, q.d[1] / spec->heads, tensor_present(bias));
    check_dropout(op, drop);
}

static void check_attn_bwd(const char *op, const Device *dev, Tensor q, Tensor k, Tensor bias, Tensor dbias,
                           const AttnSpec *spec, const Dropout *drop)
{
    check_attn(op, dev, q, k, bias, spec, drop);
    CHECK(!spec->k_first.host, "%s: backward through a cache", op);
    CHECK(!tensor_present(dbias) || tensor_same_shape(dbias, bias), "%s: dbias is not of the shape of bias", op);
    CHECK(!spec->distance || tensor_same_shape(spec->distance->dtable, spec->distance->table),
          "%s: dtable is not of the shape of table", op);
}

static void check_xent(const char *op, Tensor logits, const XentSpec *spec)
{
    CHECK(spec->label_smoothing >= 0 && spec->label_smoothing < 1 && logits.d[1] > 1,
          "%s: label smoothing %g over %lld classes", op, (double)spec->label_smoothing, (long long)logits.d[1]);
}

static void check_xent_join(const char *op, Tensor logits, Tensor parts, int32_t classes, const XentSpec *spec)
{
    CHECK(spec->label_smoothing >= 0 && spec->label_smoothing < 1 && logits.d[1] <= classes && classes > 1,
          "%s: label smoothing %g, %lld of %lld classes", op, (double)spec->label_smoothing, (long long)logits.d[1],
          (long long)classes);
    CHECK(parts.d[0] > 0 && parts.d[0] % logits.d[0] == 0, "%s: %lld parts of %lld rows", op, (long long)parts.d[0],
          (long long)logits.d[0]);
}

static void check_top(const char *op, Tensor values, Tensor x)
{
    CHECK(values.d[1] > 0 && values.d[1] <= x.d[1], "%s: %lld of %lld numbers", op, (long long)values.d[1],
          (long long)x.d[1]);
}

static void check_adamw(const char *op, Tensor squares, const AdamwSpec *spec)
{
    CHECK(tensor_present(squares) == spec->scale_by_rms, "%s: scaled by rms %d, squares %d", op, spec->scale_by_rms,
          squares.rank);
}

static void check_adafactor(const char *op, Tensor g, Tensor row, Tensor col, Tensor v, const AdafactorSpec *spec)
{
    CHECK(tensor_present(row) == tensor_present(col) && tensor_present(row) != tensor_present(v),
          "%s: second moments: row %d, col %d, v %d", op, row.rank, col.rank, v.rank);
    CHECK(!tensor_present(row) || (g.rank == 2 && g.d[0] <= spec->rows && g.d[1] == spec->cols),
          "%s: (%lld, %lld) of a factored (%lld, %lld)", op, (long long)tensor_rows(g), (long long)tensor_cols(g),
          (long long)spec->rows, (long long)spec->cols);
}

static void check_adafactor_update(const char *op, Tensor g, Tensor row, Tensor col, Tensor v, Tensor m,
                                   const AdafactorSpec *spec)
{
    check_adafactor(op, g, row, col, v, spec);
    CHECK(tensor_present(m) == (spec->beta1 > 0), "%s: beta1 %g, m %d", op, spec->beta1, m.rank);
}

/* Operations that are measured one by one form no group. */
static bool measured_apart(const Device *dev)
{
    return dev->profile && dev->profile->again;
}

void device_group_begin(Device *dev)
{
    if (!measured_apart(dev))
        dev->ops->group(dev, true);
}

/* A group is timed as a whole; the time is added to the operation that was called last. */
void device_group_end(Device *dev)
{
    if (measured_apart(dev))
        return;
    if (dev->profile == NULL) {
        dev->ops->group(dev, false);
        return;
    }
    double start = clock_seconds();
    dev->ops->group(dev, false);
    device_synchronise(dev);
    profile_extend(dev, clock_seconds() - start);
}

bool device_groups(const Device *dev)
{
    return dev->ops->group != host_group;
}

/* A profile measures each operation, so each has to be called. */
void device_repeat(Device *dev, const void *owner, int64_t number, void (*queue)(void *data), void *data)
{
    if (dev->profile)
        queue(data);
    else
        dev->ops->repeat(dev, owner, number, queue, data);
}

void device_forget(Device *dev, const void *owner)
{
    dev->ops->forget(dev, owner);
}

/* Each op_NAME: the checks, the backend's kernel, and the time if dev->profile is set. */
#define NO_RULES (void)op
#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    void op_##name parameters                                                                                          \
    {                                                                                                                  \
        static const char op[] = #name;                                                                                \
        operands_check(dev, op, OPERANDS operands, N_OPERANDS operands);                                               \
        rules;                                                                                                         \
        if (dev->profile == NULL) {                                                                                    \
            dev->ops->name arguments;                                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        double start = clock_seconds();                                                                                \
        for (ProfileRuns runs = { 0 }; profile_runs(dev, &runs, op, OPERANDS operands, N_OPERANDS operands);)          \
            dev->ops->name arguments;                                                                                  \
        device_synchronise(dev);                                                                                       \
        double seconds = clock_seconds() - start; /* before `flops`, which may take long to count */                   \
        profile_add(dev, op, start, seconds, OPERANDS operands, N_OPERANDS operands, flops);                           \
    }
#include "device/op_list.inc"
