/* library.c: finds libnccl.so.2 and its functions. */
#include "comm/nccl/group.h"
#include "comm/nccl/nccl.h"

#include <dlfcn.h>

#define FILE_NAME "libnccl.so.2"

static NcclLibrary library;
static const struct {
    const char *name;
    void *function; /* where its address is stored */
} functions[] = {
    { "ncclGetVersion", &library.get_version },
    { "ncclGetErrorString", &library.get_error_string },
    { "ncclGetUniqueId", &library.get_unique_id },
    { "ncclCommInitRankConfig", &library.init_rank },
    { "ncclCommGetAsyncError", &library.get_async_error },
    { "ncclCommFinalize", &library.finalize },
    { "ncclCommDestroy", &library.destroy },
    { "ncclCommAbort", &library.abort },
    { "ncclGroupStart", &library.group_start },
    { "ncclGroupEnd", &library.group_end },
    { "ncclAllGather", &library.all_gather },
    { "ncclBroadcast", &library.broadcast },
    { "ncclSend", &library.send },
    { "ncclRecv", &library.receive },
};

/* "2.28.9" for 22809; versions before 2.9 were numbered as 2708. */
static char *describe_version(int version)
{
    const int unit = version < 10000 ? 1000 : 10000;
    return g_strdup_printf("%d.%d.%d", version / unit, version % unit / 100, version % 100);
}

static bool find_functions(void *file, const char *name, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        void *found = dlsym(file, functions[i].name);
        if (!found)
            return fail_machine(error, "%s has no function %s", name, functions[i].name);
        *(void **)functions[i].function = found;
    }
    int version = 0;
    if (library.get_version(&version) != NCCL_SUCCESS || version < NCCL_OLDEST || version >= NCCL_NEXT_MAJOR) {
        g_autofree char *found = describe_version(version);
        return fail_machine(error, "%s is of version %s, loam needs 2.18 or a later version 2", name, found);
    }
    return true;
}

static bool open_nccl(GError **error)
{
    const char *named = g_getenv("LOAM_NCCL"), *name = named && *named ? named : FILE_NAME;
    void *file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!file)
        return fail_machine(error, "%s", dlerror());
    return find_functions(file, name, error);
}

const NcclLibrary *nccl_library(GError **error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool found;
    pthread_mutex_lock(&lock);
    found = found || open_nccl(error);
    bool there = found;
    pthread_mutex_unlock(&lock);
    return there ? &library : NULL;
}

char *comm_nccl_version(GError **error)
{
    int version = 0;
    const NcclLibrary *found = nccl_library(error);
    if (!found)
        return NULL;
    found->get_version(&version);
    return describe_version(version);
}
