#include "base/order.h"
#include "run/heartbeat.h"
#include "train/services/service.h"

/* The median of the ranks of a stage; the lower one of two. */
static double median_of(const RankPace *ranks, int n, int64_t stage)
{
    g_autofree double *sorted = g_new(double, n);
    size_t count = 0;
    for (int r = 0; r < n; r++)
        if (ranks[r].stage == stage)
            sorted[count++] = ranks[r].computed;
    qsort(sorted, count, sizeof *sorted, order_f64);
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

static void *straggler_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    return comm_size(t->mesh.world) > 1 ? g_new0(Straggler, 1) : NULL;
}

/* All ranks get the same result. */
static void straggler_measure(void *own, const Trainer *t, TrainRecord *record)
{
    const Mesh *mesh = &t->mesh;
    const double each = record->own_samples > 0 ? 1 / (double)record->own_samples : 0;
    const RankPace pace = { record->computed_s * each, record->elapsed_s * each, record->elapsed_s,
                            comm_rank(mesh->pipeline) };
    g_autofree RankPace *ranks = g_new0(RankPace, comm_size(mesh->world));
    comm_share(mesh->world, ranks, &pace, sizeof pace);
    straggler_find(own, ranks, comm_size(mesh->world));
    record->straggler = own;
}

/* Warns of a rank that has been slower than the others for some log lines. */
static Verdict straggler_after_step(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    Straggler *slow = own;
    Heartbeat beat;
    if (comm_rank(t->mesh.world) > 0 || !slow->new)
        return VERDICT_GO_ON;
    const bool known = heartbeat_read(t->config.run.dir, slow->rank, &beat);
    g_autofree char *what = g_strdup_printf("rank %d%s%s computes %.1f times as long as the others, which wait for it",
                                            slow->rank, known ? " on " : "", known ? beat.host : "", slow->factor);
    log_warning("step %" PRId64 " %s", t->state.steps, what);
    services_event(t, what);
    slow->new = false;
    return VERDICT_GO_ON;
}

const Service straggler_service = { .open = straggler_open,
                                    .measure = straggler_measure,
                                    .after_step = straggler_after_step };
