/* backend.cu: opens a GPU, and exports the table of its operations to the program. */
#include "device/cuda/native/gpu_native.h"

extern "C" {
#include "device/cuda/backend.h"
}

enum { PROBE = 0x10A3 };

static void gpu_free(Gpu *gpu)
{
    graphs_close(gpu);
    products_close(gpu);
    if (!gpu->scratch_reserved)
        cudaFree(gpu->scratch);
    reservation_close(gpu);
    cudaFree(gpu->tickets);
    cudaFree(gpu->workspace);
    queue_close(gpu);
    free(gpu);
}

static void native_close(Device *dev)
{
    Gpu *gpu = gpu_of(dev);
    gpu_enter(dev);
    gpu_answer(cudaDeviceSynchronize(), "closing");
    gpu_free(gpu);
}

static bool native_count(int *n, char *why)
{
    cudaError_t answer = cudaGetDeviceCount(n);
    if (answer == cudaSuccess || answer == cudaErrorNoDevice)
        return true;
    snprintf(why, CUDA_WHY, "the driver does not count its GPUs: %s", cudaGetErrorString(answer));
    return false;
}

static bool native_describe(int index, CudaGpu *gpu, char *why)
{
    cudaDeviceProp properties;
    cudaError_t answer = cudaGetDeviceProperties(&properties, index);
    if (answer != cudaSuccess) {
        snprintf(why, CUDA_WHY, "GPU %d: %s", index, cudaGetErrorString(answer));
        return false;
    }
    snprintf(gpu->name, sizeof gpu->name, "%s", properties.name);
    gpu->memory = properties.totalGlobalMem;
    gpu->compute = properties.major * 10 + properties.minor;
    gpu->slice = strstr(gpu->name, " MIG ") != NULL; /* CUDA names it "NVIDIA H200 MIG 1g.18gb" */
    int mode = cudaComputeModeDefault;
    (void)cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, index);
    gpu->refuses = mode == cudaComputeModeProhibited;
    gpu->exclusive = mode == cudaComputeModeExclusiveProcess;
    memcpy(gpu->uuid, properties.uuid.bytes, sizeof gpu->uuid);
    return true;
}

/* Runs a small kernel, so that a GPU for which the file has no code is noticed when it is opened. Its number says
 * whether this code has begin_kernel's instructions: a GPU that knows them may run code translated from PTX of one that
 * does not. */
static __global__ void probe_kernel(unsigned *at)
{
    if (threadIdx.x == 0)
        *at = PROBE + MAY_BEGIN_EARLY;
}

/* Whether an environment variable does not turn off what it names: tests and measurements compare the two. */
static bool is_switched_on(const char *variable)
{
    const char *asked = getenv(variable);
    return !asked || strcmp(asked, "0") != 0;
}

static cudaError_t probe(Gpu *gpu)
{
    unsigned seen = 0;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(WARP);
    config.stream = gpu->stream;
    TRY(cudaLaunchKernelEx(&config, probe_kernel, gpu->tickets));
    TRY(cudaMemcpyAsync(&seen, gpu->tickets, sizeof seen, cudaMemcpyDeviceToHost, gpu->stream));
    TRY(cudaMemsetAsync(gpu->tickets, 0, TICKETS * sizeof *gpu->tickets, gpu->stream));
    TRY(cudaStreamSynchronize(gpu->stream));
    gpu->begins_early = seen == PROBE + 1 && is_switched_on("LOAM_BEGIN_EARLY");
    gpu->takes_graphs = is_switched_on("LOAM_CUDA_GRAPHS");
    return seen == PROBE || seen == PROBE + 1 ? cudaSuccess : cudaErrorUnknown;
}

static cudaError_t create(Gpu *gpu)
{
    int shared = 0;
    TRY(gpu_choose(gpu->index));
    TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, gpu->index));
    gpu->shares_little = shared <= LITTLE_SHARED;
    TRY(queue_open(gpu));
    TRY(cudaMalloc((void **)&gpu->tickets, TICKETS * sizeof *gpu->tickets));
    TRY(probe(gpu));
    TRY(cudaMalloc(&gpu->workspace, PRODUCT_BYTES));
    return cudaDeviceSynchronize();
}

