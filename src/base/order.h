/* order.h: the orders of numbers, the smallest first, for qsort and g_array_sort. No GLib here. */
#pragma once

#include <stdint.h>

static inline int order_f64(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline int order_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
