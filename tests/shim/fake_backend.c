/* fake_backend.c: in place of loam-cuda.so, a table of another build, right before memory that nobody may read.
 * LOAM_FAKE_TABLE says which: "first" a table of a build whose tables began with the signature, of these two pointers'
 * length; "short" one that is smaller than this build's; "scalars" one of this size, but of another StepScalars. */
#include "device/cuda/backend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

const CudaBackend *loam_cuda_backend(void);

const CudaBackend *loam_cuda_backend(void)
{
    static const size_t sizes[] = CUDA_SIZES;
    const char *which = getenv("LOAM_FAKE_TABLE"), *signature = cuda_signature;
    char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + PAGE, PAGE, PROT_NONE) != 0 || which == NULL)
        abort();
    CudaBackend table = { .size = sizeof table, .signature = cuda_signature, .cuda = 13000 };
    size_t bytes = sizeof table;
    memcpy(table.sizes, sizes, sizeof sizes);
    if (strcmp(which, "first") == 0) {
        bytes = 2 * sizeof signature;
        return memcpy(memory + PAGE - bytes, (const char *[]){ signature, signature }, bytes);
    }
    if (strcmp(which, "short") == 0)
        table.size = bytes = offsetof(CudaBackend, sizes) + sizeof *sizes;
    else
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            table.sizes[i] += sizes[i] == sizeof(StepScalars);
    return memcpy(memory + PAGE - bytes, &table, bytes);
}