static void *native_open(int index, char *why)
{
    Gpu *gpu = (Gpu *)calloc(1, sizeof *gpu);
    if (gpu == NULL) {
        snprintf(why, CUDA_WHY, "GPU %d: no memory", index);
        return NULL;
    }
    gpu->index = index;
    cudaError_t answer = create(gpu);
    if (answer == cudaSuccess && products_open(gpu))
        return gpu;
    snprintf(why, CUDA_WHY, "GPU %d does not open: %s", index,
             answer == cudaSuccess ? "cuBLASLt does not start" : cudaGetErrorString(answer));
    gpu_free(gpu);
    return NULL;
}

/* ---- a queue beside that of a device ---- */

static cudaError_t create_beside(Gpu *gpu)
{
    int least = 0, greatest = 0;
    TRY(gpu_choose(gpu->index));
    TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    TRY(cudaStreamCreateWithPriority(&gpu->stream, cudaStreamNonBlocking, greatest));
    for (cudaEvent_t &event : gpu->events)
        TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    TRY(cudaMalloc((void **)&gpu->tickets, TICKETS * sizeof *gpu->tickets));
    return cudaMemsetAsync(gpu->tickets, 0, TICKETS * sizeof *gpu->tickets, gpu->stream);
}

static void *native_open_beside(Device *dev, char *why)
{
    Gpu *gpu = (Gpu *)calloc(1, sizeof *gpu);
    CHECK(gpu != NULL, "no memory for a queue");
    gpu->index = gpu_of(dev)->index;
    gpu->begins_early = gpu_of(dev)->begins_early;
    cudaError_t answer = create_beside(gpu);
    if (answer == cudaSuccess)
        return gpu;
    snprintf(why, CUDA_WHY, "GPU %d has no second queue: %s", gpu->index, cudaGetErrorString(answer));
    gpu_free(gpu);
    return NULL;
}

static void *native_stream(Device *dev)
{
    return (void *)gpu_of(dev)->stream;
}

static void native_follow_other(Device *dev, Device *other, DeviceEvent event)
{
    gpu_enter(dev);
    gpu_answer(cudaStreamWaitEvent(gpu_of(dev)->stream, gpu_of(other)->events[event % EVENTS], 0),
               "the order of queues");
}

static bool native_reached(Device *dev, DeviceEvent event)
{
    gpu_enter(dev);
    cudaError_t answer = cudaEventQuery(gpu_of(dev)->events[event % EVENTS]);
    if (answer != cudaErrorNotReady)
        gpu_answer(answer, "communication");
    return answer == cudaSuccess;
}

/* Each operation for the GPU of its device. */
template <int op, typename Op, Op *kernel> struct Native;
template <int op, typename... Arguments, void (*kernel)(Device *, Arguments...)>
struct Native<op, void(Device *, Arguments...), kernel> {
    static void run(Device *dev, Arguments... arguments)
    {
#define NAME(name) #name,
        static const char *const names[] = { OPERATIONS(NAME) };
        gpu_enter(dev, names[op]);
        kernel(dev, arguments...);
    }
};

static void native_group(Device *dev, bool open)
{
    gpu_enter(dev);
    group_set(dev, open);
}

static OpTable native_table(void)
{
    OpTable table = {};
    table.close = native_close;
    table.alloc = native_alloc;
    table.free = native_free;
    table.upload = native_upload;
    table.download = native_download;
    table.record_event = native_record_event;
    table.wait_event = native_wait_event;
    table.memory_available = native_memory_available;
    table.group = native_group;
    table.repeat = native_repeat;
    table.forget = native_forget;
    table.host_alloc = native_host_alloc;
    table.host_free = native_host_free;
    table.copy_to = native_copy_to;
    table.copy_from = native_copy_from;
    table.follow = native_follow;
#define ENTER_KERNEL(name) table.name = Native<OP_##name, Op_##name, gpu_##name>::run;
    OPERATIONS(ENTER_KERNEL)
    return table;
}

extern "C" __attribute__((visibility("default"))) const CudaBackend *loam_cuda_backend(void)
{
    static const OpTable table = native_table();
    static const CudaBackend backend = { sizeof(CudaBackend),
                                         cuda_signature,
                                         CUDA_SIZES,
                                         CUDART_VERSION / 10 * 10,
                                         (int)cublasLtGetVersion(),
                                         80,
                                         GPU_HEAD_DIM,
                                         native_count,
                                         native_describe,
                                         native_open,
                                         native_reserve,
                                         &table,
                                         native_open_beside,
                                         native_stream,
                                         native_follow_other,
                                         native_reached };
    return &backend;
}
