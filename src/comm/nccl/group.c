#include "comm/nccl/group.h"

#include "base/check.h"

#define LOOK_S 0.02 /* seconds between two looks of the watch thread */

NcclGroup *nccl_group_new(Comm *comm, Device *dev)
{
    NcclGroup *group = g_new0(NcclGroup, 1);
    group->comm = comm;
    group->dev = dev;
    monitor_init(&group->monitor);
    return group;
}

void nccl_group_free(NcclGroup *group)
{
    comm_close(group->present);
    monitor_clear(&group->monitor);
    g_free(group);
}

void nccl_group_watch(NcclGroup *group, DeviceEvent event, JobKind kind)
{
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&group->monitor);
    group->pending[group->added++ % NCCL_WATCHED] = (NcclPending){ event, kind, clock_seconds() };
    group->done = MAX(group->done + NCCL_WATCHED, group->added) - NCCL_WATCHED; /* the oldest may be left out */
}

CommCall nccl_group_call(Comm *comm)
{
    NcclGroup *group = comm->on_gpu;
    CommCall call = { 0 };
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&group->monitor);
    if (group->done < group->added) {
        const NcclPending *oldest = &group->pending[group->done % NCCL_WATCHED];
        call = (CommCall){ comm_event_names[oldest->kind], oldest->since };
    }
    return call;
}

void nccl_group_abort(NcclGroup *group)
{
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&group->monitor);
    if (group->nccl)
        group->library->abort(group->nccl);
    group->nccl = NULL;
}

bool nccl_group_fail(NcclGroup *group, int result)
{
    Comm *comm = group->comm;
    g_autofree char *why =
        g_strdup_printf("rank %d: NCCL: %s", comm_number(comm, comm->rank), group->library->get_error_string(result));
    comm_abort(comm, why);
    return false;
}

/* The watch threads of the other ranks find the same collective late at about the same time, and come to the barrier;
 * a rank that is lost, or has not queued the collective, does not. */
bool nccl_group_late(NcclGroup *group)
{
    Comm *comm = group->comm, *present = group->present;
    if (present)
        comm_barrier(present);
    const int lost = present && comm_failed(present) ? present->lost : -1;
    const int rank = comm_number(comm, comm->rank);
    if (lost >= 0)
        return comm_fail(comm, lost, "rank %d did not answer rank %d within %g s (parallel.timeout)",
                         comm_number(comm, lost), rank, comm->timeout_s);
    return comm_fail(comm, -1, "rank %d: NCCL did not end a collective within %g s (parallel.timeout)", rank,
                     comm->timeout_s);
}

/* Forgets collectives that have ended. Returns whether one takes longer than the timeout. */
static bool look_at_pending(NcclGroup *group)
{
    const double timeout = group->comm->timeout_s;
    bool late = false;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&group->monitor);
    while (group->done < group->added) {
        const NcclPending *oldest = &group->pending[group->done % NCCL_WATCHED];
        if (!cuda_reached(group->lane, oldest->event)) {
            late = timeout > 0 && clock_seconds() > oldest->since + timeout;
            break;
        }
        group->done++;
    }
    return late;
}

static void look_for_errors(NcclGroup *group)
{
    int state = NCCL_SUCCESS;
    monitor_enter(&group->monitor);
    if (group->nccl && group->library->get_async_error(group->nccl, &state) != NCCL_SUCCESS)
        state = NCCL_SUCCESS;
    monitor_leave(&group->monitor);
    if (state != NCCL_SUCCESS && state != NCCL_IN_PROGRESS)
        nccl_group_fail(group, state);
}

/* Returns whether the group goes on. */
static bool look_at_group(NcclGroup *group)
{
    Comm *comm = group->comm;
    look_for_errors(group);
    if (!comm_failed(comm) && !comm->backend->gave_up(comm) && look_at_pending(group))
        nccl_group_late(group);
    return !comm_failed(comm);
}

static void *watch_group(void *argument)
{
    NcclGroup *group = argument;
    monitor_enter(&group->monitor);
    while (!group->stop) {
        monitor_wait_until(&group->monitor, clock_seconds() + LOOK_S);
        if (group->stop)
            break;
        monitor_leave(&group->monitor);
        const bool goes_on = look_at_group(group);
        if (!goes_on)
            nccl_group_abort(group);
        monitor_enter(&group->monitor);
        if (!goes_on)
            break;
    }
    monitor_leave(&group->monitor);
    return NULL;
}

bool nccl_group_start(NcclGroup *group, GError **error)
{
    enum { LEAST_S = 2, SHARE = 4 }; /* the other watch threads come at least as soon as that */
    Comm *comm = group->comm;
    if (!(group->present = comm_split(comm, 0)))
        return comm_check(comm, error);
    group->present->timeout_s = MAX(LEAST_S, comm->timeout_s / SHARE);
    group->thread = g_thread_new("nccl", watch_group, group);
    return true;
}

void nccl_group_stop(NcclGroup *group)
{
    if (!group->thread)
        return;
    monitor_enter(&group->monitor);
    group->stop = true;
    monitor_wake(&group->monitor);
    monitor_leave(&group->monitor);
    g_thread_join(group->thread);
    group->thread = NULL;
}
