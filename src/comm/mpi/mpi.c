#include "comm/mpi/mpi.h"

#include "base/check.h"
#include "base/log.h"
#include "base/machine.h"
#include "comm/backend.h"
#include "comm/mpi/library.h"

#include <dlfcn.h>
#include <string.h>

#define FILE_NAME  "loam-mpi.so"
#define PATIENCE_S 30.0

enum { STAGE_BYTES = 4 << 20 }; /* bytes of one rank's part that are received at a time, for a sum */

typedef struct MpiImpl {
    MpiGroup *group;
    MpiPiece *send, *receive; /* (size) pieces that the current exchange sends and receives, by rank */
    char *stage;              /* (size × STAGE_BYTES) parts of the other ranks, for a sum */
    const void **addends;     /* (size) */
} MpiImpl;

static const MpiLibrary *library;

/* "rank 3 did not answer within 600 s (parallel.timeout)", "rank 3: disk full". */
static bool fail_mpi(Comm *comm, const MpiFailure *failure)
{
    if (failure->timeout)
        return comm_fail(comm, failure->rank, "rank %d did not answer rank %d within %g s (parallel.timeout)",
                         comm_number(comm, failure->rank), comm_number(comm, comm->rank), comm->timeout_s);
    if (failure->rank < 0)
        return comm_fail(comm, -1, "MPI: %s", failure->why);
    return comm_fail(comm, -1, "%s", failure->why);
}

static bool exchange_starts(Comm *comm)
{
    const MpiImpl *impl = comm->impl;
    MpiFailure failure;
    return library->exchange(impl->group, impl->send, impl->receive, comm->timeout_s, &failure) ||
           fail_mpi(comm, &failure);
}

static void clear_pieces(const MpiImpl *impl, int size)
{
    memset(impl->send, 0, sizeof *impl->send * (size_t)size);
    memset(impl->receive, 0, sizeof *impl->receive * (size_t)size);
}

/* How many of the bytes [at, at + STAGE_BYTES) are within a part of `bytes` bytes. */
static size_t staged(size_t bytes, size_t at)
{
    return at < bytes ? MIN(bytes - at, STAGE_BYTES) : 0;
}

/* Each rank sends each other rank that one's part of x, and adds the parts it receives, STAGE_BYTES at a time. */
static bool mpi_reduce_scatter(Comm *comm, Tensor out, Tensor x, const int64_t *starts)
{
    const MpiImpl *impl = comm->impl;
    size_t size = dtype_bytes(x.dtype), longest = 0;
    size_t own = (size_t)(starts[comm->rank + 1] - starts[comm->rank]) * size;
    char *mine = (char *)x.p + (size_t)starts[comm->rank] * size;
    for (int r = 0; r < comm->size; r++)
        longest = MAX(longest, (size_t)(starts[r + 1] - starts[r]) * size);
    for (size_t at = 0; at < longest; at += STAGE_BYTES) {
        size_t n = staged(own, at);
        clear_pieces(impl, comm->size);
        for (int r = 0; r < comm->size; r++) {
            char *theirs = (char *)x.p + (size_t)starts[r] * size;
            impl->send[r] = (MpiPiece){ theirs + at, staged((size_t)(starts[r + 1] - starts[r]) * size, at) };
            impl->receive[r] = (MpiPiece){ impl->stage + (size_t)r * STAGE_BYTES, n };
            impl->addends[r] = r == comm->rank ? mine + at : impl->receive[r].bytes;
        }
        if (!exchange_starts(comm))
            return false;
        if (n > 0)
            sum_in_order((char *)out.p + at, impl->addends, comm->size, (int64_t)(n / size), x.dtype);
    }
    return true;
}

/* Elements [first, end) of a vector. */
static MpiPiece piece_of(Tensor x, int64_t first, int64_t end)
{
    const size_t size = dtype_bytes(x.dtype);
    return (MpiPiece){ (char *)x.p + (size_t)first * size, (size_t)(end - first) * size };
}

/* Sends the pieces impl->send, and receives part r of x from rank r. */
static bool exchange_into(Comm *comm, Tensor x, const int64_t *starts)
{
    const MpiImpl *impl = comm->impl;
    for (int r = 0; r < comm->size; r++)
        impl->receive[r] = piece_of(x, starts[r], starts[r + 1]);
    const MpiPiece own = impl->send[comm->rank], to = impl->receive[comm->rank];
    if (to.n > 0 && to.bytes != own.bytes)
        memcpy(to.bytes, own.bytes, to.n);
    return exchange_starts(comm);
}

static bool mpi_all_gather(Comm *comm, Tensor x, Tensor own, const int64_t *starts)
{
    const MpiImpl *impl = comm->impl;
    for (int r = 0; r < comm->size; r++)
        impl->send[r] = piece_of(own, 0, own.d[0]);
    return exchange_into(comm, x, starts);
}

static bool mpi_all_to_all(Comm *comm, Tensor x, const int64_t *starts, Tensor own, const int64_t *own_starts)
{
    const MpiImpl *impl = comm->impl;
    for (int r = 0; r < comm->size; r++)
        impl->send[r] = piece_of(own, own_starts[r], own_starts[r + 1]);
    return exchange_into(comm, x, starts);
}

/* Sends or receives a single message, as an exchange with one piece. */
static bool pass(Comm *comm, Tensor x, MpiPiece *piece)
{
    const MpiImpl *impl = comm->impl;
    clear_pieces(impl, comm->size);
    *piece = piece_of(x, 0, x.d[0]);
    return exchange_starts(comm);
}

static bool mpi_send(Comm *comm, Tensor x, int to)
{
    return pass(comm, x, &((const MpiImpl *)comm->impl)->send[to]);
}

