/* relpos.c: relative-position buckets. */
#include "device/attn_spec.h"

#include <math.h>
#include <stdlib.h>

/* Buckets begin where a logarithm is a whole number, and rounding in float arithmetic could move a distance to the
 * wrong bucket. So this computes in long double, with a margin far above its rounding error and far below the
 * difference of two distances. */
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
