/* stream.cu: what every operation uses: the GPU, its stream and scratch memory, ending the program if CUDA fails. */
#include "device/cuda/native/gpu_native.h"

static thread_local const char *current; /* gpu_begin */

void gpu_begin(const char *operation)
{
    current = operation;
}

/* CUDA reports the failure of a kernel late, by the next call, unless each launch is waited for. A call that was only
 * refused leaves the GPU able to end its work. */
void gpu_fail(const char *what, const char *text)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    bool waits = blocking && atoi(blocking) != 0;
    cudaError_t late = waits ? cudaSuccess : cudaDeviceSynchronize();
    fprintf(stderr, "loam: the GPU failed in %s%s%s%s", current ? current : what, current ? " (" : "",
            current ? what : "", current ? ")" : "");
    if (late == cudaSuccess)
        fprintf(stderr, ": %s\n", text);
    else
        fprintf(stderr, " or an operation before it: %s; CUDA_LAUNCH_BLOCKING=1 finds which\n",
                cudaGetErrorString(late));
    quick_exit(2);
}

static thread_local cudaError_t *noted; /* gpu_note_errors */

void gpu_note_errors(cudaError_t *first)
{
    noted = first;
}

bool gpu_notes(cudaError_t answer)
{
    if (noted && *noted == cudaSuccess)
        *noted = answer;
    return noted != NULL;
}

void gpu_answer(cudaError_t answer, const char *what)
{
    if (answer != cudaSuccess && !gpu_notes(answer))
        gpu_fail(what, cudaGetErrorString(answer));
}

/* The GPU that the thread selected last. */
static thread_local int chosen = -1;

cudaError_t gpu_choose(int index)
{
    cudaError_t answer = chosen == index ? cudaSuccess : cudaSetDevice(index);
    if (answer == cudaSuccess)
        chosen = index;
    return answer;
}

void gpu_enter(const Device *dev, const char *operation)
{
    gpu_begin(operation);
    gpu_answer(gpu_choose(gpu_of(dev)->index), "choosing the GPU");
}

cudaStream_t gpu_stream(Gpu *gpu)
{
    return gpu->stream;
}

bool gpu_begins_early(const Gpu *gpu)
{
    return gpu->begins_early && !gpu->captures;
}

bool gpu_shares_little(const Gpu *gpu)
{
    return gpu->shares_little;
}

unsigned *gpu_tickets(Gpu *gpu)
{
    return gpu->tickets;
}

Group *gpu_group(Gpu *gpu)
{
    return &gpu->group;
}

/* Whether the tests end the program if an operation of a run needs more scratch memory than the run has planned. On a
 * GPU it gets the memory if there is any beside the plan. */
#ifdef SHIM
static const bool ends_beyond_plan = true;
#else
static const bool ends_beyond_plan = false;
#endif

/* cudaFree waits for the work that uses the memory. What a run reserved is left to its queued work. */
void *gpu_scratch(Gpu *gpu, size_t bytes)
{
    if (bytes > gpu->scratch_bytes) {
        CHECK(!ends_beyond_plan || !gpu->scratch_reserved,
              "an operation needs %zu bytes of scratch memory, planned are %zu", bytes, gpu->scratch_bytes);
        CHECK(!gpu->captures, "an operation of a graph needs %zu bytes of scratch memory more than before", bytes);
        if (!gpu->scratch_reserved)
            gpu_answer(cudaFree(gpu->scratch), "scratch memory");
        gpu->scratch_reserved = false;
        gpu->scratch = NULL;
        gpu->scratch_bytes = bytes;
        if (cudaMalloc(&gpu->scratch, bytes) != cudaSuccess) {
            fprintf(stderr,
                    "loam: the GPU has no memory for the %zu MiB that an operation works in beside the plan; a smaller "
                    "train.micro_batch, or train.recompute=block, leaves more\n",
                    (bytes >> 20) + 1);
            quick_exit(2);
        }
    }
    return gpu->scratch;
}

void gpu_copy_rows(Gpu *gpu, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows)
{
    bool whole = rows == 1 || (to_pitch == bytes && from_pitch == bytes);
    if (bytes == 0 || rows == 0)
        return;
    gpu_answer(
        whole ? cudaMemcpyAsync(to, from, bytes * rows, cudaMemcpyDeviceToDevice, gpu->stream)
              : cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, rows, cudaMemcpyDeviceToDevice, gpu->stream),
        "a copy");
}

void gpu_clear(Gpu *gpu, void *p, size_t bytes)
{
    if (bytes > 0)
        gpu_answer(cudaMemsetAsync(p, 0, bytes, gpu->stream), "a fill");
}
