/* failure.c: stores why a group failed, and which rank did not answer. */
#include "comm/backend.h"

bool comm_failed(Comm *comm)
{
    if (comm->size == 1)
        return false;
    monitor_enter(&comm->monitor);
    bool failed = comm->failure != NULL;
    monitor_leave(&comm->monitor);
    return failed;
}

bool comm_fail(Comm *comm, int lost, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    monitor_enter(&comm->monitor);
    if (comm->failure == NULL) {
        comm->failure = g_steal_pointer(&why);
        comm->lost = lost;
    }
    monitor_leave(&comm->monitor);
    g_free(why);
    return false;
}

bool comm_check(Comm *comm, GError **error)
{
    if (!comm_failed(comm))
        return true;
    monitor_enter(&comm->monitor);
    fail_machine(error, "%s", comm->failure);
    monitor_leave(&comm->monitor);
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
    monitor_enter(&comm->monitor);
    int lost = comm->lost;
    monitor_leave(&comm->monitor);
    return lost < 0 ? lost : comm_number(comm, lost);
}
