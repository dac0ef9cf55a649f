#include "train/trainer/straggler.h"

#include <glib.h>

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the ranks of a stage; the lower one of two. */
static double median_of(const RankPace *ranks, int n, int64_t stage)
{
    g_autofree double *sorted = g_new(double, n);
    size_t count = 0;
    for (int r = 0; r < n; r++)
        if (ranks[r].stage == stage)
            sorted[count++] = ranks[r].computed;
    qsort(sorted, count, sizeof *sorted, by_size);
    return sorted[(count - 1) / 2];
}

void straggler_find(Straggler *straggler, const RankPace *ranks, int n)
{
    const int before = straggler->rank;
    bool slow = false;
    straggler->rank = 0;
    straggler->factor = 1;
    for (int r = 0; r < n; r++) {
        const RankPace *rank = &ranks[r];
        const double median = median_of(ranks, n, rank->stage);
        if (median <= 0 || rank->computed / median <= straggler->factor)
            continue;
        straggler->rank = r;
        straggler->factor = rank->computed / median;
        slow = straggler->factor >= STRAGGLER_SLOW && rank->computed - median >= STRAGGLER_SHARE * rank->elapsed;
    }
    if (!slow || straggler->rank != before) {
        straggler->lines = 0;
        straggler->seconds = 0;
        straggler->warned = false;
    }
    straggler->lines += slow;
    straggler->seconds += slow ? ranks[0].seconds : 0;
    straggler->new = !straggler->warned && straggler->lines >= STRAGGLER_LINES && straggler->seconds >= STRAGGLER_S;
    straggler->warned |= straggler->new;
}

void straggler_look(Straggler *straggler, const Mesh *mesh, double elapsed, double computed, int64_t samples)
{
    const double each = samples > 0 ? 1 / (double)samples : 0;
    const RankPace own = { computed * each, elapsed * each, elapsed, comm_rank(mesh->pipeline) };
    g_autofree RankPace *ranks = g_new0(RankPace, comm_size(mesh->world));
    comm_share(mesh->world, ranks, &own, sizeof own);
    straggler_find(straggler, ranks, comm_size(mesh->world));
}
