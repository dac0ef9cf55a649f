/* null.c: a device that computes nothing and touches no tensor. It counts the floating-point operations of matrix
 * products and attention, and the bytes that every operation moves. */
#include "device/op_table.h"
#include "device/operand.h"

static void null_close(Device *dev)
{
    (void)dev;
}

/* How many of the keys [begin, end) of a query lie in its key blocks: the mean over the heads. */
static double keys_of_layout(const AttnSpec *spec, int64_t position, int64_t begin, int64_t end)
{
    const BlockLayout *layout = spec->layout;
    int32_t heads = layout->heads == 1 ? 1 : spec->heads;
    double keys = 0;
    for (int32_t h = spec->first_head; h < spec->first_head + heads; h++) {
        const int32_t *first = layout->first.host + attn_layout_row(layout, h, position);
        for (int32_t k = first[0]; k < first[1]; k++) {
            int64_t from = (int64_t)layout->keys.host[k] * layout->size, to = from + layout->size;
            from = from > begin ? from : begin;
            to = to < end ? to : end;
            keys += to > from ? (double)(to - from) : 0;
        }
    }
    return keys / heads;
}

/* Pairs of a query and a key that it attends to, of one head, in all sequences. */
static double visible_pairs(const AttnSpec *spec)
{
    const int32_t *q = spec->cu_q.host, *k = spec->cu_k.host, *prefix = spec->prefix.host;
    double pairs = 0;
    for (int32_t s = 0; s < spec->n_seq; s++) {
        AttnSequence of = { .tq = q[s + 1] - q[s], .tk = k[s + 1] - k[s], .prefix = prefix ? prefix[s] : 0 };
        for (int64_t i = 0; i < of.tq; i++) {
            int64_t begin, end;
            attn_visible(spec, of, i, &begin, &end);
            pairs += spec->layout ? keys_of_layout(spec, i + of.tk - of.tq, begin, end) : (double)(end - begin);
        }
    }
    return pairs;
}

/* `dense` FLOPs a pair and channel for the products with keys and values, and half as many for those with each
 * embedding of distances. */
static double attn_flops(const AttnSpec *spec, Tensor q, double dense)
{
    double tables = spec->distance == NULL ? 0 : spec->distance->keys ? 2 : 1;
    return dense * (1 + tables / 2) * (double)q.d[1] * visible_pairs(spec);
}

static void count(Device *dev, double flops, double bytes)
{
    dev->counts.flops += flops;
    dev->counts.bytes += bytes;
    dev->counts.calls++;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    static void null_##name parameters                                                                                 \
    {                                                                                                                  \
        count(dev, flops, operands_bytes(OPERANDS operands, N_OPERANDS operands));                                     \
    }
#include "device/op_list.inc"
#undef OP

static void *null_alloc(Device *dev, size_t bytes)
{
    return (void *)64; /* in page 0: any use of it traps */
}

static void null_free(Device *dev, void *p)
{
}

static void null_upload(Device *dev, void *to, const void *from, size_t bytes)
{
    dev->counts.uploads++;
}

static void null_download(Device *dev, void *to, const void *from, size_t bytes)
{
    dev->counts.downloads++;
}

static const OpTable null_ops = {
    .close = null_close,
    .alloc = null_alloc,
    .free = null_free,
    .upload = null_upload,
    .download = null_download,
    .record = host_record,
    .wait = host_wait,
#define OP(name, parameters, arguments, operands, rules, flops) .name = null_##name,
#include "device/op_list.inc"
};

Device *device_open_null(void)
{
    return device_open_null_of(precision_uniform(DT_F32));
}

Device *device_open_null_of(Precision precision)
{
    return device_new("null", &null_ops, precision, false, 1, "none", NULL);
}
