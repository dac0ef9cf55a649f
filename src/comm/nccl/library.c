/* library.c: finds libnccl.so.2. */
#include "comm/nccl/nccl.h"

#include <dlfcn.h>

#define FILE_NAME "libnccl.so.2"

char *comm_nccl_version(GError **error)
{
    const char *named = g_getenv("LOAM_NCCL");
    int (*version_of)(int *) = NULL;
    int version = 0;
    void *file = dlopen(named && *named ? named : FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        fail_machine(error, "%s", dlerror());
        return NULL;
    }
    *(void **)&version_of = dlsym(file, "ncclGetVersion");
    if (version_of == NULL || version_of(&version) != 0) {
        fail_machine(error, FILE_NAME " does not tell its version");
        return NULL;
    }
    return g_strdup_printf("%d.%d.%d", version / 10000, version % 10000 / 100, version % 100);
}
