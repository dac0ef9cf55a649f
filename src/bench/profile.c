/* profile.c: what the measurements share: the median, the name of the device, the time of each operation. */
#include "base/order.h"
#include "base/text.h"
#include "bench/bench.h"

#include "run/compute_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

char *bench_device(const Device *dev)
{
    g_autofree char *precision = precision_describe(dev->precision), *threads = text_counted(dev->threads, "thread");
    return *dev->gpu.name ? compute_device_describe(dev, precision)
                          : g_strdup_printf("%s, %s, %s", threads, dev->isa, precision);
}

double bench_median(double *numbers, size_t n)
{
    qsort(numbers, n, sizeof *numbers, order_f64);
    return numbers[n / 2];
}

typedef struct Share {
    double seconds;
    int row;
} Share;

static int longest_first(const void *a, const void *b)
{
    double x = ((const Share *)a)->seconds, y = ((const Share *)b)->seconds;
    return (x < y) - (x > y);
}

/* Fills `order` with the operations, the longest first, and returns the sum of their seconds. */
static double sorted(const Profile *profile, Share order[PROFILE_OPS])
{
    double known = 0;
    for (int i = 0; i < profile->n; i++) {
        order[i] = (Share){ profile->rows[i].seconds, i };
        known += order[i].seconds;
    }
    qsort(order, (size_t)profile->n, sizeof *order, longest_first);
    return known;
}

void bench_print_profile(const Profile *profile, double seconds)
{
    Share order[PROFILE_OPS];
    double known = sorted(profile, order);
    for (int i = 0; i < profile->n; i++)
        printf("%12s %-14s %5.2f %% of the time, %" PRId64 " calls\n", "", profile->rows[order[i].row].op,
               100 * order[i].seconds / seconds, profile->rows[order[i].row].calls);
    printf("%12s %-14s %5.2f %%\n", "", "between them", 100 * (1 - known / seconds));
}

json_t *bench_profile_json(const Profile *profile, double seconds)
{
    Share order[PROFILE_OPS];
    json_t *rows = json_array();
    (void)sorted(profile, order);
    for (int i = 0; i < profile->n; i++)
        json_array_append_new(rows, json_pack("{s:s, s:f, s:I}", "op", profile->rows[order[i].row].op, "share",
                                              order[i].seconds / seconds, "calls",
                                              (json_int_t)profile->rows[order[i].row].calls));
    return rows;
}
