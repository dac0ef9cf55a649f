#include "device/attn_spec.h"

#include <stdlib.h>

/* ---- pairs of a query and a key ---- */

/* How many of the keys [begin, end) of a query are in its key blocks, averaged over the heads. */
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

/* The pairs of a sequence without window or layout: all, or if causal max(i + 1 + tk - tq, prefix) keys of query i. */
static double dense_pairs(const AttnSpec *spec, AttnSequence of)
{
    const int64_t ahead = of.tk - of.tq, prefix = attn_between(of.prefix, 0, of.tk),
                  in_prefix = attn_between(prefix - 1 - ahead, 0, of.tq), rest = of.tq - in_prefix;
    if (!spec->causal)
        return (double)of.tq * (double)of.tk;
    return (double)in_prefix * (double)prefix + (double)rest * (double)(in_prefix + of.tq + 1 + 2 * ahead) / 2;
}

/* Number of pairs of a query and a key that it attends to, in one head, over all sequences. */
static double visible_pairs(const AttnSpec *spec)
{
    const int32_t *q = spec->cu_q.host, *k = spec->cu_k.host, *prefix = spec->prefix.host;
    double pairs = 0;
    for (int32_t s = 0; s < spec->n_seq; s++) {
        AttnSequence of = { .tq = q[s + 1] - q[s], .tk = k[s + 1] - k[s], .prefix = prefix ? prefix[s] : 0 };
        const bool dense = !spec->layout && !spec->window && of.tq <= of.tk;
        pairs += dense ? dense_pairs(spec, of) : 0;
        for (int64_t i = 0; !dense && i < of.tq; i++) {
            int64_t begin, end;
            attn_visible(spec, of, i, &begin, &end);
            pairs += spec->layout ? keys_of_layout(spec, i + of.tk - of.tq, begin, end) : (double)(end - begin);
        }
    }
    return pairs;
}

double attn_flops(const AttnSpec *spec, Tensor q, double dense)
{
    double tables = spec->distance == NULL ? 0 : spec->distance->keys ? 2 : 1;
    return dense * (1 + tables / 2) * (double)q.d[1] * visible_pairs(spec);
}

/* ---- relative-position buckets ---- */

/* Buckets begin where a logarithm is a whole number, and float rounding could choose the wrong bucket. So this computes
 * in long double, with a margin far above its rounding error and far below the difference of two distances. */
#define MARGIN 1e-12L

/* Position of a distance between `from` (0) and `to` (1) on a logarithmic scale. */
static long double way(int32_t distance, int32_t from, int32_t to)
{
    return logl((long double)distance / from) / logl((long double)to / from);
}

/* Of 2m buckets the last is never used; m - 1 is that of distance 0, and those below m / 2 have one of their own to
 * each side; beyond, they grow geometrically, rounded up, to max_distance (COCO-LM, AST-T5). */
static int32_t ast_bucket(int32_t relative, const RelposSpec *spec)
{
    int32_t last = spec->n_buckets / 2 - 1, exact = spec->n_buckets / 4, distance = abs(relative), step = distance;
    if (distance >= spec->max_distance)
        step = last;
    else if (distance >= exact)
        step = exact + (int32_t)ceill(way(distance, exact, spec->max_distance) * (last - exact) - MARGIN);
    return relative < 0 ? last - step : last + step;
}

/* Distances below half of a side's buckets have their own; beyond, buckets grow geometrically up to max_distance
 * (Raffel et al. 2020). */
static int32_t t5_bucket(int32_t relative, const RelposSpec *spec)
{
    int32_t side = spec->bidirectional ? spec->n_buckets / 2 : spec->n_buckets;
    int32_t offset = spec->bidirectional && relative > 0 ? side : 0;
    int32_t distance = spec->bidirectional ? abs(relative) : relative < 0 ? -relative : 0;
    int32_t exact = side / 2;
    if (distance < exact)
        return offset + distance;
    if (distance >= spec->max_distance)
        return offset + side - 1;
    return offset + exact + (int32_t)floorl(way(distance, exact, spec->max_distance) * (side - exact) + MARGIN);
}

int32_t relpos_bucket(int32_t relative, const RelposSpec *spec)
{
    return spec->rule == RELPOS_AST ? ast_bucket(relative, spec) : t5_bucket(relative, spec);
}
