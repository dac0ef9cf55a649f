/* memory.cu: memory of a GPU. A run reserves the planned bytes by one allocation, from which all others are taken; what
 * does not fit there (another run's model, matrices of the matrix-product benchmark) is an allocation of its own. */
#include "device/cuda/native/gpu_native.h"

extern "C" {
#include "device/cuda/cuda.h"
}

static size_t rounded_bytes(size_t bytes)
{
    return ((bytes ? bytes : 1) + CUDA_ALIGN - 1) / CUDA_ALIGN * CUDA_ALIGN;
}

/* NULL if the GPU does not have enough memory. */
static void *allocate(size_t bytes, const char *what)
{
    void *p = NULL;
    cudaError_t answer = cudaMalloc(&p, bytes);
    if (answer == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* the caller says what did not fit */
        return NULL;
    }
    gpu_answer(answer, what);
    return p;
}

/* The first gap that is large enough; NULL if there is none. */
static void *cut_gap(Reservation *reserved, size_t bytes)
{
    size_t at = 0;
    int i = 0;
    for (; i < reserved->n_cuts && reserved->cuts[i].at - at < bytes; i++)
        at = reserved->cuts[i].at + reserved->cuts[i].bytes;
    if (reserved->bytes - at < bytes)
        return NULL;
    if (reserved->n_cuts == reserved->room) {
        reserved->room = 2 * reserved->room + 64;
        reserved->cuts = (Reservation::Cut *)realloc(reserved->cuts, (size_t)reserved->room * sizeof *reserved->cuts);
        CHECK(reserved->cuts != NULL, "no memory for a list of %d blocks", reserved->room);
    }
    memmove(reserved->cuts + i + 1, reserved->cuts + i, (size_t)(reserved->n_cuts - i) * sizeof *reserved->cuts);
    reserved->cuts[i] = { at, bytes };
    reserved->n_cuts++;
    return reserved->memory + at;
}

/* Gives the first bytes of the reservation to scratch memory, unless that is larger already. */
static void set_scratch_apart(Gpu *gpu, size_t bytes)
{
    if (gpu->reserved.memory == NULL || bytes <= gpu->scratch_bytes)
        return;
    gpu_answer(cudaFree(gpu->scratch), "scratch memory");
    gpu->scratch = cut_gap(&gpu->reserved, rounded_bytes(bytes));
    CHECK(gpu->scratch != NULL, "%zu bytes of scratch memory in a reservation of %zu", bytes, gpu->reserved.bytes);
    gpu->scratch_bytes = rounded_bytes(bytes);
    gpu->scratch_reserved = true;
}

bool native_reserve(Device *dev, size_t bytes)
{
    Reservation *reserved = &gpu_of(dev)->reserved;
    gpu_enter(dev);
    if (reserved->n_cuts > 0)
        return true;
    gpu_answer(cudaFree(reserved->memory), "freeing memory");
    reserved->memory = (char *)allocate(rounded_bytes(bytes), "the memory of a run");
    reserved->bytes = reserved->memory ? rounded_bytes(bytes) : 0;
    set_scratch_apart(gpu_of(dev), dev->gpu.scratch);
    return reserved->memory != NULL;
}

void reservation_close(Gpu *gpu)
{
    cudaFree(gpu->reserved.memory);
    free(gpu->reserved.cuts);
}

/* False if p is not a block of the reservation. */
static bool give_back(Reservation *reserved, const char *p)
{
    if (reserved->memory == NULL || p < reserved->memory || p >= reserved->memory + reserved->bytes)
        return false;
    int i = 0;
    while (i < reserved->n_cuts && reserved->memory + reserved->cuts[i].at != p)
        i++;
    CHECK(i < reserved->n_cuts, "%p is freed, and was not allocated", (const void *)p);
    reserved->n_cuts--;
    memmove(reserved->cuts + i, reserved->cuts + i + 1, (size_t)(reserved->n_cuts - i) * sizeof *reserved->cuts);
    return true;
}

void *native_alloc(Device *dev, size_t bytes)
{
    gpu_enter(dev);
    void *p = cut_gap(&gpu_of(dev)->reserved, rounded_bytes(bytes));
    return p ? p : allocate(rounded_bytes(bytes), "memory");
}

/* A freed reservation block may be reused at once: work queued later in any queue starts after all queued now. */
void native_free(Device *dev, void *p)
{
    gpu_enter(dev);
    if (!give_back(&gpu_of(dev)->reserved, (const char *)p)) {
        gpu_answer(cudaFree(p), "freeing memory");
        return;
    }
    native_follow(dev, QUEUE_WORK, QUEUE_COPY_TO);
    native_follow(dev, QUEUE_WORK, QUEUE_COPY_FROM);
    native_follow(dev, QUEUE_COPY_TO, QUEUE_WORK);
    native_follow(dev, QUEUE_COPY_FROM, QUEUE_WORK);
}

/* Left free: CUDA loads kernels at their first use, which is after a run has taken its memory. A GPU that loam runs on
 * has more than SMALL; a smaller one is that of the tests. */
enum { KERNELS_BYTES = 256 << 20 };
static const size_t SMALL = (size_t)4 << 30;

size_t native_memory_available(Device *dev)
{
    size_t room, total;
    gpu_enter(dev);
    gpu_answer(cudaMemGetInfo(&room, &total), "free memory");
    const size_t kernels = total < SMALL ? 0 : (size_t)KERNELS_BYTES;
    return room > kernels ? room - kernels : 0;
}
