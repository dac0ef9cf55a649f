#include "device/ops.h"

#include <math.h>
#include <stdlib.h>

/* Distances below half of a side's buckets have their own; beyond, buckets grow geometrically up to max_distance
 * (Raffel et al. 2020). The logarithm is an integer exactly at the powers where a bucket begins, and float arithmetic
 * may land below it: hence long double and a margin far above its rounding, far below one distance. */
int32_t relpos_bucket(int32_t relative, const RelposSpec *spec)
{
    int32_t side = spec->bidirectional ? spec->n_buckets / 2 : spec->n_buckets;
    int32_t offset = spec->bidirectional && relative > 0 ? side : 0;
    int32_t distance = spec->bidirectional ? abs(relative) : relative < 0 ? -relative : 0;
    int32_t exact = side / 2;
    if (distance < exact)
        return offset + distance;
    if (distance >= spec->max_distance)
        return offset + side - 1;
    long double octaves = logl((long double)distance / exact) / logl((long double)spec->max_distance / exact);
    return offset + exact + (int32_t)floorl(octaves * (side - exact) + 1e-12L);
}
