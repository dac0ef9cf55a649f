/* profile.c: prints the time of each operation. */
#include "cli/bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int longest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

void bench_print_profile(const Profile *profile, double seconds)
{
    struct {
        double seconds;
        int row;
    } order[PROFILE_OPS];
    double known = 0;
    for (int i = 0; i < profile->n; i++) {
        order[i].seconds = profile->rows[i].seconds;
        order[i].row = i;
        known += order[i].seconds;
    }
    qsort(order, (size_t)profile->n, sizeof *order, longest_first);
    for (int i = 0; i < profile->n; i++)
        printf("%12s %-14s %5.2f %% of the time, %" PRId64 " calls\n", "", profile->rows[order[i].row].op,
               100 * order[i].seconds / seconds, profile->rows[order[i].row].calls);
    printf("%12s %-14s %5.2f %%\n", "", "between them", 100 * (1 - known / seconds));
}
