/* failure.c: stores why a group failed, and which rank did not answer. */
#include "comm/backend.h"

bool comm_failed(Comm *comm)
{
    if (comm->size == 1)
        return false;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&comm->monitor);
    return comm->failure != NULL;
}

bool comm_fail(Comm *comm, int lost, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&comm->monitor);
    if (comm->failure == NULL) {
        comm->failure = g_steal_pointer(&why);
        comm->lost = lost;
    }
    return false;
}

bool comm_check(Comm *comm, GError **error)
{
    if (!comm_failed(comm))
        return true;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&comm->monitor);
    fail_machine(error, "%s", comm->failure);
    return false;
}

int comm_number(const Comm *comm, int rank)
{
    return comm->numbers ? comm->numbers[rank] : rank;
}

int comm_lost(Comm *comm)
{
    if (!comm_failed(comm))
        return -1;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&comm->monitor);
    return comm->lost < 0 ? comm->lost : comm_number(comm, comm->lost);
}
