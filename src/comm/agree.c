/* agree.c: makes all ranks fail if an operation failed on one of them. */
#include "comm/comm.h"

#include <string.h>

/* A GError as plain bytes, which ranks can send to each other. */
typedef struct Report {
    int64_t failed, code;
    char domain[64], message[960];
} Report;

static Report report_of(const GError *error)
{
    Report report = { .failed = error != NULL, .code = error ? error->code : 0 };
    if (error) {
        g_strlcpy(report.domain, g_quark_to_string(error->domain), sizeof report.domain);
        g_strlcpy(report.message, error->message, sizeof report.message);
    }
    return report;
}

bool comm_agree(Comm *comm, bool done, GError **error)
{
    GError *own = NULL;
    int size = comm_size(comm), first = 0;
    if (size == 1)
        return done;
    if (!done && error)
        own = g_steal_pointer(error);
    const Report mine = done ? (Report){ 0 } : report_of(own);
    g_autofree Report *all = g_new0(Report, size);
    comm_share(comm, all, &mine, sizeof mine);
    while (first < size && !all[first].failed && !(first == comm_rank(comm) && !done))
        first++;
    if (first == comm_rank(comm) && own) {
        g_propagate_error(error, own);
        return false;
    }
    g_clear_error(&own);
    if (first == size)
        return comm_check(comm, error);
    all[first].domain[sizeof all[first].domain - 1] = all[first].message[sizeof all[first].message - 1] = '\0';
    GQuark domain = g_quark_from_string(all[first].domain);
    bool machine = domain == LOAM_ERROR && all[first].code == LOAM_ERROR_MACHINE;
    bool told = first == 0 || !machine || g_str_has_prefix(all[first].message, "rank ");
    g_autofree char *rank = told ? g_strdup("") : g_strdup_printf("rank %d: ", first);
    g_set_error(error, domain, (int)all[first].code, "%s%s", rank, all[first].message);
    return false;
}