static bool mpi_receive(Comm *comm, Tensor x, int from)
{
    return pass(comm, x, &((const MpiImpl *)comm->impl)->receive[from]);
}

static MpiImpl *impl_new(MpiGroup *group, int size)
{
    MpiImpl *impl = g_new0(MpiImpl, 1);
    impl->group = group;
    impl->send = g_new0(MpiPiece, size);
    impl->receive = g_new0(MpiPiece, size);
    impl->stage = g_malloc((gsize)size * STAGE_BYTES);
    impl->addends = g_new0(const void *, size);
    return impl;
}

static void mpi_close(Comm *comm)
{
    MpiImpl *impl = comm->impl;
    library->close(impl->group, comm_lost(comm) >= 0);
    g_free(impl->send);
    g_free(impl->receive);
    g_free(impl->stage);
    g_free(impl->addends);
    g_free(impl);
}

static void *mpi_split(Comm *comm, const int *members, int n, G_GNUC_UNUSED int rank)
{
    const MpiImpl *impl = comm->impl;
    MpiFailure failure;
    MpiGroup *group = library->split(impl->group, members[0], &failure);
    if (group && n == 1)
        library->close(group, false);
    else if (group)
        return impl_new(group, n);
    else
        fail_mpi(comm, &failure);
    return NULL;
}

static void mpi_abort(Comm *comm, const char *why)
{
    const MpiImpl *impl = comm->impl;
    if (comm_failed(comm))
        return;
    comm_fail(comm, -1, "%s", why);
    library->abort(impl->group, why);
}

static bool mpi_gave_up(Comm *comm)
{
    const MpiImpl *impl = comm->impl;
    MpiFailure failure;
    return library->heard_abort(impl->group, &failure) && !fail_mpi(comm, &failure);
}

static const CommBackend mpi_backend = { .name = "mpi",
                                         .close = mpi_close,
                                         .split = mpi_split,
                                         .reduce_scatter = mpi_reduce_scatter,
                                         .all_gather = mpi_all_gather,
                                         .all_to_all = mpi_all_to_all,
                                         .send = mpi_send,
                                         .receive = mpi_receive,
                                         .abort = mpi_abort,
                                         .gave_up = mpi_gave_up };

/* The path of loam-mpi.so: beside the program, or in ../lib/loam if installed. NULL if there is none. g_free. */
static char *find_mpi(void)
{
    static const char *const places[] = { FILE_NAME, "../lib/loam/" FILE_NAME, NULL };
    const char *named = g_getenv("LOAM_MPI_BACKEND");
    return named && *named ? g_strdup(named) : machine_beside_program(places);
}

/* Opens libmpi with RTLD_GLOBAL, because MPI's own plug-ins look up its symbols globally. */
static bool open_library(GError **error)
{
    const MpiLibrary *(*entry)(void) = NULL;
    if (library)
        return true;
    g_autofree char *path = find_mpi();
    if (!path)
        return fail_machine(error, "there is no " FILE_NAME " beside the program: it is built where Open MPI's "
                                   "headers are (libopenmpi-dev)");
    void *file = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!file)
        return fail_machine(error, FILE_NAME " cannot be opened: %s", dlerror());
    *(void **)&entry = dlsym(file, MPI_LIBRARY_ENTRY);
    const MpiLibrary *found = entry ? entry() : NULL;
    if (!found || found->size != sizeof *found || strcmp(found->version, LOAM_VERSION) != 0)
        return fail_machine(error, "%s is of another build of loam", path);
    library = found;
    return true;
}

const char *comm_mpi_name(GError **error)
{
    return open_library(error) ? library->name() : NULL;
}

/* Says after a while that MPI waits for others: a host may not answer, and the launcher may say nothing. */
typedef struct Patience {
    Monitor monitor;
    double end; /* clock_seconds() */
    int size;
    bool over;
} Patience;

static void *wait_patiently(void *argument)
{
    Patience *patience = argument;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&patience->monitor);
    while (!patience->over && monitor_wait_until(&patience->monitor, patience->end))
        continue;
    if (!patience->over)
        log_warning("MPI waits for the other processes of %d, one of which does not begin: look at their hosts",
                    patience->size);
    return NULL;
}

static MpiGroup *open_group(int size, double timeout_s, int *rank, int *n, MpiFailure *failure)
{
    Patience patience = { .size = size,
                          .end = clock_seconds() + (timeout_s > 0 ? MIN(PATIENCE_S, timeout_s) : PATIENCE_S) };
    monitor_init(&patience.monitor);
    GThread *thread = g_thread_new("patience", wait_patiently, &patience);
    MpiGroup *group = library->open(rank, n, failure);
    monitor_enter(&patience.monitor);
    patience.over = true;
    monitor_wake(&patience.monitor);
    monitor_leave(&patience.monitor);
    g_thread_join(thread);
    monitor_clear(&patience.monitor);
    return group;
}

Comm *comm_open_mpi(int size, double timeout_s, GError **error)
{
    MpiFailure failure;
    int rank, n;
    if (!open_library(error))
        return NULL;
    MpiGroup *group = open_group(size, timeout_s, &rank, &n, &failure);
    if (!group)
        return fail_machine(error, "MPI does not start: %s", failure.why);
    if (size > 0 && n != size) {
        fail_machine(error,
                     "the launcher says that there are %d ranks, and %s sees %d: it was started by another MPI's "
                     "mpirun, by srun without --mpi=pmix, or by torchrun, which starts no MPI; start it by Open MPI's "
                     "mpirun -np %d, by srun --mpi=pmix, or on one machine without a launcher by parallel.ranks=%d",
                     size, library->name(), n, size, size);
        library->close(group, false);
        return NULL;
    }
    if (n > 1)
        return comm_new(&mpi_backend, impl_new(group, n), rank, n, timeout_s);
    return comm_self();
}
